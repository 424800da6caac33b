"""An automaton's form for ASCII that never steps back, for kernels/courses.pyx.

A scan that hopes for a longer match has a last place where it could have ended; should it die, the text is scanned
anew from there. Here the scan that would begin at that place runs along already, and so does the one that would begin
at that one's last place: a *course* is a list of scans, and where the first dies, the second takes over. So each byte
is read once, and what is known by then about chunk ends is said with the byte that tells it: whether one is before the
byte, or a few bytes further back. A place further back than that is said before it is certain. Then the course is
*open*: the last place said is withdrawn if the hope comes true, for which there is no saying; such a course, like one
that meets a byte outside ASCII, is dead, and left to the slower scan.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tables import ACCEPT, BOUNDARY, STATE

BACK = 3
"""Bytes between a byte and the furthest end that it tells; kernels/courses.pyx has a bit for each."""
MOST_COURSES = 256
SAID = BACK + 1
"""Instead of a distance: the place has been said."""


class Scan(NamedTuple):
    state: int
    last: int
    """How many bytes back the last place lies where it could have ended: 1 to BACK, SAID, or 0 without one."""


Course = tuple[Scan, ...]  # each begins at the last place of the one before it; the last one has no such place


def course_table(
    transitions: NDArray[np.uint32], ascii: NDArray[np.uint8]
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]] | None:
    """The courses of an automaton as in kernels/dfa.pxd: following, uint16 (n, 256), and open, uint8 (n,).

    An entry is the next course times 256, and bit k for an end k bytes before the byte; 0 is dead, course 1 the
    beginning of a chunk. None when there are too many courses.
    """
    stride = transitions.shape[1]
    steps = _Steps(transitions.reshape(-1).tolist(), stride)
    numbers: dict[Course, int] = {(Scan(stride, 0),): 1}
    rows = [np.zeros(256, np.uint16)]
    for course in (todo := list(numbers)):
        entries = {}
        for unit in np.unique(ascii).tolist():
            found = steps.after(course, unit)
            if found is None:
                entries[unit] = 0
                continue
            following, ends = found
            if following not in numbers:
                numbers[following] = len(numbers) + 1
                todo.append(following)  # the loop goes on to it
            entries[unit] = numbers[following] << 8 | sum(1 << end for end in ends)
        if len(numbers) >= MOST_COURSES:
            return None
        row = np.zeros(256, np.uint16)
        row[:128] = [entries[unit] for unit in ascii.tolist()]
        rows.append(row)
    opened = [False] + [any(scan.last == SAID for scan in course) for course in numbers]
    return np.array(rows), np.array(opened, np.uint8)


class _Steps:
    def __init__(self, transitions: list[int], start: int) -> None:
        self._transitions = transitions
        self._start = start

    def after(self, course: Course, unit: int) -> tuple[Course, set[int]] | None:
        """The course behind the unit, and the ends that it tells; None: dead."""
        (state, last), rest = course[0], course[1:]
        entry = self._transitions[state + unit]
        following = entry & STATE
        ended = bool(entry & BOUNDARY) or bool(entry & ACCEPT and not following)
        if (ended or entry & ACCEPT) and any(scan.last == SAID for scan in course):
            return None
        if ended:
            first = following if entry & BOUNDARY else self._first(unit)
            return ((Scan(first, 0),), {0}) if first else None
        if not following:
            if not last:
                return None
            found = self.after(rest, unit)
            return None if found is None else (found[0], found[1] | ({last} - {SAID}))
        if entry & ACCEPT:
            first = self._first(unit)
            return ((Scan(following, 1), Scan(first, 0)), set()) if first else None
        if not last:
            return (Scan(following, 0),), set()
        found = self.after(rest, unit)
        if found is None or found[1]:
            return None
        ends = {last} if last == BACK else set()
        course = (Scan(following, min(last + 1, SAID)), *found[0])
        return (course, ends) if sum(scan.last == SAID for scan in course) <= 1 else None

    def _first(self, unit: int) -> int:
        """The state behind the first unit of a chunk, 0 where no chunk begins with it."""
        entry = self._transitions[self._start + unit]
        return 0 if entry & (BOUNDARY | ACCEPT) else entry & STATE
