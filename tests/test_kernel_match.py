import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode_chunk, train
from test_kernel_encode import invented, trained
from test_kernel_matchtable import rows_of

from fastbpe.kernels.match import matched
from fastbpe.kernels.matchtable import matcher_of

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


@given(trained(), CHUNKS, st.sampled_from([0, 9, 2**32 - 1000]))
def test_trained_merges_are_proper_and_encode_as_the_reference(merges, chunk, base):
    matcher = matcher_of(BYTES + np.uint32(base), rows_of(merges, base))
    assert matched(matcher, chunk) == [base + id for id in encode_chunk(chunk, merges)]


@given(st.lists(WIDE_CHUNKS, min_size=1, max_size=9), WIDE_CHUNKS, st.integers(0, 60))
def test_wide_characters_encode_as_the_reference(learned, chunk, n_merges):
    merges = [merge[:2] for merge in train(dict.fromkeys(learned, 2), n_merges)[0]]
    matcher = matcher_of(BYTES, rows_of(merges))
    assert matched(matcher, chunk) == encode_chunk(chunk, merges)
    assert all(matched(matcher, known) == encode_chunk(known, merges) for known in learned)


@given(invented(), CHUNKS)
def test_merges_that_no_training_gives_but_are_proper(merges, chunk):
    matcher = matcher_of(BYTES, rows_of(merges))
    if matcher:
        assert matched(matcher, chunk) == encode_chunk(chunk, merges)


@pytest.mark.parametrize("byte_order", [range(256), range(255, -1, -1)])
def test_bytes_may_have_any_ids(byte_order):
    byte_ids = np.array(byte_order, np.uint32)
    a, b = int(byte_ids[97]), int(byte_ids[98])
    matcher = matcher_of(byte_ids, np.array([[a, b, 999], [999, a, 300]], np.int64))
    assert matched(matcher, b"abab\0aba") == [999, 999, byte_ids[0], 300]


def test_long_chunks_step_back_without_recursion():
    # Runs merge in pairs, so that the longest token at a place is seldom the one that stands.
    merges = [(97, 97), (256, 256), (257, 97), (258, 98)]
    matcher = matcher_of(BYTES, rows_of(merges))
    for n in (1, 2, 3, 255, 256, 257, 300):
        for chunk in (b"a" * n, b"a" * n + b"b", b"aab" * n, b"aaaaab" * n + b"aaa"):
            assert matched(matcher, chunk) == encode_chunk(chunk, merges)
    long = matched(matcher, b"a" * 1_000_000)
    assert len(long) == 250_000 and set(long) == {257}
