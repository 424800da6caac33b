"""Rows of a fixed number of tokens that hold whole documents, in order, and are filled up with padding.

A document that does not fit into what is left of a row begins the next one. A document longer than a row begins a row
and goes on through as many as it needs, since nothing may be lost; what comes after it may share its last row.
Ends of documents are all that is kept of this: where each starts follows from the end before it (`document_starts`).
"""

import base64
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def document_starts(ends: Int64s, before: int, row: int | None) -> Int64s:
    """int64 (n,): where documents start that end at `ends`, the one before them ending at `before`.

    row: tokens in a row of packed shards, None of others. Places count from the start of a row.
    """
    previous = np.empty(len(ends), np.int64)
    if len(ends):
        previous[0], previous[1:] = before, ends[:-1]
    if row is None:
        return previous
    rows = -(-previous // row) * row
    # What ends in the row of the end before it fitted in there; all else has begun a row.
    return np.where(ends <= rows, previous, rows)


def padding_mask(starts: Int64s, ends: Int64s, at: int, n: int) -> npt.NDArray[np.bool_]:
    """bool (n,): which of n tokens from place `at` on lie in none of the documents, which are all that reach there."""
    steps = np.zeros(n + 1, np.int64)
    np.add.at(steps, np.clip(starts - at, 0, n), 1)
    np.add.at(steps, np.clip(ends - at, 0, n), -1)
    mask: npt.NDArray[np.bool_] = np.cumsum(steps[:n]) == 0
    return mask


class RowPacker:
    """Lays documents into rows of `row` tokens, as they come in order, with the id `pad` where a row is not full.

    `padding` counts the tokens of padding, `longer` the documents longer than a row. What is made does not depend on
    where the tokens are cut between two calls. `state` is what another one needs to go on from there (`restore`).
    """

    def __init__(self, row: int, pad: int) -> None:
        self.row, self.pad = row, pad
        self.padding = self.longer = 0
        self._column = 0
        self._held: npt.NDArray[Any] | None = None  # of a document that may still fit into what is left of the row
        self._inside = False  # a document longer than a row

    def take(self, tokens: npt.NDArray[Any], ends: Int64s) -> tuple[npt.NDArray[Any], Int64s]:
        """Rows, the last as far as it is known, and the ends of documents in them, for the next tokens and ends."""
        if self._held is not None:
            ends = ends + len(self._held)
            tokens = np.concatenate((self._held, tokens))
            self._held = None
        made = _Made(tokens)
        at = document = 0
        if self._inside:
            at = int(ends[0]) if len(ends) else len(tokens)
            self._give(made, 0, at)
            if len(ends):
                made.end(ends[:1])
                self._inside, document = False, 1
        while document < len(ends):
            room = self.row - self._column
            fitting = int(np.searchsorted(ends, at + room, side="right"))
            if fitting == document:
                if self._column:
                    self._fill(made)
                    continue
                self.longer += 1
                fitting = document + 1
            stop = int(ends[fitting - 1])
            made.end(ends[document:fitting])
            self._give(made, at, stop)
            at, document = stop, fitting
        if len(tokens) - at > self.row:
            self.longer += 1
            self._inside = True
            self._fill(made)
            self._give(made, at, len(tokens))
        elif len(tokens) > at:
            self._held = tokens[at:].copy()
        return made.tokens(), made.ends()

    def rest(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """What fills the last row when no document is open any more."""
        made = _Made(np.empty(0, dtype))
        self._fill(made)
        return made.tokens()

    def _give(self, made: "_Made", start: int, stop: int) -> None:
        made.copy(start, stop)
        self._column = (self._column + stop - start) % self.row

    def _fill(self, made: "_Made") -> None:
        if self._column:
            missing = self.row - self._column
            made.fill(missing, self.pad)
            self.padding += missing
            self._column = 0

    def state(self) -> "RowState":
        return RowState(self._column, self._inside, self._held, self.padding, self.longer)

    def restore(self, state: "RowState", dtype: np.dtype[Any]) -> None:
        self._column, self._inside, held, self.padding, self.longer = state
        self._held = None if held is None else held.astype(dtype)


class RowState(NamedTuple):
    """How far a RowPacker has come; nothing of it is copied before it is asked for."""

    column: int
    inside: bool
    held: npt.NDArray[Any] | None
    padding: int
    longer: int

    def as_json(self) -> dict[str, Any]:
        held = b"" if self.held is None else self.held.astype("<u4").tobytes()
        return self._asdict() | {"held": base64.b64encode(held).decode()}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Self:
        held = np.frombuffer(base64.b64decode(entry["held"]), "<u4")
        return cls(**entry | {"held": held if len(held) else None})


class _Made:
    """Stretches of the tokens that came in and of padding, one after the other, and the ends of documents there."""

    def __init__(self, tokens: npt.NDArray[Any]) -> None:
        self._tokens = tokens
        self._parts: list[npt.NDArray[Any]] = []
        self._ends: list[Int64s] = []
        self._added = 0

    def copy(self, start: int, stop: int) -> None:
        self._parts.append(self._tokens[start:stop])

    def fill(self, n: int, pad: int) -> None:
        self._parts.append(np.full(n, pad, self._tokens.dtype))
        self._added += n

    def end(self, ends: Int64s) -> None:
        self._ends.append(ends + self._added)

    def tokens(self) -> npt.NDArray[Any]:
        return np.concatenate(self._parts) if self._parts else self._tokens[:0]

    def ends(self) -> Int64s:
        return np.concatenate(self._ends) if self._ends else np.empty(0, np.int64)
