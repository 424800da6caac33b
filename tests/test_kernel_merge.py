"""kernels/merge.pyx against a full recount after every merge."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.kernels.merge import Merger

IDENTITY = np.arange(256, dtype=np.uint32)


def merger(chunk_counts, n_merges, **options):
    data = np.frombuffer(b"".join(chunk_counts), np.uint8)
    starts = np.cumsum([0, *map(len, chunk_counts)], dtype=np.int64)
    counts = np.array(list(chunk_counts.values()), np.int64)
    return Merger(data, starts, counts, IDENTITY, n_merges, **options)


def learn(chunk_counts, n_merges, **options):
    m = merger(chunk_counts, n_merges, **options)
    m.run()
    pairs, counts, tokens = m.merges()
    return [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)], m.stop_reason


def flat(result):
    return [(*pair, count, tokens) for pair, count, tokens in result[0]], result[1]


few_letters = st.binary(max_size=12).map(lambda b: bytes(97 + x % 3 for x in b))
runs = st.lists(st.tuples(st.sampled_from(b"ab"), st.integers(1, 40)), max_size=4).map(
    lambda parts: b"".join(bytes([letter]) * n for letter, n in parts)
)
any_bytes = st.binary(max_size=8)
corpora = st.dictionaries(few_letters | runs | any_bytes, st.integers(1, 5) | st.integers(1, 10**10), max_size=12)


@settings(deadline=None, max_examples=300)
@given(
    corpora,
    st.integers(0, 60),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sampled_from(["lowest", "first"]),
    st.sampled_from([0, 2**16]),
    st.sampled_from([1, 3, 20]),
)
def test_equals_recount(corpus, n_merges, min_frequency, max_token_length, tie_break, small, bits):
    expected, reason = reference.train(corpus, n_merges, min_frequency, max_token_length, tie_break)
    m = merger(
        corpus,
        n_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        tie_first=tie_break == "first",
        small=small,
        max_bucket_bits=bits,
    )
    m.run()
    pairs, counts, tokens = m.merges()
    got = [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)]
    assert got == expected
    assert m.stop_reason == reason


@settings(deadline=None, max_examples=100)
@given(corpora, st.integers(1, 30), st.sampled_from([0, 2**16]))
def test_incremental_counts_equal_a_recount_after_each_merge(corpus, n_merges, small):
    m = merger(corpus, n_merges, small=small)
    words = [(list(chunk), weight) for chunk, weight in corpus.items()]
    for done in range(1, n_merges + 1):
        if m.run(until=done) < done:
            break
        pair = tuple(m.merges(done - 1)[0][0].tolist())
        words = [(reference.replace(ids, pair, 255 + done), weight) for ids, weight in words]
        recount = reference.pair_counts(words)
        hot, threshold = m.hot_pairs()
        assert {p: n for p, n in hot.items() if n >= threshold} == {p: n for p, n in recount.items() if n >= threshold}
        assert m.tokens == sum(len(ids) * weight for ids, weight in words)


@settings(deadline=None, max_examples=50)
@given(corpora, st.integers(1, 30), st.integers(1, 50))
def test_stopping_and_going_on_changes_nothing(corpus, n_merges, work):
    m = merger(corpus, n_merges, small=0)
    while m.stop_reason is None:
        m.run(work=work)
    whole = merger(corpus, n_merges)
    whole.run()
    assert [a.tolist() for a in m.merges()] == [a.tolist() for a in whole.merges()]
    assert m.stop_reason == whole.stop_reason


@settings(deadline=None, max_examples=100)
@given(corpora, st.integers(0, 10), st.integers(0, 10), st.integers(1, 3), st.none() | st.integers(1, 6))
def test_goes_on_from_words_merged_before(corpus, first, more, min_frequency, max_token_length):
    limits = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    expected, _ = reference.train(corpus, first + more, **limits)
    begun = expected[:first]
    lengths = [1] * 256
    for left, right, _, _ in begun:
        lengths.append(lengths[left] + lengths[right])
    words = [reference.encode_chunk(chunk, [pair[:2] for pair in begun]) for chunk in corpus]
    m = Merger(
        np.zeros(0, np.uint8),
        np.cumsum([0, *map(len, words)], dtype=np.int64),
        np.array(list(corpus.values()), np.int64),
        IDENTITY,
        more,
        symbols=np.array([i for word in words for i in word], np.uint32),
        lengths=np.array(lengths, np.int64),
        **limits,
    )
    m.run()
    pairs, counts, tokens = m.merges()
    got = [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)]
    assert got == expected[first:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 1]}, "starts must be"),
        ({"starts": [1, 2, 4]}, "starts must be"),
        ({"starts": [0, 5, 4]}, "starts falls at row 1"),
        ({"counts": [1, 0]}, "row 1 is 0"),
        ({"counts": [2**62, 1]}, r"2\*\*63"),
        ({"byte_ids": [0] * 256}, "permutation"),
        ({"n_merges": -1}, "n_merges must be"),
        ({"n_merges": 2**32}, "n_merges must be"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"max_bucket_bits": 0}, "max_bucket_bits"),
        ({"symbols": [0, 1]}, "without data"),
        ({"data": [], "symbols": [0, 9, 1, 1], "lengths": [1, 1]}, r"symbols\[1\] is 9"),
        ({"data": [], "symbols": [0, 1, 1, 1], "lengths": [1, 0]}, r"lengths\[1\] is 0"),
    ],
)
def test_arrays_are_checked_at_the_door(change, message):
    arrays = {"data": [1, 2, 3, 4], "starts": [0, 2, 4], "counts": [1, 1], "byte_ids": range(256)}
    dtypes = {"data": np.uint8, "byte_ids": np.uint32, "symbols": np.uint32}
    given = {**arrays, "n_merges": 1, **change}
    arguments = {
        name: np.array(value, dtypes.get(name, np.int64)) if isinstance(value, list | range) else value
        for name, value in given.items()
    }
    with pytest.raises(ValueError, match=message):
        Merger(**arguments)
