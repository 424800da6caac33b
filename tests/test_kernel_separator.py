import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.kernels.separator import cut_out

separators = st.binary(min_size=1, max_size=3) | st.text("ab", min_size=1, max_size=4).map(str.encode)
runs = st.sampled_from([b"a" * 63, b"b" * 64, b"c" * 65, b"ab" * 40])


@given(separators, st.data())
@example(b"aa", None)
def test_as_split_has_it(separator: bytes, more) -> None:
    pieces = st.one_of(st.just(separator), st.just(separator[:-1]), st.text("ab", max_size=3).map(str.encode), runs)
    data = b"a" * 131 if more is None else b"".join(more.draw(st.lists(pieces, max_size=8)))
    text, ends = cut_out(data, separator)
    parts = data.split(separator)
    assert text.tobytes() == b"".join(parts)
    assert ends.tolist() == list(itertools.accumulate(map(len, parts[:-1])))


def test_nothing_to_cut_out_is_not_copied() -> None:
    data = np.arange(200, dtype=np.uint8)
    text, ends = cut_out(data, b"\xff")
    assert np.shares_memory(text, data) and not len(ends) and ends.dtype == np.int64
    assert [array.tolist() for array in cut_out(b"", b"x")] == [[], []]


def test_an_empty_separator() -> None:
    with pytest.raises(ParameterError, match="must not be empty"):
        cut_out(b"x", b"")
