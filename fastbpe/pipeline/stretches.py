"""Stretches: what one kernel call works on, cut from blocks so that no chunk and no special token is cut.

Most of a block becomes a stretch as it lies there. Of the document that goes on in the next block only the bytes after
the last safe place are copied; with the first bytes of the next block, up to a safe place there, they become a small
stretch of their own. A document without a safe place (one long run of a letter, or no pattern and no special token) is
gathered whole.

What is counted or encoded does not depend on where the cuts fall. Documents that are gathered get no more memory
than a `Room` has, where there is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fastbpe.corpus.blocks import BLOCK_BYTES, Address, Block
from fastbpe.cuts import Cuts, Cutter
from fastbpe.kernels.special import SpecialTrie, make_spans
from fastbpe.normalizing import normalize_spans
from fastbpe.pipeline.room import Room

HEAD_BYTES = 4096
"""How many bytes of a block are moved to a tail at first; four times as many each time that they hold no safe place."""
LONG = BLOCK_BYTES
"""A tail of more bytes needs room; shorter ones are what blocks leave."""

Int64s = npt.NDArray[np.int64]


@dataclass(slots=True)
class Stretch:
    """Documents, or parts of them, in one buffer.

    data: uint8; the text is data[:stop], what follows is there for the pattern to look ahead. ends: int64, ends of the
    documents that end here; text after the last of them belongs to one that goes on. spans: int64 (n, 4), see
    `make_spans`. document_spans: for each of the ends, how many spans lie before it. position: offset of data[0] in the
    bytes of all documents together. `done` is to be called when the text is not needed any more.
    """

    data: npt.NDArray[np.uint8]
    stop: int
    position: int
    ends: Int64s
    spans: Int64s
    document_spans: Int64s
    origin: tuple[Block, ...]
    room: Room | None = None
    taken: int = 0

    def done(self) -> None:
        """Gives back the room that the stretch took."""
        if self.room is not None:
            self.room.give_back(self.taken, lent=True)
            self.room = None

    @property
    def source(self) -> str:
        """Name of the source that the text begins in."""
        return self.origin[0].places[0].source

    def normalized(self, form: str | None) -> tuple[npt.NDArray[np.uint8], Int64s]:
        """The data with the text between special tokens in NFC or NFKC, and its spans."""
        if form is None or int(self.data.max(initial=0)) < 128:
            return self.data, self.spans
        data, spans = normalize_spans(self.data.tobytes(), self.spans, form)
        return np.frombuffer(data, np.uint8), spans

    def address(self, offset: int) -> Address:
        """Where data[offset] comes from."""
        position = self.position + offset
        block = next(block for block in reversed(self.origin) if block.position <= position)
        return block.address_at(position - block.position)


def stretches(
    blocks: Iterable[Block],
    splitter: Cutter,
    trie: SpecialTrie | None = None,
    bos: int = -1,
    eos: int = -1,
    uncut: SpecialTrie | None = None,
    normalizer: str | None = None,
    room: Room | None = None,
) -> Iterator[Stretch]:
    """Stretches of the blocks, in order. `bos` and `eos` are ids to put around each document, -1 for none.

    No stretch ends inside a token of `uncut`, or of `trie` without it; those of `trie` are cut out of the text. With a
    normalizer, NFC or NFKC, none ends where normalization joins characters. room: for texts that cannot be cut; None:
    memory has no bound. Raises MemoryBoundError when one needs more.
    """
    packer = StretchPacker(splitter, trie, bos, eos, uncut or trie, normalizer, room)
    for block in blocks:
        yield from packer.take(block)
    yield from packer.rest()


class StretchPacker:
    """Between two blocks: `tail`, the bytes of an open document that no stretch has; whether one has its beginning."""

    def __init__(
        self,
        splitter: Cutter,
        trie: SpecialTrie | None,
        bos: int,
        eos: int,
        uncut: SpecialTrie | None,
        normalizer: str | None = None,
        room: Room | None = None,
    ) -> None:
        self.trie, self.bos, self.eos = trie, bos, eos
        self.cuts = Cuts(splitter, uncut, normalizer, apart=uncut is trie)
        self.tail = bytearray()
        self.tail_position = 0
        self.room = room
        self.taken = 0
        self.begun = False
        self.origin: list[Block] = []

    def take(self, block: Block) -> Iterator[Stretch]:
        # The places alone are needed for addresses; no view of the bytes, which would keep them.
        places = replace(block, data=np.empty(0, np.uint8))
        start, ends = 0, block.ends
        if self.tail:
            self.origin.append(places)
            stretch, start = self._seam(block)
            if stretch is not None:
                yield stretch
                ends = ends[len(stretch.ends) :]
        data, ends = block.data[start:], ends - start
        last = int(ends[-1]) if len(ends) else 0
        stop = last
        if len(data) > last:
            cut = self.cuts.last(data, last, len(data), last)
            stop = cut if cut > 0 else last
        if stop or len(ends):
            yield self._stretch(data, stop, block.position + start, ends, (places,))
        if len(data) > stop:
            if not self.tail:
                self.tail_position = block.position + start + stop
                self.origin = [places]
            self.tail.extend(data[stop:])

    def rest(self) -> Iterator[Stretch]:
        """A document that is open when the blocks end, ends there."""
        if self.tail:
            yield self._tail_stretch(len(self.tail), [len(self.tail)])

    def _take_room(self, size: int) -> None:
        """Before the tail grows to so many bytes."""
        if self.room is None or size <= LONG:
            return
        more = size * self.room.copies - self.taken
        begins = self.origin[0]
        self.room.take(more, lambda: begins.address_at(self.tail_position - begins.position))
        self.taken += more

    def _seam(self, block: Block) -> tuple[Stretch | None, int]:
        """Moves bytes of the block to the tail until a document's end or a safe place; (the stretch, bytes moved)."""
        before = len(self.tail)
        end = int(block.ends[0]) if len(block.ends) else None
        moved, reach = 0, HEAD_BYTES
        while True:
            look = min(reach, len(block.data) if end is None else end)
            self._take_room(before + look)
            self.tail.extend(block.data[moved:look])
            if look == end:
                return self._tail_stretch(len(self.tail), [len(self.tail)]), look
            # What lies further back was searched with the block before.
            lowest = max(0, before + moved - self.cuts.reach)
            cut = self.cuts.last(self.tail, lowest, len(self.tail), 0)
            if cut >= before:
                return self._tail_stretch(cut, []), cut - before
            moved = look
            if look == len(block.data):
                return None, look
            reach *= 4

    def _tail_stretch(self, stop: int, ends: list[int]) -> Stretch:
        data = np.frombuffer(self.tail, np.uint8)
        self.tail = bytearray()  # the old one is the stretch's now
        stretch = self._stretch(data, stop, self.tail_position, np.array(ends, np.int64), tuple(self.origin))
        self.origin = []
        if self.room is not None and self.taken:
            self.room.lend(self.taken)
            stretch.room, stretch.taken, self.taken = self.room, self.taken, 0
        return stretch

    def _stretch(
        self, data: npt.NDArray[np.uint8], stop: int, position: int, ends: Int64s, origin: tuple[Block, ...]
    ) -> Stretch:
        """The stretch of data[:stop]; from here on its last document, unless it ends at an end, is begun."""
        starts = np.concatenate((np.zeros(1, np.int64), ends))
        stops = ends
        last = int(starts[-1])
        if stop > last:
            stops = np.append(ends, stop)
        else:
            starts = starts[:-1]
        parts = []
        # Only a document that begins here gets bos, only one that ends here gets eos.
        first_whole, end_whole = int(self.begun), len(ends)
        if self.begun:
            parts.append(self._spans(data, starts[:1], stops[:1], -1, self.eos if len(ends) else -1))
        if end_whole > first_whole:
            whole = slice(first_whole, end_whole)
            parts.append(self._spans(data, starts[whole], stops[whole], self.bos, self.eos))
        if stop > last and not (self.begun and not len(ends)):
            parts.append(self._spans(data, starts[-1:], stops[-1:], self.bos, -1))
        spans = np.concatenate([part[0] for part in parts])
        counts = np.cumsum(np.concatenate([np.diff(part[1]) for part in parts]))[: len(ends)]
        if stop > last:
            if len(spans) and spans[-1, 3] < 0 and spans[-1, 1] == stop:
                spans[-1, 2] = len(data)
            self.begun = True
        elif len(ends):
            self.begun = False
        return Stretch(data, stop, position, ends, spans, counts, origin)

    def _spans(
        self, data: npt.NDArray[np.uint8], starts: Int64s, stops: Int64s, bos: int, eos: int
    ) -> tuple[Int64s, Int64s]:
        return make_spans(data, np.ascontiguousarray(starts), np.ascontiguousarray(stops), self.trie, bos, eos)
