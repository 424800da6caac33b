"""The documents of a corpus in the order and the splits in which they are encoded, and later compared."""

from collections.abc import Iterator

from fastbpe.corpus.blocks import Block
from fastbpe.corpus.sources import Corpus
from fastbpe.pipeline.invalid import InvalidBytes, replaced
from fastbpe.pipeline.partition import partitioned
from fastbpe.pipeline.shuffle import shuffled


def documents_of(
    corpus: Corpus,
    block_bytes: int,
    errors: str = "keep",
    shuffle: int | None = None,
    val_fraction: float = 0.0,
    found: InvalidBytes | None = None,
) -> Iterator[tuple[Block | None, ...]]:
    """Blocks, one for each split: (val, train) with a `val_fraction`, else one alone. None: nothing of that split.

    `found` takes what errors="replace" replaces.
    """
    blocks = corpus.blocks(block_bytes)
    if errors == "replace":
        blocks = replaced(blocks, InvalidBytes() if found is None else found)
    if shuffle is not None:
        blocks = shuffled(blocks, shuffle, block_bytes)
    if val_fraction:
        return partitioned(blocks, val_fraction)
    return ((block,) for block in blocks)
