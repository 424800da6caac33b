"""What kernels are given of an automaton: its transitions, and where chunks are sure to end."""

import numpy as np
from numpy.typing import NDArray

from .automaton import Automaton
from .program import DEAD, Mask, sure_states

KernelTables = tuple[
    NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint8], int, int, NDArray[np.uint8]
]

BOUNDARY = 0x80000000
ACCEPT = 0x40000000
STATE = 0x00FFFFFF


def kernel_tables(automaton: Automaton) -> KernelTables:
    """The arguments of kernels.split.SplitTable: state 0 becomes dead, every other number one more."""
    following, accept, fresh = _with_stretches(automaton)
    stride = automaton.n_classes + 1
    rows = np.where(following == DEAD, 0, (following + 1) * stride).astype(np.uint32)
    rows |= np.where(fresh, np.uint32(BOUNDARY), np.uint32(0))
    rows |= np.where(accept, np.uint32(ACCEPT), np.uint32(0))
    transitions = np.concatenate([np.zeros((1, stride), np.uint32), rows])
    ascii, pages, leaves = automaton.ascii, automaton.pages, automaton.leaves
    return transitions, ascii, pages, leaves, automaton.invalid_class, stride - 1, certain_cuts(automaton)


def _with_stretches(automaton: Automaton) -> tuple[NDArray[np.int32], Mask, Mask]:
    """next, accept and fresh with a state more, in which a stretch is that nothing matches.

    It can be added where the first unit tells whether a match begins; elsewhere the kernel looks for the next match.
    """
    following, accept, fresh = automaton.next, automaton.accept, automaton.fresh
    begins, dead = _begins(automaton), following[0, :-1] == DEAD
    if not dead.any() or not (begins | dead).all():
        return following, accept, fresh
    stretch = len(following)
    following = np.concatenate([following, following[:1]])
    accept = np.concatenate([accept, np.zeros_like(accept[:1])])
    fresh = np.concatenate([fresh, np.append(begins, True)[None]])
    unmatched = (following == DEAD) & fresh
    unmatched[[0, stretch]] |= following[0] == DEAD
    unmatched[:, -1] = False
    following[unmatched] = stretch
    return following, accept, fresh


def _begins(automaton: Automaton) -> Mask:
    """For each class whether a match is sure to begin with such a unit, whatever follows."""
    sure = sure_states(automaton.next, automaton.accept | automaton.fresh)
    first = automaton.next[0, :-1]
    return np.asarray((first != DEAD) & sure[first])


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
    begins = _begins(automaton)
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
