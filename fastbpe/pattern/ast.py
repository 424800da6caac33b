"""The syntax tree of a split pattern: what the parser gives and the automaton compiler and spellers take.

A *unit* is what a pattern matches one of: a code point, or a byte that is not part of valid UTF-8. The invalid
byte stands in sets as one extra code point, INVALID, so that complements (negated classes, ``.``) hold it and
``\\p{..}`` does not, without a rule of its own.
"""

from dataclasses import dataclass

INVALID = 0x110000
"""The pseudo code point of a byte that Python's UTF-8 decoder would not accept."""


@dataclass(frozen=True, slots=True)
class UnitSet:
    """A set of units as sorted, disjoint, non-adjacent inclusive ranges over 0..INVALID."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Chars:
    """Matches one unit of the set."""

    units: UnitSet


@dataclass(frozen=True, slots=True)
class Seq:
    """Matches the items one after the other; no items match the empty text."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """Matches the first item that lets the whole match succeed."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Matches item min to max times (max None: without bound); mode is greedy, lazy or possessive."""

    item: "Node"
    min: int
    max: int | None
    mode: str


@dataclass(frozen=True, slots=True)
class Atomic:
    """``(?>..)``: once matched, never tried otherwise."""

    item: "Node"


@dataclass(frozen=True, slots=True)
class Look:
    """Look-ahead at one unit: the next unit is in the set, or the text ends here and at_end is true.

    ``(?!X)`` is Look(complement of X, at_end=True), ``(?=X)`` is Look(X, at_end=False), ``$`` and ``\\z`` are
    Look(empty set, at_end=True).
    """

    units: UnitSet
    at_end: bool


Node = Chars | Seq | Alt | Repeat | Atomic | Look
