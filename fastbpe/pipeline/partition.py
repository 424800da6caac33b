"""Deals documents to the splits val and train, by what is in them: the same document always goes the same way."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from fastbpe.corpus.blocks import Block, Place

HASHED_BYTES = 1 << 16
"""A document's hash is that of its first bytes, so that a long one need not be held until its end."""

VAL, TRAIN = 0, 1
Dealt = tuple[Block | None, Block | None]


def deal(start_of_document: bytes, fraction: float) -> int:
    """VAL for a `fraction` of all documents, given the first HASHED_BYTES of one."""
    value = int.from_bytes(blake2b(start_of_document, digest_size=8).digest(), "big")
    return VAL if value < fraction * 2**64 else TRAIN


def partitioned(blocks: Iterator[Block], fraction: float) -> Iterator[Dealt]:
    """For each block that of its documents which go to val, and that of those for train; None where there are none."""
    positions = [0, 0]
    for block, choices in _chosen(blocks, fraction):
        both = []
        for split in (VAL, TRAIN):
            part = _select(block, choices == split, positions[split])
            positions[split] += 0 if part is None else len(part.data)
            both.append(part)
        yield both[0], both[1]


def _chosen(blocks: Iterator[Block], fraction: float) -> Iterator[tuple[Block, npt.NDArray[np.int8]]]:
    """Blocks with the split of each of their documents, the open one included."""
    held: list[tuple[Block, npt.NDArray[np.int8]]] = []  # blocks whose last document is not yet known
    head = bytearray()  # what is known of it
    going_on: int | None = None  # split of the document that goes on, once it is known
    is_open = False
    for block in blocks:
        bounds = np.concatenate((np.zeros(1, np.int64), block.ends)).tolist()
        if block.open:
            bounds.append(len(block.data))
        choices = np.full(len(bounds) - 1, TRAIN, np.int8)
        for i, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
            ended = i < len(block.ends)
            if i == 0 and is_open:
                if going_on is None:
                    head += block.data[start : min(stop, start + HASHED_BYTES - len(head))].tobytes()
                    if ended or len(head) == HASHED_BYTES:
                        going_on = deal(bytes(head), fraction)
                        for _, waiting in held:
                            waiting[-1] = going_on
                        yield from held
                        held.clear()
                choice = going_on
            else:
                head = bytearray(block.data[start : min(stop, start + HASHED_BYTES)].tobytes())
                choice = deal(bytes(head), fraction) if ended or len(head) == HASHED_BYTES else None
            choices[i] = TRAIN if choice is None else choice
            is_open, going_on = not ended, choice
        if is_open and going_on is None:
            held.append((block, choices))
        else:
            yield block, choices
    assert not held, "a reader ends every document that it begins"


def _select(block: Block, mask: npt.NDArray[np.bool_], position: int) -> Block | None:
    """The block of the documents under the mask."""
    if mask.all():
        return replace(block, position=position) if len(mask) else None
    if not mask.any():
        return None
    bounds = np.concatenate((np.zeros(1, np.int64), block.ends))
    if block.open:
        bounds = np.append(bounds, len(block.data))
    lengths = np.diff(bounds)[mask]
    n_ends = int(mask[: len(block.ends)].sum())
    # Runs of documents that stand together are copied together.
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    parts = [block.data[bounds[a] : bounds[b]] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    numbers = np.cumsum(mask) - 1
    places = []
    for place in block.places:
        # A place may name a document of which no byte is here yet.
        documents = np.arange(place.first, min(place.first + len(place.starts), len(mask)))
        chosen = mask[documents] if len(documents) else np.zeros(0, bool)
        if chosen.any():
            own = place.number + np.arange(len(documents)) if place.numbers is None else place.numbers
            first = int(numbers[documents[chosen][0]])
            starts, own = place.starts[: len(chosen)][chosen], own[: len(chosen)][chosen]
            places.append(Place(first, place.source, place.number, starts, own, place.noun))
    return Block(np.concatenate(parts), np.cumsum(lengths)[:n_ends], position, places)
