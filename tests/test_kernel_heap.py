"""kernels/heap.pxd against sorting."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.kernels.heap import PyHeap

entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**64 - 1)), max_size=60)


def before(entry):
    return (-entry[0], entry[1])


@settings(deadline=None)
@given(entries, st.lists(st.integers(1, 3), max_size=10))
def test_gives_entries_in_order_while_the_top_sinks(start, falls):
    heap, left = PyHeap(), list(start)
    for count, tie in start:
        heap.push(count, tie, 7)
    for fall in falls:
        if left:
            left.sort(key=before)
            count, tie = left.pop(0)
            left.append((count - fall, tie))
            heap.sink_top(count - fall, tie)
    for count, tie in sorted(left, key=before):
        assert heap.top() == (count, tie, 7)
        heap.drop_top()
    assert len(heap) == 0


def test_an_empty_heap_has_no_top():
    for use in (PyHeap().top, PyHeap().drop_top, lambda: PyHeap().sink_top(1, 1)):
        with pytest.raises(IndexError, match="empty"):
            use()
