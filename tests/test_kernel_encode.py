from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode_chunk, train

from fastbpe.errors import ParameterError
from fastbpe.kernels.encode import Encoder
from fastbpe.kernels.idlist import IdBuffer
from fastbpe.kernels.matchtable import matcher_of
from fastbpe.kernels.mergetable import MergeList
from fastbpe.text import to_bytes

BYTES = np.arange(256, dtype=np.uint32)
CHUNKS = st.lists(st.text("aab\u00e9", min_size=1, max_size=45).map(str.encode), min_size=1, max_size=40)


def encoder_of(merges, small_max=128, base=0, max_bytes=1 << 20, matching=False):
    rows = np.array([(left, right, 256 + k) for k, (left, right) in enumerate(merges)], np.int64).reshape(-1, 3)
    byte_ids = BYTES + np.uint32(base)
    rules = matcher_of(byte_ids, rows + base) if matching else None
    return Encoder(rules or MergeList(byte_ids, rows + base), None, max_bytes, small_max)


@st.composite
def trained(draw):
    counts = {chunk: draw(st.integers(1, 9)) for chunk in draw(CHUNKS)}
    return [merge[:2] for merge in train(counts, draw(st.integers(0, 30)))[0]]


@st.composite
def invented(draw):
    """Merges that no training gives: any two tokens that exist may merge, whatever the order of ranks."""
    merges = []
    for _ in range(draw(st.integers(0, 12))):
        token = st.sampled_from([97, 98, 0xC3, *range(256, 256 + len(merges))])
        pair = draw(st.tuples(token, token))
        if pair not in merges:
            merges.append(pair)
    return merges


@given(trained() | invented(), CHUNKS, st.sampled_from([0, 3, 128]), st.sampled_from([1, 1 << 20]), st.data())
def test_equals_the_reference_cold_and_warm(merges, chunks, small_max, max_bytes, data):
    base = data.draw(st.sampled_from([0, 7, 2**28, 2**32 - 1000]))
    encoder = encoder_of(merges, small_max, base, max_bytes, data.draw(st.booleans()))
    expected = [id + base for chunk in chunks for id in encode_chunk(chunk, merges)]
    text, ends = b"".join(chunks), np.cumsum([len(chunk) for chunk in chunks])
    for _ in range(3):
        ids, offsets = encoder.encode_spans(text, None, ends)
        assert ids.tolist() == expected and ids.dtype == np.uint32
        assert offsets.tolist() == [0, len(expected)]


@given(trained(), st.lists(st.tuples(st.binary(max_size=5), st.sampled_from([-1, 300])), max_size=8))
def test_spans_and_their_offsets(merges, parts):
    merges = [pair for pair in merges if max(pair) < 300][:40]
    rows, expected, offsets, at = [], [], [0], 0
    for part, id in parts:
        rows.append((at, at + len(part), at + len(part), id))
        expected += [id] if id >= 0 else encode_chunk(part, merges)
        offsets.append(len(expected))
        at += len(part)
    spans = np.array(rows, np.int64).reshape(-1, 4)
    ids, found = encoder_of(merges).encode_spans(b"".join(part for part, _ in parts), spans)
    assert ids.tolist() == expected and found.tolist() == offsets


def test_more_distinct_chunks_than_the_cache_holds():
    rng = np.random.default_rng(0)
    chunks = [bytes(rng.integers(97, 100, n).tolist()) for n in rng.integers(1, 40, 3000)] * 2
    merges = [merge[:2] for merge in train(dict.fromkeys(chunks[:200], 1), 40)[0]]
    expected = [id for chunk in chunks for id in encode_chunk(chunk, merges)]
    ends = np.cumsum([len(chunk) for chunk in chunks])
    for max_bytes in (1, 1 << 14, 1 << 17, 1 << 24):
        encoder = encoder_of(merges, max_bytes=max_bytes)
        assert encoder.n_bytes == 0
        ids, _ = encoder.encode_spans(b"".join(chunks), None, ends)
        assert ids.tolist() == expected
        assert 0 < encoder.n_bytes < max_bytes + 1_500_000


@pytest.mark.parametrize(
    "text", [b"a" * 100_000, b"ab" * 50_000, bytes(range(256)) * 400], ids=["run", "pairs", "bytes"]
)
@pytest.mark.parametrize("doublings", [0, 1, 9])
def test_long_chunks(text, doublings):
    merges = [(97, 97), (97, 98)] + [(256 + 2 * i + j, 256 + 2 * i + j) for i in range(doublings) for j in (0, 1)]
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    ids, _ = encoder_of(merges).encode_spans(text, None)
    assert b"".join(tokens[id] for id in ids) == text
    short = text[:500]
    ids, _ = encoder_of(merges).encode_spans(short, None)
    assert ids.tolist() == encode_chunk(short, merges)


def test_long_outputs_are_handed_over_and_short_ones_copied():
    encoder = encoder_of([(97, 98)])
    long, _ = encoder.encode_spans(b"abc" * 100_000, None)
    short, _ = encoder.encode_spans(b"abc", None)
    again, _ = encoder.encode_spans(b"cab" * 100_000, None)
    assert (
        long.tolist() == [256, 99] * 100_000 and short.tolist() == [256, 99] and again.tolist() == [99, 256] * 100_000
    )
    assert long.flags.writeable and short.flags.writeable


