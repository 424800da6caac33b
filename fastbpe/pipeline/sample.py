"""A sample of a corpus: whole documents, chosen by their number and a seed, never more than a number of bytes.

The documents of the input are numbered from 0. Where the size of the text is known before the reading, or can be found
by reading twice (files on this machine, a list), document i is chosen when

    mix(mix(seed) + i) < 2**64 * max_bytes / size        mix: the finalizer of SplitMix64

and taken when it fits into what is left of max_bytes. Of any other source (standard input, addresses, a generator) the
documents from the front are taken, up to the first that does not fit. Threads and blocks have no part in it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbpe.corpus.blocks import Block, Place
from fastbpe.corpus.sources import Corpus, FileState
from fastbpe.errors import ParameterError
from fastbpe.pipeline.memory import byte_size
from fastbpe.pipeline.progress import Progress
from fastbpe.pipeline.room import Room

_ALL = 2**64 - 1


class Sample:
    """Chooses documents. `blocks` may be called again for what follows.

    It holds a document that lies in several blocks until all of it is known to fit.
    """

    def __init__(self, max_bytes: int, seed: int | None, size: int | None) -> None:
        if size is None and seed is not None:
            raise ParameterError(
                "sample_seed chooses among documents whose size can be found first, and this source is read once: "
                "leave it out to take the first documents, or give files"
            )
        self.max_bytes, self.seed, self.size = max_bytes, seed or 0, size
        self.whole = size is not None and size <= max_bytes
        self._limit = _ALL if size is None or self.whole else max_bytes * 2**64 // size
        self._key = np.uint64(int(_mix(np.array([self.seed & _ALL], np.uint64))[0]))
        self._taken = self._position = self._number = 0
        self.left_out = False
        """Whether any document was not taken."""
        self.over = False
        """Whether nothing more will be taken."""
        self.by_file: FileChoice | None = None
        """Where files are chosen before they are read."""
        self.room: Room | None = None
        """For documents that are held; None: memory has no bound."""
        self._held: list[Block] = []
        self._held_bytes = 0
        self._open = False  # whether the last document goes on in the next block
        self._kept = False  # whether it is held

    @property
    def expected(self) -> int | None:
        """About how many bytes will be taken."""
        return None if self.size is None else min(self.size, self.max_bytes)

    def described(self) -> dict[str, Any]:
        """What is recorded."""
        return {"max_bytes": self.max_bytes, "seed": None if self.size is None else self.seed, "of_bytes": self.size}

    @property
    def state(self) -> dict[str, Any]:
        """How far it has come, between two calls of `blocks`, as plain values; set it to go on from there."""
        state: dict[str, Any] = {"size": self.size, "taken": self._taken, "number": self._number}
        state |= {"over": self.over, "left_out": self.left_out}
        return state | ({} if self.by_file is None else {"files": self.by_file.number, "bytes": self.by_file.taken})

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._taken, self._number = state["taken"], state["number"]
        self.over, self.left_out = state["over"], state["left_out"]
        if self.by_file is not None:
            self.by_file.number, self.by_file.taken = state["files"], state["bytes"]

    def chosen(self, first: int, n: int) -> npt.NDArray[np.bool_]:
        """Which of the documents number first .. first + n - 1 are chosen."""
        if self._limit == _ALL:
            return np.ones(n, np.bool_)
        return _mix(np.arange(first, first + n, dtype=np.uint64) + self._key) < np.uint64(self._limit)

    def blocks(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks with the documents of the sample alone, positions from 0. They end with a document."""
        self._position = 0
        for block in blocks:
            if not self.over:
                yield from self._take(block)
            # Where the size is known the rest is read as ever: what is said of the sources is the same in every run.
            if self.over and self.size is None:
                return

    def _take(self, block: Block) -> Iterator[Block]:
        n, first = len(block.ends), 0
        if self._open:
            size = int(block.ends[0]) if n else len(block.data)
            self._hold(block, 0, size, n > 0)
            if not n:
                return
            if self._kept:
                self._taken += self._held_bytes
                while self._held:
                    part = self._held[0]
                    self._let_go(1)
                    yield self._placed(part)
            self._held, self._held_bytes, self._open = [], 0, False
            if self.over:
                return
            first = 1
        numbers = n - first + block.open
        chosen = self.chosen(self._number, numbers) if self.by_file is None else np.ones(numbers, np.bool_)
        self._number += numbers
        starts = np.concatenate((np.zeros(1, np.int64), block.ends))
        kept = self._fitting(np.flatnonzero(chosen[: n - first]) + first, np.diff(starts))
        if len(kept):
            yield self._placed(documents(block, kept))
        if block.open and not self.over:
            self._open, self._kept = True, bool(chosen[-1])
            self._hold(block, n, len(block.data) - int(starts[-1]), False)

    def _fitting(self, chosen: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those of the chosen documents that fit, in their order."""
        if self._taken + int(sizes[chosen].sum()) < self.max_bytes:
            self._taken += int(sizes[chosen].sum())
            return chosen
        kept = []
        for document in chosen.tolist():
            if self.over:
                break
            if self._fits(int(sizes[document])):
                self._taken += int(sizes[document])
                kept.append(document)
                self.over = self._full(self._taken)
        return np.array(kept, np.int64)

    def _fits(self, size: int) -> bool:
        fits = self._taken + size <= self.max_bytes
        self.left_out |= not fits
        # What is read once is not read in vain.
        self.over = self.over or (not fits and self.size is None)
        return fits

    def _hold(self, block: Block, document: int, size: int, ends: bool) -> None:
        """A part of a document that began before or goes on, until it is known whether all of it fits."""
        if not self._kept:
            return
        self._held_bytes += size
        if not self._fits(self._held_bytes):
            self._kept = False
            self._let_go(len(self._held))
            return
        part = documents(block, np.array([document]))
        if self.room is not None:
            begins = self._held[0] if self._held else part
            self.room.take(size, lambda: begins.address_at(0))
        self._held.append(part)
        self.over = ends and self._full(self._taken + self._held_bytes)

    def _let_go(self, n: int) -> None:
        """Forgets the first parts that are held."""
        if self.room is not None:
            self.room.give_back(sum(len(part.data) for part in self._held[:n]))
        del self._held[:n]

    def _full(self, taken: int) -> bool:
        return taken == self.max_bytes and not self.whole

    def _placed(self, block: Block) -> Block:
        block.position = self._position
        self._position += len(block.data)
        return block


class FileChoice:
    """Which files are read, when each is one document."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.number = self.taken = 0

    def __call__(self, state: FileState) -> bool:
        sample = self._sample
        number, self.number = self.number, self.number + 1
        takes = bool(sample.chosen(number, 1)[0]) and self.taken + state.size <= sample.max_bytes
        self.taken += state.size * takes
        sample.left_out |= not takes
        return takes


def documents(block: Block, kept: npt.NDArray[np.int64]) -> Block:
    """A block of some documents of a block, ascending; document len(ends) is the one that goes on after it."""
    n = len(block.ends)
    if len(kept) == n + block.open and len(kept):
        return Block(block.data, block.ends, block.position, block.places)
    starts = np.concatenate((np.zeros(1, np.int64), block.ends))
    sizes = np.diff(np.append(starts, len(block.data)) if block.open else starts)
    if len(kept) and int(kept[-1]) - int(kept[0]) == len(kept) - 1:
        start = int(starts[kept[0]])
        data = block.data[start : start + int(sizes[kept].sum())]
    else:
        mask = np.zeros(len(sizes), np.bool_)
        mask[kept] = True
        data = block.data[: int(sizes.sum())][np.repeat(mask, sizes)]
    return Block(data, np.cumsum(sizes[kept[kept < n]]), block.position, list(_places(block, kept)))


def _places(block: Block, kept: npt.NDArray[np.int64]) -> Iterator[Place]:
    covered = first = 0
    for place in block.places:
        stop = place.first + len(place.starts)
        inside = kept[(kept >= max(covered, place.first)) & (kept < stop)] - place.first
        covered = max(covered, stop)
        if len(inside):
            numbers = place.number + inside if place.numbers is None else place.numbers[inside]
            yield Place(first, place.source, 0, place.starts[inside], numbers, place.noun)
            first += len(inside)


def sample_of(
    corpus: Corpus,
    max_bytes: str | int | None,
    seed: int | None,
    shown: Progress,
    measured: dict[str, Any] | None = None,
) -> Sample | None:
    """The sample that parameters ask for; reads the corpus where that is the way to find the size of its text.

    Where each file is a document, the corpus will not open what was not chosen. measured: the state of the same sample
    in a run before, which knows the size.
    """
    if max_bytes is None:
        if seed is not None:
            raise ParameterError("sample_seed is that of a sample: give max_bytes, too")
        return None
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError(f"sample_seed={seed!r}: give a whole number from 0 on")
    size = byte_size(max_bytes, "max_bytes")
    survey = corpus.survey()
    if survey is not None and survey.plain and not corpus.options.plain:
        sample = Sample(size, seed, survey.bytes)
        corpus.choose = sample.by_file = FileChoice(sample)
        return sample
    if survey is not None and survey.plain:
        return Sample(size, seed, survey.bytes)
    if measured is not None:
        return Sample(size, seed, measured["size"])
    again = corpus.again()
    if again is None:
        corpus.read_ahead = False  # what was read to take the sample is recorded
        return Sample(size, seed, None)
    shown.phase("measure")
    text_bytes = 0
    for block in again.blocks():
        text_bytes += len(block.data)
        shown.advance(len(block.data))
    shown.finish()
    return Sample(size, seed, text_bytes)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64, after its step."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
