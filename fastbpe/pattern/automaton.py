"""From a syntax tree to a deterministic automaton over classes of units that finds the same chunks, exactly.

A state is the list of places in the pattern that a backtracking matcher could be at, the one it would try first in
front; so the first place that reaches the end of the pattern is the match that first-match alternation picks. What
comes next in the text is known when a transition is taken, so look-ahead at one unit is settled there. What a finite
automaton cannot do exactly raises NotCompilable; nothing is approximated.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .ast import Alt, Atomic, Chars, Look, Node, Repeat, Seq, UnitSet
from .partition import class_tables, partition

STATE_LIMIT = 4096
WORK_LIMIT = 2_000_000
SPLIT_BOUNDARY = 0x80000000
SPLIT_ACCEPT = 0x40000000
MATCH = -1
DEAD = -1


class NotCompilable(Exception):
    """The pattern has a construct that no exact automaton within the limits has; another engine must run it."""

    def __init__(self, construct: str, why: str):
        super().__init__(f"{construct}: {why}")
        self.construct = construct
        self.why = why


@dataclass(frozen=True)
class Automaton:
    """What the pattern does, by state (rows) and class of the unit at hand (columns; the last is the end of the text).

    next: int32 (n_states, n_classes + 1), the state after that unit, or DEAD. accept: bool, same shape, a match may end
    before that unit. Where a match ends and nothing longer is possible, `fresh` is set and next is the state after
    starting anew on the unit. State 0 is the start. ascii, pages, leaves: the class tables.
    unmatched: the shortest text at whose beginning nothing matches; empty: the shortest one where only the empty text
    does, and that is not at the end of the text; None where there is none. barren: the pattern matches no text at all.
    """

    next: NDArray[np.int32]
    accept: NDArray[np.bool_]
    fresh: NDArray[np.bool_]
    ascii: NDArray[np.uint8]
    pages: NDArray[np.uint16]
    leaves: NDArray[np.uint8]
    invalid_class: int
    unmatched: bytes | None
    empty: bytes | None
    barren: bool

    @property
    def n_states(self) -> int:
        return self.next.shape[0]

    @property
    def n_classes(self) -> int:
        """Classes of units, the end of the text not counted; that one has this number."""
        return self.next.shape[1] - 1


def compile_pattern(node: Node) -> Automaton:
    """The automaton of a pattern; raises NotCompilable with the construct that stands in the way."""
    parts = partition(_sets(node))
    program = _Program(parts.n_classes, parts.masks)
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


def nullable(node: Node) -> bool:
    """Whether the pattern may match without taking a unit."""
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Repeat(item, least):
            return least == 0 or nullable(item)
        case Atomic(item):
            return nullable(item)
        case Seq(items):
            return all(map(nullable, items))
        case Alt(items):
            return any(map(nullable, items))


class _Program:
    """The pattern as a graph of instructions, built from its end: each knows what comes after it.

    Instructions: ("match",), ("chars", classes, then), ("look", classes, then), ("fork", [first tried, ...]).
    Classes are bits of an integer; the end of the text is the bit after the last class.
    """

    def __init__(self, n_classes: int, masks: dict[UnitSet, int]):
        self.masks = masks
        self.end = 1 << n_classes
        self.everything = (self.end << 1) - 1
        self.n_columns = n_classes + 1
        self.code: list[tuple] = []
        self.work = 0
        self._reach: dict[int, list[tuple[int, int]]] = {}

    def add(self, *instruction) -> int:
        if len(self.code) >= 4 * STATE_LIMIT:
            raise NotCompilable("repetition", "the pattern grows too large when its {m,n} are written out")
        self.code.append(instruction)
        return len(self.code) - 1

    def emit(self, node: Node, then: int) -> int:
        """Adds the instructions of `node`, to go on at `then`; returns where they begin."""
        match node:
            case Chars(units):
                return self.add("chars", self.masks[units], then)
            case Look(units, at_end):
                return self.add("look", self.masks[units] | (self.end if at_end else 0), then)
            case Seq(items):
                for item in reversed(items):
                    then = self.emit(item, then)
                return then
            case Alt(items):
                return self.add("fork", [self.emit(item, then) for item in items])
            case Repeat(item, least, most, "possessive"):
                return self._atomic(Repeat(item, least, most, "greedy"), then, "possessive repetition")
            case Repeat(item, least, most, mode):
                return self._repeat(item, least, most, mode == "lazy", then)
            case Atomic(item):
                return self._atomic(item, then, "atomic group (?>..)")

    def _repeat(self, item: Node, least: int, most: int | None, lazy: bool, then: int) -> int:
        if most != 1 and most != least and nullable(item):
            raise NotCompilable("repetition", "of something that can match the empty text")
        order = -1 if lazy else 1
        if most is None:
            branches: list[int] = []
            begin = self.add("fork", branches)
            branches.extend([self.emit(item, begin), then][::order])
        else:
            begin = then
            for _ in range(most - least):
                begin = self.add("fork", [self.emit(item, begin), then][::order])
        for _ in range(least):
            begin = self.emit(item, begin)
        return begin

    def _atomic(self, item: Node, then: int, construct: str) -> int:
        # What is inside, as an automaton of its own. When that one always knows at the next unit whether its match is
        # over, it stands here as it is: there is one way through it, so nothing to give back.
        following, accept = self.determinize(self.emit(item, self.add("match")))
        if (accept & (following != DEAD)).any():
            raise NotCompilable(construct, "where its match ends is not known at the next character")
        branches: list[list[int]] = [[] for _ in following]
        places = [self.add("fork", branch) for branch in branches]
        for state, branch in enumerate(branches):
            for target in sorted(set(following[state].tolist())):
                if target != DEAD:
                    branch.append(self.add("chars", _bits(following[state] == target), places[target]))
            if accept[state].any():
                branch.append(self.add("look", _bits(accept[state]), then))
        return places[0]

    def reach(self, place: int) -> list[tuple[int, int]]:
        """What can be done from `place`, first tried in front: (for these next classes, take one and go there)."""
        found = self._reach.get(place)
        if found is not None:
            return found
        found, seen, stack = [], {}, [(place, self.everything)]
        while stack:
            at, mask = stack.pop()
            mask &= ~seen.get(at, 0)
            if not mask:
                continue
            seen[at] = seen.get(at, 0) | mask
            match self.code[at]:
                case ("match",):
                    found.append((mask, MATCH))
                case ("chars", classes, then):
                    if mask & classes:
                        found.append((mask & classes, then))
                case ("look", classes, then):
                    stack.append((then, mask & classes))
                case ("fork", branches):
                    stack.extend((branch, mask) for branch in reversed(branches))
        self._reach[place] = found
        return found

    def determinize(self, begin: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """next and accept of the automaton whose matches start at `begin`, states that lead to no match left out."""
        numbers: dict[tuple[int, ...], int] = {(begin,): 0}
        todo = [(begin,)]
        rows: list[list[tuple[int, int]]] = []
        accepts: list[int] = []
        while len(rows) < len(todo):
            groups, accept = self._step(todo[len(rows)])
            row = []
            for mask, places in groups:
                if places and places not in numbers:
                    numbers[places] = len(todo)
                    todo.append(places)
                    if len(todo) > STATE_LIMIT:
                        raise NotCompilable("pattern", f"it needs more than {STATE_LIMIT} states")
                row.append((mask, numbers[places] if places else DEAD))
            rows.append(row)
            accepts.append(accept)
        following = np.full((len(rows), self.n_columns), DEAD, np.int32)
        for state, row in enumerate(rows):
            for mask, target in row:
                if target != DEAD:
                    following[state, self._columns(mask)] = target
        accept = np.array([self._columns(mask) for mask in accepts])
        live = accept.any(axis=1)
        while True:
            more = live | (live[following] & (following != DEAD)).any(axis=1)
            if (more == live).all():
                break
            live = more
        following[~live[following]] = DEAD
        # A match that a longer one is sure to replace need not be remembered.
        sure = np.ones(len(following), bool)
        while True:
            fewer = (accept | ((following != DEAD) & sure[following])).all(axis=1)
            if (fewer == sure).all():
                break
            sure = fewer
        return following, accept & ~((following != DEAD) & sure[following])

    def _step(self, places: tuple[int, ...]) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
        # Which places follow, for each group of classes that the places treat alike; and before which a match ends.
        groups: list[tuple[int, tuple[int, ...]]] = [(self.everything, ())]
        alive, accept = self.everything, 0
        for place in places:
            for mask, target in self.reach(place):
                mask &= alive
                if not mask:
                    continue
                if target == MATCH:
                    accept |= mask
                    alive &= ~mask
                    continue
                self.work += len(groups)
                split = []
                for group, followers in groups:
                    inside = group & mask
                    if not inside or target in followers:
                        split.append((group, followers))
                        continue
                    split.append((inside, (*followers, target)))
                    if inside != group:
                        split.append((group & ~mask, followers))
                groups = split
        if self.work > WORK_LIMIT:
            raise NotCompilable("pattern", "its automaton takes too long to build")
        return groups, accept

    def _columns(self, mask: int) -> NDArray[np.bool_]:
        raw = np.frombuffer(mask.to_bytes((self.n_columns + 7) // 8, "little"), np.uint8)
        return np.unpackbits(raw, count=self.n_columns, bitorder="little").astype(bool)


def _bits(columns: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(columns, bitorder="little").tobytes(), "little")


def _resolve(following, accept):
    # Where a match ends before the unit and nothing longer is possible, go on as from the start.
    fresh = accept & (following == DEAD)
    return np.where(fresh, following[0], following), accept & ~fresh, fresh


def _minimal(following, accept, fresh):
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


def _distinct_columns(following, accept, fresh, blank):
    """(new class of each class, the columns to keep): classes that all states treat alike become one."""
    columns = np.concatenate([following, accept, fresh, blank[None]]).T.astype(np.int32)
    seen: dict[bytes, int] = {}
    labels = np.array([seen.setdefault(column.tobytes(), len(seen)) for column in columns[:-1]])
    kept = [int(np.argmax(labels == label)) for label in range(len(seen))]
    return labels, [*kept, len(columns) - 1]


def _shortest_failures(following, accept, fresh, blank, samples: list[bytes]) -> tuple[bytes | None, bytes | None]:
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


def kernel_tables(automaton: Automaton):
    """The arguments of kernels.split.SplitTable: state 0 becomes dead, every other number one more."""
    stride = automaton.n_classes + 1
    rows = np.where(automaton.next == DEAD, 0, (automaton.next + 1) * stride).astype(np.uint32)
    rows |= np.where(automaton.fresh, np.uint32(SPLIT_BOUNDARY), np.uint32(0))
    rows |= np.where(automaton.accept, np.uint32(SPLIT_ACCEPT), np.uint32(0))
    transitions = np.concatenate([np.zeros((1, stride), np.uint32), rows])
    classes = automaton.ascii, automaton.pages, automaton.leaves
    return transitions, *classes, automaton.invalid_class, stride - 1, certain_cuts(automaton)


def certain_cuts(automaton: Automaton) -> NDArray[np.uint8]:
    """Where a chunk is sure to end, whatever came before: uint8 (n_classes,) * width, width 2 or 3.

    Bit j - 1 of an entry is set when a chunk ends after the first j of these `width` units. Width 3 only where no two
    units are enough; all zeros where no three are.

    Proof: let a chunk hold the place before the first unit, or begin there; it was being scanned in some state, any of
    which is assumed, and ends behind that unit or later. If no state outlives two units, it ends between them. With a
    third unit in view: either all that outlived two are known to have ended before the second, or the states to fear
    in front of the second unit are only those that outlived the first, and the start.
    """
    following, n = automaton.next[:, :-1], automaton.n_classes
    alive = (following != DEAD) & ~automaton.fresh[:, :-1]
    after = np.zeros((n, len(following)), bool)  # the states that a scan may be in behind a unit
    for unit in range(n):
        after[unit, following[alive[:, unit], unit]] = True
    # Where nothing matches, a stretch without a match ends only where one is sure to begin.
    sure = np.ones(len(following), bool)
    while True:
        fewer = (automaton.accept | automaton.fresh | ((automaton.next != DEAD) & sure[automaton.next])).all(axis=1)
        if (fewer == sure).all():
            break
        sure = fewer
    begins = (following[0] != DEAD) & sure[following[0]]
    pairs = ~(after.astype(np.int64) @ alive > 0) & (begins[:, None] | begins[None, :])
    if pairs.any() or n > 64 or not begins.all():
        return pairs.astype(np.uint8)
    triples = np.zeros((n, n, n), np.uint8)
    for first in range(n):
        for second in range(n):
            states = following[after[first] & alive[:, second], second]
            ended = ~(alive | automaton.fresh[:, :-1])[states].any(axis=0)
            fearful = ~alive[np.append(states, following[0, second])].any(axis=0)
            triples[first, second] = ended | fearful << 1
    return triples
