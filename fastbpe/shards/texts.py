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
    begins = True  # whether the next token is the first of a document
    for number in range(len(shards.manifest.shards)):
        tokens, ends = shards.shard(number)
        for at in range(0, max(1, len(tokens)), stretch_tokens):
            ids = tokens[at : at + stretch_tokens]
            first = np.searchsorted(ends, at, side="right" if at else "left")
            inside = ends[first : np.searchsorted(ends, at + len(ids), side="right")] - at
            starts = inside[inside < len(ids)]
            if begins and len(ids):
                starts = np.concatenate((np.zeros(1, np.int64), starts))
            keep = _keep(shards, ids, starts, inside)
            kept = ids[keep]
            before = np.concatenate((np.zeros(1, np.int64), np.cumsum(keep)))
            try:
                data = tokenizer.decode_bytes(kept)
            except DataError as error:
                file = shards.path / shards.manifest.shards[number].file
                raise DataError(f"{file}: {error}; the shards are damaged") from None
            text_ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[kept])))
            yield Stretch(data, text_ends[before[inside]])
            if len(ids):
                begins = len(inside) > 0 and int(inside[-1]) == len(ids)


def _keep(shards: TokenShards, ids: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which of the ids are text, given where documents start and end among them."""
    keep = np.ones(len(ids), bool)
    before, after = shards.manifest.marks()
    for places, mark in ((starts, before), (ends - 1, after)):
        if mark is not None:
            if len(places) and (places[0] < 0 or not np.all(ids[places] == mark)):
                raise DataError(f"{shards.path}: a document lacks its bos or eos; the shards are damaged")
            keep[places] = False
    return keep


def token_lengths(tokenizer: Tokenizer) -> np.ndarray:
    """int64 (id_limit,): bytes of every id's token."""
    model = tokenizer.model
    lengths = np.zeros(tokenizer.id_limit, np.int64)
    lengths[model.ids] = np.diff(model.starts)
    for name, id in tokenizer.special_tokens.items():
        lengths[id] = len(name.encode())
    return lengths
