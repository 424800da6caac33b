"""Set algebra on UnitSet: a few hundred ranges at most, so every operation is one pass over sorted ranges."""

from bisect import bisect_right
from collections.abc import Iterable

from .ast import INVALID, UnitSet


def from_ranges(ranges: Iterable[tuple[int, int]]) -> UnitSet:
    """The set of all units in the inclusive (first, last) ranges, which may overlap and come in any order.

    Raises ValueError for a range that is empty or leaves 0..INVALID.
    """
    ordered = sorted(ranges)
    if not ordered:
        return EMPTY
    merged = []
    first, last = ordered[0]
    if first < 0:
        raise ValueError(f"range {first}..{last} begins below 0")
    for low, high in ordered:
        if low > high or high > INVALID:
            raise ValueError(f"range {low}..{high} is empty or leaves 0..{INVALID:#x}")
        if low <= last + 1:
            if high > last:
                last = high
        else:
            merged.append((first, last))
            first, last = low, high
    merged.append((first, last))
    return UnitSet(tuple(merged))


def of(*units: int) -> UnitSet:
    """The set of just these units."""
    return from_ranges((unit, unit) for unit in units)


def union(*sets: UnitSet) -> UnitSet:
    """The units that are in any of the sets."""
    if len(sets) == 1:
        return sets[0]
    return from_ranges(pair for units in sets for pair in units.ranges)


def complement(units: UnitSet) -> UnitSet:
    """The units of 0..INVALID that are not in the set."""
    gaps = []
    start = 0
    for first, last in units.ranges:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= INVALID:
        gaps.append((start, INVALID))
    return UnitSet(tuple(gaps))


def intersection(left: UnitSet, right: UnitSet) -> UnitSet:
    """The units that are in both sets."""
    a, b = left.ranges, right.ranges
    common = []
    i = j = 0
    while i < len(a) and j < len(b):
        first, last = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if first <= last:
            common.append((first, last))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return UnitSet(tuple(common))


def difference(left: UnitSet, right: UnitSet) -> UnitSet:
    """The units of left that are not in right."""
    return intersection(left, complement(right))


def contains(units: UnitSet, unit: int) -> bool:
    """Whether the unit is in the set."""
    k = bisect_right(units.ranges, (unit, INVALID)) - 1
    return k >= 0 and unit <= units.ranges[k][1]


def size(units: UnitSet) -> int:
    """How many units the set has."""
    return sum(last - first + 1 for first, last in units.ranges)


EMPTY = UnitSet(())
ALL = UnitSet(((0, INVALID),))
