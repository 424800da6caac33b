"""From tokens back to the text of documents, a stretch at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fastbpe.errors import DataError
from fastbpe.shards.reader import TokenShards
from fastbpe.tokenizer import Tokenizer

STRETCH_TOKENS = 1 << 18


class Stretch(NamedTuple):
    """Bytes of documents one after the other, and int64 ends of those that end here; the last may go on in the next."""

    data: bytes
    ends: np.ndarray


def read_texts(shards: TokenShards, stretch_tokens: int = STRETCH_TOKENS) -> Iterator[Stretch]:
    """The text of all documents, without the bos and eos that encoding added.

    Raises DataError where those are missing or an id is unknown.
    """
    tokenizer = shards.tokenizer
    lengths = token_lengths(tokenizer)
    for number in range(len(shards.manifest.shards)):
        tokens, _ = shards.shard(number)
        for at in range(0, max(1, len(tokens)), stretch_tokens):
            ids = tokens[at : at + stretch_tokens]
            starts, ends = (places - at for places in shards.extents(number, at, at + len(ids)))
            inside = ends[ends <= len(ids)]
            keep = np.ones(len(ids), bool) if shards.manifest.pack is None else ~shards.padding(number, at, ids)
            _unmark(shards, ids, starts[(starts >= 0) & (starts < len(ids))], inside, keep)
            kept = ids[keep]
            before = np.concatenate((np.zeros(1, np.int64), np.cumsum(keep)))
            try:
                data = tokenizer.decode_bytes(kept)
            except DataError as error:
                file = shards.path / shards.manifest.shards[number].file
                raise DataError(f"{file}: {error}; the shards are damaged") from None
            text_ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[kept])))
            yield Stretch(data, text_ends[before[inside]])


def _unmark(shards: TokenShards, ids: np.ndarray, starts: np.ndarray, ends: np.ndarray, keep: np.ndarray) -> None:
    """Takes bos and eos out of what is kept of the ids, given where documents start and end among them."""
    before, after = shards.manifest.marks()
    for places, mark in ((starts, before), (ends - 1, after)):
        if mark is not None:
            if len(places) and (places[0] < 0 or not np.all(ids[places] == mark)):
                raise DataError(f"{shards.path}: a document lacks its bos or eos; the shards are damaged")
            keep[places] = False


def token_lengths(tokenizer: Tokenizer) -> np.ndarray:
    """int64 (id_limit,): bytes of every id's token."""
    model = tokenizer.model
    lengths = np.zeros(tokenizer.id_limit, np.int64)
    lengths[model.ids] = np.diff(model.starts)
    for name, id in tokenizer.special_tokens.items():
        lengths[id] = len(name.encode())
    return lengths
