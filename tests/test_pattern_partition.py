"""Units sorted into classes, by the definition: of one class are two units that every set holds both or neither."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.pattern.ast import INVALID, UnitSet
from fastbpe.pattern.partition import SURROGATES, class_tables, partition

edges = st.lists(st.integers(0, 400) | st.integers(0, INVALID), unique=True, max_size=8).map(sorted)
unit_sets = edges.map(lambda e: UnitSet(tuple((a, b - 1) for a, b in zip(e[::2], e[1::2], strict=False))))
PROBES = [*range(420), 0xD7FF, 0xE000, 0xFFFF, 0x10FFFF, INVALID]


def holds(units: UnitSet, unit: int) -> bool:
    return any(low <= unit <= high for low, high in units.ranges)


def class_of(parts, unit):
    return int(parts.labels[np.searchsorted(parts.edges, unit, "right") - 1])


@given(st.lists(unit_sets, max_size=60))
def test_classes_are_what_the_sets_tell_apart(sets):
    parts = partition(sets)
    seen = {}
    for unit in PROBES:
        signature = tuple(holds(units, unit) for units in sets)
        assert seen.setdefault(class_of(parts, unit), signature) == signature
        for units in sets:
            assert (parts.masks[units] >> class_of(parts, unit) & 1) == holds(units, unit)
    assert len(set(seen.values())) == len(seen)


@given(st.lists(unit_sets, max_size=6))
def test_tables_and_samples_say_the_same(sets):
    parts = partition(sets)
    ascii_table, pages, leaves = class_tables(parts)
    assert (ascii_table.shape, pages.shape, leaves.shape[1]) == ((128,), (INVALID // 64,), 64)
    for unit in PROBES[:-1]:
        assert leaves[pages[unit >> 6], unit & 63] == class_of(parts, unit)
        if unit < 128:
            assert ascii_table[unit] == class_of(parts, unit)
    for label, sample in enumerate(parts.samples()):
        unit = INVALID if sample == b"\xff" else ord(sample.decode())
        assert class_of(parts, unit) == label


def test_surrogates_are_of_the_class_of_invalid_bytes():
    parts = partition([UnitSet(((0xD800, 0xDFFF),)), UnitSet(((INVALID, INVALID),))])
    assert class_of(parts, SURROGATES[0]) == class_of(parts, SURROGATES[1] - 1) == class_of(parts, INVALID)
    assert parts.n_classes == 2


def test_leaves_with_one_digest_are_told_apart(monkeypatch):
    parts = partition([UnitSet(((65, 90),)), UnitSet(((0x4E00, 0x9FFF),))])
    honest = class_tables(parts)
    monkeypatch.setattr(np, "cumprod", lambda values: np.zeros_like(values))
    for ours, theirs in zip(class_tables(parts), honest, strict=True):
        if ours.ndim == 1 and len(ours) == 128:
            assert (ours == theirs).all()
    _, pages, leaves = class_tables(parts)
    assert (leaves[pages] == honest[2][honest[1]]).all()