@given(trained(), st.text("ab\u00e9\ud800", max_size=60), st.sampled_from([1, 3000]))
def test_one_text_as_a_list(merges, text, times):
    data = text.encode(errors="replace").replace(b"?", "\ufffd".encode())
    encoder = encoder_of(merges)
    expected = encoder.encode_spans(data * times, None)[0].tolist()
    assert encoder.encode_text(text * times) == encoder.encode_text(data * times) == expected
    with pytest.raises(ParameterError):
        encoder.encode_text(3)


def test_calls_at_the_same_time_have_a_scratch_each():
    encoder = encoder_of([(97, 98), (256, 256)])
    texts = [b"ab" * n + b"c" * (n % 7) for n in range(1000, 1200)]
    expected = [encoder_of([(97, 98), (256, 256)]).encode_text(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: encoder.encode_spans(text, None)[0].tolist(), texts)) == expected


def test_more_calls_at_the_same_time_than_shares_have_little_each():
    words = [b"%d" % n for n in range(10**5, 2 * 10**5)]
    text, ends = b"".join(words), np.arange(1, len(words) + 1) * 6
    rules = MergeList(BYTES, np.empty((0, 3), np.int64))

    def n_bytes(n_shares):
        encoder, buffers = Encoder(rules, None, 1 << 24, n_shares=n_shares), [IdBuffer() for _ in range(3)]

        def start_within(depth):
            # A call looks at its spans when it has its scratch; then the next one starts.
            class Spans(np.ndarray):
                @property
                def ndim(self):
                    if depth:
                        start_within(depth - 1)
                    return 2

            spans = np.array([[0, len(text), len(text), -1]]).view(Spans)
            encoder.append_spans(buffers[depth], text, spans, ends)

        start_within(2)
        return encoder.n_bytes

    assert n_bytes(1) < n_bytes(3) // 2
    refusing = Encoder(rules, None, 1 << 24, n_shares=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="ends"):
            refusing.encode_spans(b"ab", None, np.array([5]))
    refusing.encode_spans(text, None, ends)
    assert refusing.n_bytes > n_bytes(1) // 2


def test_appending_to_a_buffer():
    encoder, buffer = encoder_of([(97, 98)]), IdBuffer([7])
    spans = np.array([[0, 3, 3, -1], [3, 3, 3, 300], [3, 5, 5, -1]], np.int64)
    assert encoder.append_spans(buffer, b"abcab", spans).tolist() == [1, 3, 4, 5]
    assert encoder.append_spans(buffer, b"abab", None, np.array([2, 4])).tolist() == [5, 7]
    shown = np.frombuffer(buffer, np.uint32)
    assert shown.tolist() == [7, 256, 99, 300, 256, 256, 256]
    with pytest.raises(BufferError):
        encoder.append_spans(buffer, b"ab", None)


@given(trained(), st.lists(st.text("abé日😀\ud83d\ude00") | st.binary(max_size=9)), st.booleans())
def test_texts_where_they_lie(merges, texts, warm):
    encoder, buffer = encoder_of(merges), IdBuffer([7])
    if warm:
        encoder.append_texts(IdBuffer(), texts, 0, len(texts))
    expected = [encode_chunk(to_bytes(text), merges) for text in texts]
    half = len(texts) // 2
    ends = [encoder.append_texts(buffer, texts, *part).tolist() for part in ((0, half), (half, len(texts)))]
    assert ends[0] + ends[1] == np.cumsum([1, *map(len, expected)])[1:].tolist()
    with memoryview(buffer) as view, pytest.raises(BufferError):
        assert view.tolist() == [7, *(id for ids in expected for id in ids)]
        encoder.append_texts(buffer, texts, 0, 0)
    with pytest.raises(ParameterError):
        encoder.append_texts(buffer, [3], 0, 1)


def test_what_a_long_text_needs_is_given_back():
    encoder = encoder_of([(97, 98)])
    encoder.encode_spans(b"abc", None)
    before = encoder.n_bytes
    encoder.encode_spans(b"abc" * 300_000, None)
    encoder.encode_text("ab" * 300_000)
    encoder.append_texts(IdBuffer(), ["é" * 3_000_000], 0, 1)
    assert encoder.n_bytes < before + 1_000_000


def test_nothing_to_encode():
    for spans in (None, np.empty((0, 4), np.int64)):
        ids, offsets = encoder_of([]).encode_spans(b"", spans, np.empty(0, np.int64))
        assert len(ids) == 0 and offsets.tolist() == [0] * (2 if spans is None else 1)


@pytest.mark.parametrize("ends", [[], [2], [4], [2, 2, 3], [3, 2], [0, 3], [3, 3], [-1, 3]])
def test_ends_that_do_not_cut_the_text_are_refused(ends):
    with pytest.raises(ValueError):
        encoder_of([]).encode_spans(b"abc", None, np.array(ends, np.int64))


def test_a_bad_threshold_is_refused():
    for small_max in (-1, 1000):
        with pytest.raises(ParameterError, match="small_max"):
            encoder_of([], small_max)
