"""Units sorted into classes: two units are of one class when no set of the pattern tells them apart."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ast import INVALID, UnitSet

LEAF = 64
"""Code points in a leaf of the two-level class table."""

SURROGATES = (0xD800, 0xE000)

_READABLE = "ab1!A ,-.2'\n\t\r中é"


@dataclass(frozen=True)
class Partition:
    """edges: int64 (n,), where each stretch of units of one class begins (from 0, the last one is INVALID alone);
    labels: int64 (n,), its class; masks: for each set its classes, as bits of an integer."""

    edges: NDArray[np.int64]
    labels: NDArray[np.int64]
    masks: dict[UnitSet, int]

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    def samples(self) -> list[bytes]:
        """For each class a unit of it, the most readable one."""
        units = np.concatenate([[ord(c) for c in _READABLE], np.arange(33, 127), self.edges])
        classes = self.labels[np.searchsorted(self.edges, units, "right") - 1]
        real = (units < SURROGATES[0]) | (units >= SURROGATES[1])
        found: dict[int, int] = {}
        for label, unit in zip(classes[real].tolist(), units[real].tolist(), strict=True):
            found.setdefault(label, unit)
        return [_utf8(found[label]) for label in range(self.n_classes)]


def _utf8(unit: int) -> bytes:
    return b"\xff" if unit == INVALID else chr(unit).encode()


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def _labels(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(_distinct(keys), keys)


def partition(sets: Iterable[UnitSet]) -> Partition:
    """The coarsest partition of the units 0..INVALID of which every set is a union."""
    distinct = list(dict.fromkeys(sets))
    ranges = [np.array(units.ranges, np.int64).reshape(-1, 2) + np.array([0, 1]) for units in distinct]
    edges = _distinct(np.concatenate([[0, *SURROGATES, INVALID, INVALID + 1], *map(np.ravel, ranges)]))
    inside = np.zeros((len(distinct), len(edges)), np.int64)  # per set, whether a stretch between edges is in it
    for row, pairs in zip(inside, ranges, strict=True):
        row[np.searchsorted(edges, pairs[:, 0])] += 1
        row[np.searchsorted(edges, pairs[:, 1])] -= 1
    inside = inside.cumsum(axis=1)[:, :-1]
    low, high = np.searchsorted(edges, SURROGATES)
    inside[:, low:high] = inside[:, -1:]  # no text holds a surrogate: its bytes are invalid ones
    labels = np.zeros(len(edges) - 1, np.int64)
    for first in range(0, len(distinct), 48):
        rows = inside[first : first + 48]
        keys = _labels((1 << np.arange(len(rows))) @ rows)
        labels = _labels(labels * (len(keys) + 1) + keys)
    masks = {
        units: sum(1 << int(label) for label in _distinct(labels[row != 0]))
        for units, row in zip(distinct, inside, strict=True)
    }
    return Partition(edges[:-1], labels, masks)


def class_tables(parts: Partition) -> tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint8]]:
    """(ascii, pages, leaves): the class of each ASCII unit, and a two-level table for all code points.

    The class of a code point is leaves[pages[code // LEAF], code % LEAF]. At most 256 classes.
    """
    class_of = np.repeat(parts.labels.astype(np.uint8), np.diff(np.append(parts.edges, INVALID + 1)))
    blocks = class_of[:INVALID].reshape(-1, LEAF)
    words = blocks.view(np.uint64)
    weights = np.cumprod(np.full(words.shape[1], 0x9E3779B97F4A7C15, np.uint64))
    digests = words @ weights
    order = np.argsort(digests, kind="stable")
    new = np.append(True, np.diff(digests[order]) != 0)
    pages = np.empty(len(blocks), np.uint16)
    pages[order] = np.cumsum(new) - 1
    leaves = np.ascontiguousarray(blocks[order[new]])
    if not np.array_equal(leaves[pages], blocks):  # two different leaves have one digest: compare them whole
        leaves, inverse = np.unique(blocks, axis=0, return_inverse=True)
        pages = inverse.reshape(-1).astype(np.uint16)
    return class_of[:128].copy(), pages, leaves
