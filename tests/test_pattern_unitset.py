import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.pattern import unitset
from fastbpe.pattern.ast import INVALID, UnitSet

SMALL = 40
members = st.sets(st.integers(0, SMALL))


def build(units: set[int]) -> UnitSet:
    return unitset.of(*units)


def listed(units: UnitSet) -> set[int]:
    return {unit for first, last in units.ranges for unit in range(first, min(last, SMALL) + 1)}


def check_form(units: UnitSet) -> None:
    edges = [edge for pair in units.ranges for edge in pair]
    assert edges == sorted(edges)
    assert all(low <= high for low, high in units.ranges)
    assert all(b[0] > a[1] + 1 for a, b in zip(units.ranges, units.ranges[1:], strict=False))


@given(members, members)
def test_algebra_is_that_of_sets(left, right):
    a, b = build(left), build(right)
    for found, expected in (
        (unitset.union(a, b), left | right),
        (unitset.intersection(a, b), left & right),
        (unitset.difference(a, b), left - right),
        (unitset.complement(a), set(range(SMALL + 1)) - left),
    ):
        check_form(found)
        assert listed(found) == expected
    assert unitset.complement(unitset.complement(a)) == a
    assert unitset.size(a) == len(left)
    assert all(unitset.contains(a, unit) == (unit in left) for unit in range(SMALL + 1))


@given(st.lists(st.tuples(st.integers(0, SMALL), st.integers(0, 5))))
def test_ranges_may_overlap_in_any_order(pairs):
    ranges = [(low, min(low + length, SMALL)) for low, length in pairs]
    found = unitset.from_ranges(ranges)
    check_form(found)
    assert listed(found) == {unit for low, high in ranges for unit in range(low, high + 1)}


def test_complement_holds_the_invalid_byte():
    assert unitset.complement(unitset.EMPTY) == unitset.ALL
    assert unitset.complement(unitset.ALL) == unitset.EMPTY
    assert unitset.contains(unitset.complement(unitset.of(65)), INVALID)


@pytest.mark.parametrize("wrong", [(5, 4), (-1, 3), (0, INVALID + 1)])
def test_wrong_ranges_are_refused(wrong):
    with pytest.raises(ValueError, match="range"):
        unitset.from_ranges([(2, 3), wrong])
