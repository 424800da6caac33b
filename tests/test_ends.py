import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.shards.ends import Ends


@given(st.lists(st.lists(st.integers(0, 2**62), max_size=4), max_size=8), st.integers(1, 9))
def test_all_come_back_in_order(tmp_path_factory, batches, held):
    folder = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.shards.ends.HELD", held)
        ends = Ends(folder)
        for batch in batches:
            ends.add(np.array(batch, np.int64))
        expected = [end for batch in batches for end in batch]
        assert len(ends) == len(expected)
        for _ in range(2):
            assert [end for array in ends.arrays() for end in array.tolist()] == expected
        ends.close()


def test_the_file_has_no_name_and_goes(tmp_path, monkeypatch):
    monkeypatch.setattr("fastbpe.shards.ends.HELD", 10)
    ends = Ends(tmp_path)
    ends.add(np.arange(25)[::-2])
    assert list(tmp_path.iterdir()) == []
    assert np.concatenate(list(ends.arrays())).tolist() == list(range(24, -1, -2))
    ends.close()
    with pytest.raises(ValueError, match="closed"):
        list(ends.arrays())
