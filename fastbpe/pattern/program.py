"""A pattern as a graph of instructions, and the states that a backtracking matcher can be in on it.

A state is the list of places in the graph that the matcher could be at, the one it would try first in front; so the
first place that reaches the end of the pattern is the match that first-match alternation picks. What comes next in the
text is known when a transition is taken, so look-ahead at one unit is settled there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ast import Alt, Atomic, Chars, Look, Node, Repeat, Seq, UnitSet

STATE_LIMIT = 4096
WORK_LIMIT = 2_000_000
MATCH = -1
DEAD = -1

Table = NDArray[np.int32]
Mask = NDArray[np.bool_]


class NotCompilable(Exception):
    """The pattern has a construct that no exact automaton within the limits has; another engine must run it."""

    def __init__(self, construct: str, why: str):
        super().__init__(f"{construct}: {why}")
        self.construct = construct
        self.why = why


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


class Program:
    """The pattern as a graph of instructions, built from its end: each knows what comes after it.

    Instructions: ("match",), ("chars", classes, then), ("look", classes, then), ("fork", [first tried, ...]).
    Classes are bits of an integer; the end of the text is the bit after the last class.
    """

    def __init__(self, n_classes: int, masks: dict[UnitSet, int]):
        self.masks = masks
        self.end = 1 << n_classes
        self.everything = (self.end << 1) - 1
        self.n_columns = n_classes + 1
        self.code: list[tuple[Any, ...]] = []
        self.work = 0
        self._reach: dict[int, list[tuple[int, int]]] = {}

    def add(self, *instruction: Any) -> int:
        if len(self.code) >= 4 * STATE_LIMIT:
            raise NotCompilable("repetition", "the pattern grows too large when its {m,n} are written out")
        self.code.append(instruction)
        return len(self.code) - 1

    def spend(self, work: int) -> None:
        """Counts what has been done, so that no pattern takes minutes."""
        self.work += work
        if self.work > WORK_LIMIT:
            raise NotCompilable("pattern", "its automaton takes too long to build")

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
        found = []
        seen: dict[int, int] = {}
        stack = [(place, self.everything)]
        while stack:
            at, mask = stack.pop()
            self.spend(1)
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

    def determinize(self, begin: int) -> tuple[Table, Mask]:
        """next and accept of the automaton whose matches start at `begin`, states that lead to no match left out."""
        numbers: dict[tuple[int, ...], int] = {(begin,): 0}
        todo: list[tuple[int, ...]] = [(begin,)]
        rows: list[list[tuple[int, int]]] = []
        accepts: list[int] = []
        while len(rows) < len(todo):
            groups, ends = self._step(todo[len(rows)])
            row = []
            for mask, places in groups:
                if places and places not in numbers:
                    numbers[places] = len(todo)
                    todo.append(places)
                    if len(todo) > STATE_LIMIT:
                        raise NotCompilable("pattern", f"it needs more than {STATE_LIMIT} states")
                row.append((mask, numbers[places] if places else DEAD))
            rows.append(row)
            accepts.append(ends)
        following = np.full((len(rows), self.n_columns), DEAD, np.int32)
        for state, row in enumerate(rows):
            for mask, target in row:
                if target != DEAD:
                    following[state, self._columns(mask)] = target
        accept = np.array([self._columns(mask) for mask in accepts])
        live: Mask = np.asarray(accept.any(axis=1))
        while True:
            more: Mask = live | (live[following] & (following != DEAD)).any(axis=1)
            if (more == live).all():
                break
            live = more
        following[~live[following]] = DEAD
        # A match that a longer one is sure to replace need not be remembered.
        return following, accept & ~((following != DEAD) & sure_states(following, accept)[following])

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
                self.spend(len(groups))
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
        return groups, accept

    def _columns(self, mask: int) -> Mask:
        raw = np.frombuffer(mask.to_bytes((self.n_columns + 7) // 8, "little"), np.uint8)
        return np.unpackbits(raw, count=self.n_columns, bitorder="little").astype(bool)


def _bits(columns: Mask) -> int:
    return int.from_bytes(np.packbits(columns, bitorder="little").tobytes(), "little")


def sure_states(following: Table, accept: Mask) -> Mask:
    """The states from which every text leads to a match that ends there or behind. accept: any end of a match."""
    sure = np.ones(len(following), bool)
    while True:
        fewer = (accept | ((following != DEAD) & sure[following])).all(axis=1)
        if (fewer == sure).all():
            return sure
        sure = fewer
