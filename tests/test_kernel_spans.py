import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.spans import check_ends, check_spans


@pytest.mark.parametrize(
    "spans", [np.zeros((1, 3), np.int64), np.zeros(4, np.int64), np.zeros((1, 4), np.int32), [[0, 1, 1, -1]]]
)
def test_spans_of_another_shape(spans):
    with pytest.raises(ValueError, match="shape"):
        check_spans(spans, 1)


@pytest.mark.parametrize(
    "rows",
    [
        [[-1, 1, 1, -1]],
        [[2, 1, 2, -1]],
        [[0, 4, 4, -1]],
        [[0, 2, 1, -1]],
        [[0, 2, 4, -1]],
        [[0, 2, 2, -1], [1, 3, 3, -1]],
    ],
)
def test_spans_that_do_not_fit(rows):
    with pytest.raises(ValueError, match="spans: row"):
        check_spans(np.array(rows, np.int64), 3)


def test_spans_that_fit():
    assert check_spans(None, 3).tolist() == [[0, 3, 3, -1]]
    assert check_spans(np.zeros((0, 4), np.int64), 3).shape == (0, 4)
    rows = np.array([[0, 0, 0, 7], [0, 1, 3, -1], [2, 3, 0, 5]], np.int64)
    assert check_spans(np.asfortranarray(rows), 3).flags.c_contiguous
    assert check_spans(rows, 3).tolist() == rows.tolist()


def fill(ends, spans):
    """Whether the ends cut each text span from its start to its stop, and nothing else."""
    ends = list(ends)
    for start, stop, _, id in spans:
        while id < 0 and start < stop:
            if not ends or not start < ends[0] <= stop:
                return False
            start = ends.pop(0)
    return not ends


@given(st.lists(st.integers(0, 6), max_size=6).map(sorted), st.lists(st.integers(-1, 7), max_size=6), st.data())
def test_ends_fill_the_text(places, ends, data):
    spans = [[a, b, b, data.draw(st.sampled_from([-1, 3]))] for a, b in zip(places[::2], places[1::2], strict=False)]
    if data.draw(st.booleans()):
        ends = sorted({*ends} | {stop for _, stop, _, _ in spans})
    spans, ends = np.array(spans, np.int64).reshape(-1, 4), np.array(ends, np.int64)
    if fill(ends.tolist(), spans.tolist()):
        assert check_ends(ends, spans).tolist() == ends.tolist()
    else:
        with pytest.raises(ValueError, match="they do not fill span"):
            check_ends(ends, spans)


@pytest.mark.parametrize("ends", [np.zeros((1, 1), np.int64), np.zeros(1, np.int32), [1]])
def test_ends_of_another_shape(ends):
    with pytest.raises(ValueError, match="one-dimensional"):
        check_ends(ends, np.array([[0, 1, 1, -1]], np.int64))
