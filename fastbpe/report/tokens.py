"""The tokens themselves: a table of the whole vocabulary, and excerpts token by token."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbpe.report.measured import Measured
from fastbpe.report.vocabulary import FRAGMENT, KINDS
from fastbpe.specials import Names

LISTED_BYTES = 200
"""Of a longer token the beginning is shown."""


def table(one: Measured) -> dict[str, list[Any]]:
    """Columns over all tokens, ids ascending. bytes: a text where the token is UTF-8, else its bytes in hex as
    {"hex": ...}; count: in all texts; kind: a number in `kinds`; left, right: ids of what a merge joined, or None."""
    vocabulary = one.vocabulary
    ids = vocabulary.ids.tolist()
    left: list[int | None] = [None] * len(ids)
    right: list[int | None] = [None] * len(ids)
    for left_row, right_row, row in vocabulary.merges.tolist():
        left[row], right[row] = ids[left_row], ids[right_row]
    return {
        "id": ids,
        "bytes": [
            _hex(token) if kind == FRAGMENT else token[:LISTED_BYTES].decode("utf-8", "ignore")
            for token, kind in zip(vocabulary.tokens, vocabulary.kinds.tolist(), strict=True)
        ],
        "length": vocabulary.lengths.tolist(),
        "count": one.counts.tolist(),
        "kind": vocabulary.kinds.tolist(),
        "rank": [None if rank < 0 else rank for rank in vocabulary.ranks.tolist()],
        "left": left,
        "right": right,
        "script": vocabulary.groups,
    }


def samples(
    tokenizers: Sequence[Measured], excerpts: Sequence[Sequence[bytes]], allowed: Sequence[Names]
) -> list[dict[str, Any]]:
    """For each tokenizer the ids of each excerpt of each source, an excerpt being a document of its own, and what there
    is to say of the tokens in them. allowed: the special tokens that each recognises."""
    found = []
    for one, specials in zip(tokenizers, allowed, strict=True):
        sources = []
        for texts in excerpts:
            ids, offsets = one.tokenizer.encode_batch_to_numpy(list(texts), allowed_special=specials)
            ends = offsets.tolist()
            sources.append([ids[start:stop].tolist() for start, stop in zip(ends, ends[1:], strict=False)])
        flat = [id for source in sources for excerpt in source for id in excerpt]
        found.append({"sources": sources, "tokens": _details(one, np.unique(np.array(flat, np.int64)))})
    return found


def _details(one: Measured, ids: np.ndarray) -> dict[str, dict[str, Any]]:
    vocabulary, counts = one.vocabulary, one.counts
    parts = {row: (left, right) for left, right, row in vocabulary.merges.tolist()}
    found = {}
    for id, row in zip(ids.tolist(), vocabulary.rows(ids).tolist(), strict=True):
        left_right = parts.get(row)
        found[str(id)] = {
            "hex": vocabulary.tokens[row].hex(),
            "count": int(counts[row]),
            "kind": KINDS[vocabulary.kinds[row]],
            "script": vocabulary.groups[row],
            "rank": None if vocabulary.ranks[row] < 0 else int(vocabulary.ranks[row]),
            "parts": None if left_right is None else [int(vocabulary.ids[part]) for part in left_right],
            "part_bytes": None if left_right is None else [vocabulary.tokens[part].hex() for part in left_right],
        }
    return found


def _hex(token: bytes) -> dict[str, str]:
    return {"hex": token[:LISTED_BYTES].hex()}
