import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode_chunk, token_bytes, train
from test_kernel_encode import invented, trained

from fastbpe.errors import ParameterError
from fastbpe.kernels.match import matcher_of

BYTES = np.arange(256, dtype=np.uint32)
CHUNKS = st.text("ab\u00e9", min_size=1, max_size=60).map(str.encode) | st.binary(max_size=30)


# Characters of three and four bytes that share their parts, whole and cut.
WIDE_CHUNKS = st.lists(
    st.sampled_from(
        [part for char in "一丁不乀並🐀🐁" for part in (char.encode(), char.encode()[:2], char.encode()[2:])]
    ),
    min_size=1,
    max_size=12,
).map(b"".join)


def rows_of(merges, base=0):
    return np.array([(*pair, 256 + k) for k, pair in enumerate(merges)], np.int64).reshape(-1, 3) + base


@given(trained(), CHUNKS, st.sampled_from([0, 9, 2**32 - 1000]))
def test_trained_merges_are_proper_and_encode_as_the_reference(merges, chunk, base):
    matcher = matcher_of(BYTES + np.uint32(base), rows_of(merges, base))
    assert matcher.encode(chunk) == [base + id for id in encode_chunk(chunk, merges)]


@given(st.lists(WIDE_CHUNKS, min_size=1, max_size=9), WIDE_CHUNKS, st.integers(0, 60))
def test_wide_characters_encode_as_the_reference(learned, chunk, n_merges):
    merges = [merge[:2] for merge in train(dict.fromkeys(learned, 2), n_merges)[0]]
    matcher = matcher_of(BYTES, rows_of(merges))
    assert matcher.encode(chunk) == encode_chunk(chunk, merges)
    assert all(matcher.encode(known) == encode_chunk(known, merges) for known in learned)


@given(invented(), CHUNKS)
def test_only_proper_merges_are_taken(merges, chunk):
    tokens = token_bytes(merges)
    proper = len(set(tokens.values())) == len(tokens) and all(
        encode_chunk(token, merges) == [id] for id, token in tokens.items()
    )
    matcher = matcher_of(BYTES, rows_of(merges))
    assert (matcher is not None) == proper
    if matcher:
        assert matcher.encode(chunk) == encode_chunk(chunk, merges)


@given(trained(), st.data())
def test_tokens_stand_when_the_reference_leaves_them(merges, data):
    tokens = token_bytes(merges)
    row = st.sampled_from([97, 98, 0xC3, 0xA9, *range(256, len(tokens))])
    left, right = data.draw(row), data.draw(row)
    stands = encode_chunk(tokens[left] + tokens[right], merges) == [left, right]
    assert matcher_of(BYTES, rows_of(merges)).stands(left, right) == stands


@pytest.mark.parametrize("byte_order", [range(256), range(255, -1, -1)])
def test_bytes_may_have_any_ids(byte_order):
    byte_ids = np.array(byte_order, np.uint32)
    a, b = int(byte_ids[97]), int(byte_ids[98])
    assert matcher_of(byte_ids, np.array([[a, b, 999], [999, a, 300]], np.int64)).encode(b"abab\0aba") == [
        999,
        999,
        byte_ids[0],
        300,
    ]


def test_long_chunks_step_back_without_recursion():
    # Runs merge in pairs, so that the longest token at a place is seldom the one that stands.
    merges = [(97, 97), (256, 256), (257, 97), (258, 98)]
    matcher = matcher_of(BYTES, rows_of(merges))
    for n in (1, 2, 3, 255, 256, 257, 300):
        for chunk in (b"a" * n, b"a" * n + b"b", b"aab" * n, b"aaaaab" * n + b"aaa"):
            assert matcher.encode(chunk) == encode_chunk(chunk, merges)
    long = matcher.encode(b"a" * 1_000_000)
    assert len(long) == 250_000 and set(long) == {257}


def test_a_product_that_ranks_before_its_parts_is_not_proper():
    assert matcher_of(BYTES, np.array([[257, 99, 256], [97, 98, 257]], np.int64)) is None


def test_tokens_that_two_merges_make_are_not_proper():
    assert matcher_of(BYTES, np.array([[97, 98, 256], [98, 99, 257], [256, 99, 258], [97, 257, 258]], np.int64)) is None
    assert matcher_of(BYTES, np.array([[97, 98, 256], [98, 99, 257], [256, 99, 258], [97, 257, 259]], np.int64)) is None


def test_rows_out_of_range_are_refused():
    matcher = matcher_of(BYTES, rows_of([(97, 98)]))
    for left, right in ((-1, 0), (0, 257)):
        with pytest.raises(ParameterError):
            matcher.stands(left, right)
    for byte_ids, columns in ((BYTES[:255], 3), (BYTES, 2)):
        with pytest.raises(ParameterError):
            matcher_of(byte_ids, np.empty((0, columns), np.int64))
