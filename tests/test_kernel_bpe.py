import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import encode_chunk
from test_kernel_encode import invented, trained

from fastbpe.errors import ParameterError
from fastbpe.kernels.bpe import merge_chunk
from fastbpe.kernels.mergetable import MergeList


def list_of(merges):
    rows = np.array([(*pair, 256 + k) for k, pair in enumerate(merges)], np.int64).reshape(-1, 3)
    return MergeList(np.arange(256, dtype=np.uint32), rows)


@given(trained() | invented(), st.text("ab\u00e9", max_size=60).map(str.encode))
def test_both_ways_equal_the_reference(merges, chunk):
    expected = encode_chunk(chunk, merges)
    assert merge_chunk(list_of(merges), chunk, small=True) == expected
    assert merge_chunk(list_of(merges), chunk, small=False) == expected


def test_a_product_that_has_a_lower_rank_than_its_parts():
    # abc by way of ab, which ranks behind it.
    rows = np.array([(257, 99, 256), (97, 98, 257)], np.int64)
    table = MergeList(np.arange(256, dtype=np.uint32), rows)
    for small in (True, False):
        assert merge_chunk(table, b"ababcab", small) == [257, 256, 257]


def test_long_chunks_are_not_small():
    with pytest.raises(ParameterError):
        merge_chunk(list_of([]), bytes(129), small=True)
    assert merge_chunk(list_of([]), b"", small=True) == []
