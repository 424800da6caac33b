import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.kernels.mergetable import MergeList

IDS = st.integers(0, 6) | st.integers(0, 2**32 - 2)


@given(st.lists(st.tuples(IDS, IDS), unique=True, max_size=40), st.lists(st.tuples(IDS, IDS), max_size=40))
def test_ranks(pairs, others):
    byte_ids = np.arange(256, dtype=np.uint32)[::-1].copy()
    merges = MergeList(byte_ids, np.array([(*pair, 9) for pair in pairs], np.int64).reshape(-1, 3))
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    for left, right in pairs + others:
        assert merges.rank(left, right) == ranks.get((left, right))
        if max(left, right) < 256:
            assert merges.byte_rank(255 - left, 255 - right) == ranks.get((left, right))


def test_bad_arrays_are_refused():
    byte_ids = np.arange(256, dtype=np.uint32)
    with pytest.raises(ParameterError):
        MergeList(byte_ids[:255], np.empty((0, 3), np.int64))
    with pytest.raises(ParameterError):
        MergeList(byte_ids, np.empty((0, 2), np.int64))
    with pytest.raises(ParameterError, match="twice"):
        MergeList(byte_ids, np.array([[1, 2, 256], [1, 2, 257]], np.int64))
    for wrong in (-1, 2**32 - 1):
        with pytest.raises(ParameterError, match=r"merges\[1\]"):
            MergeList(byte_ids, np.array([[1, 2, 256], [1, wrong, 257]], np.int64))
