"""kernels/pairmap.pxd against a dict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.kernels.pairmap import PyPairMap

keys = st.integers(0, 3) | st.integers(0, 2**64 - 2) | st.integers(0, 300).map(lambda i: i << 32)


@settings(deadline=None)
@given(st.lists(st.tuples(keys, st.integers(-(2**40), 2**40)), max_size=300), st.integers(0, 100))
def test_equals_a_dict(added, capacity):
    pairmap, expected = PyPairMap(capacity), {}
    for key, value in added:
        pairmap.add(key, value)
        expected[key] = expected.get(key, 0) + value
    assert len(pairmap) == len(expected)
    assert {key: pairmap.get(key) for key in expected} == expected
    assert pairmap.get(2**63 + 12345, -7) == expected.get(2**63 + 12345, -7)


def test_the_empty_mark_is_no_key():
    pairmap = PyPairMap()
    assert pairmap.get(2**64 - 1) == -1
    with pytest.raises(ValueError, match="no key"):
        pairmap.add(2**64 - 1, 1)
    with pytest.raises(ValueError, match="capacity"):
        PyPairMap(-1)
