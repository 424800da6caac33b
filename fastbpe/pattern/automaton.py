"""From a syntax tree to a deterministic automaton over classes of units that finds the same chunks, exactly.

How a state comes about stands in program.py, how classes do in partition.py; here equal states and classes are merged,
and what the pattern fails to match is found. What a finite automaton cannot do exactly raises NotCompilable; nothing is
approximated.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .ast import Alt, Atomic, Chars, Look, Node, Repeat, Seq, UnitSet
from .partition import class_tables, partition
from .program import DEAD, Mask, NotCompilable, Program, Table


@dataclass(frozen=True)
class Automaton:
    """What the pattern does, by state (rows) and class of the unit at hand (columns; the last is the end of the text).

    next: int32 (n_states, n_classes + 1), the state after that unit, or DEAD. accept: bool, same shape, a match may end
    before that unit. Where a match ends and nothing longer is possible, `fresh` is set and next is the state after
    starting anew on the unit. State 0 is the start. ascii, pages, leaves: the class tables.
    unmatched: the shortest text at whose beginning nothing matches; empty: the shortest one where only the empty text
    does, and that is not at the end of the text; None where there is none. barren: the pattern matches no text at all.
    """

    next: Table
    accept: Mask
    fresh: Mask
    ascii: NDArray[np.uint8]
    pages: NDArray[np.uint16]
    leaves: NDArray[np.uint8]
    invalid_class: int
    unmatched: bytes | None
    empty: bytes | None
    barren: bool

    @property
    def n_states(self) -> int:
        return len(self.next)

    @property
    def n_classes(self) -> int:
        """Classes of units, the end of the text not counted; that one has this number."""
        return int(self.next.shape[1]) - 1


def compile_pattern(node: Node) -> Automaton:
    """The automaton of a pattern; raises NotCompilable with the construct that stands in the way."""
    parts = partition(_sets(node))
    program = Program(parts.n_classes, parts.masks)
    following, accept = program.determinize(program.emit(node, program.add("match")))
    blank = accept[0].copy()
    following, accept, fresh = _minimal(*_resolve(following, accept))
    columns, kept = _distinct_columns(following, accept, fresh, blank)
    if len(kept) > 251:
        raise NotCompilable("character classes", f"they sort characters into {len(kept) - 1} kinds, more than 250")
    following, accept, fresh, blank = following[:, kept], accept[:, kept], fresh[:, kept], blank[kept]
    parts = replace(parts, labels=columns[parts.labels])
    unmatched, empty = _shortest_failures(following, accept, fresh, blank, parts.samples())
    return Automaton(
        following,
        accept,
        fresh,
        *class_tables(parts),
        invalid_class=int(parts.labels[-1]),
        unmatched=unmatched,
        empty=empty,
        barren=not (accept.any() or fresh.any()),
    )


def _sets(node: Node) -> list[UnitSet]:
    match node:
        case Chars(units) | Look(units, _):
            return [units]
        case Repeat(item=item) | Atomic(item):
            return _sets(item)
        case Seq(items) | Alt(items):
            return [units for item in items for units in _sets(item)]


def _resolve(following: Table, accept: Mask) -> tuple[Table, Mask, Mask]:
    # Where a match ends before the unit and nothing longer is possible, go on as from the start.
    fresh = accept & (following == DEAD)
    return np.where(fresh, following[0], following), accept & ~fresh, fresh


def _minimal(following: Table, accept: Mask, fresh: Mask) -> tuple[Table, Mask, Mask]:
    """The same with equal states merged, unreachable ones left out, numbered in the order a walk meets them."""
    labels = np.zeros(len(following), np.int32)
    count = 1
    while True:
        targets = np.where(following == DEAD, DEAD, labels[following])
        signature = np.concatenate([labels[:, None], targets, accept, fresh], axis=1).astype(np.int32)
        seen: dict[bytes, int] = {}
        labels = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in signature], np.int32)
        if len(seen) == count:
            break
        count = len(seen)
    order, number = [0], {int(labels[0]): 0}
    for state in order:
        for target in following[state].tolist():
            if target != DEAD and int(labels[target]) not in number:
                number[int(labels[target])] = len(order)
                order.append(target)
    renumbered = np.array([number.get(int(label), DEAD) for label in labels], np.int32)
    rows = following[order]
    return np.where(rows == DEAD, DEAD, renumbered[rows]), accept[order], fresh[order]


def _distinct_columns(following: Table, accept: Mask, fresh: Mask, blank: Mask) -> tuple[NDArray[np.int64], list[int]]:
    """(new class of each class, the columns to keep): classes that all states treat alike become one."""
    columns = np.concatenate([following, accept, fresh, blank[None]]).T.astype(np.int32)
    seen: dict[bytes, int] = {}
    labels = np.array([seen.setdefault(column.tobytes(), len(seen)) for column in columns[:-1]])
    kept = [int(np.argmax(labels == label)) for label in range(len(seen))]
    return labels, [*kept, len(columns) - 1]


def _shortest_failures(
    following: Table, accept: Mask, fresh: Mask, blank: Mask, samples: list[bytes]
) -> tuple[bytes | None, bytes | None]:
    """The shortest text at whose beginning nothing matches, and the shortest where only the empty text does.

    blank: the columns before which the pattern can end without having taken a unit.
    """
    end = len(samples)
    found: list[bytes | None] = []
    for empty in (False, True):
        best: tuple[int, ...] | None = None
        queue: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        seen = set()
        for state, text in queue:
            if best is not None and len(text) >= len(best):
                break
            for column in range(end, -1, -1):
                if not text and (column == end or bool(blank[column]) != empty):
                    continue
                if text and (accept[state, column] or fresh[state, column]):
                    continue
                target = int(following[state, column])
                longer = text if column == end else (*text, column)
                if target == DEAD and (best is None or len(longer) <= len(best)):
                    best = longer
                elif target != DEAD and target not in seen:
                    seen.add(target)
                    queue.append((target, longer))
        found.append(None if best is None else b"".join(samples[column] for column in best))
    return found[0], found[1]
