import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode_chunk, token_bytes
from test_kernel_encode import invented, trained

from fastbpe.errors import ParameterError
from fastbpe.kernels.matchtable import matcher_of

BYTES = np.arange(256, dtype=np.uint32)


def rows_of(merges, base=0):
    return np.array([(*pair, 256 + k) for k, pair in enumerate(merges)], np.int64).reshape(-1, 3) + base


@given(invented())
def test_only_proper_merges_are_taken(merges):
    tokens = token_bytes(merges)
    proper = len(set(tokens.values())) == len(tokens) and all(
        encode_chunk(token, merges) == [id] for id, token in tokens.items()
    )
    assert (matcher_of(BYTES, rows_of(merges)) is not None) == proper


@given(trained(), st.data())
def test_tokens_stand_when_the_reference_leaves_them(merges, data):
    tokens = token_bytes(merges)
    row = st.sampled_from([97, 98, 0xC3, 0xA9, *range(256, len(tokens))])
    left, right = data.draw(row), data.draw(row)
    stands = encode_chunk(tokens[left] + tokens[right], merges) == [left, right]
    assert matcher_of(BYTES, rows_of(merges)).stands(left, right) == stands


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
