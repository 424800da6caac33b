"""A vocabulary in rows, and what its tokens are: whole characters or parts of them, of which script, how built."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fastbpe.model import CHARACTERS
from fastbpe.report.characters import (
    INVALID_GROUP,
    UNASSIGNED_GROUP,
    code_points,
    group_names,
    group_of,
    is_punctuation,
)
from fastbpe.tokenizer import Tokenizer

WHOLE, SEVERAL, FRAGMENT, SPECIAL = range(4)
KINDS = ("whole characters", "several characters", "fragments", "special tokens")
UNCERTAIN = "of several scripts"
NO_CHARACTER = "bytes of any character"

_SHARED = {"spaces", "digits", "punctuation", "symbols", "other shared", "combining marks", UNASSIGNED_GROUP}


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer's tokens, ids ascending; a token's number here is its row. Made by `vocabulary_of`."""

    ids: NDArray[np.int64]
    tokens: list[bytes]
    special: NDArray[np.bool_]
    merges: NDArray[np.int64]
    """(n, 3): rows of left, right and product, lowest rank first."""
    counts: NDArray[np.int64] | None = None
    """What each merge's pair counted when it was learned, times `denominator`."""
    denominator: int = 1

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (rows,): bytes of each token."""
        return np.array([len(token) for token in self.tokens], np.int64)

    def rows(self, ids: NDArray[np.integer]) -> NDArray[np.int64]:
        """Rows of ids that are in the vocabulary."""
        if len(self.ids) and self.ids[-1] == len(self.ids) - 1:
            return ids.astype(np.int64)
        return np.searchsorted(self.ids, ids)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """uint8 (rows,): which of KINDS each token is."""
        kinds = np.fromiter(map(_kind, self.tokens), np.uint8, len(self))
        kinds[self.special] = SPECIAL
        return kinds

    @cached_property
    def groups(self) -> list[str]:
        """The script of each token, by its first character of one; "" for special tokens."""
        return ["" if special else group(token) for token, special in zip(self.tokens, self.special, strict=True)]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """int64 (rows,): the rank of the merge that builds each token, the last one if several do; -1: none does."""
        ranks = np.full(len(self), -1, np.int64)
        ranks[self.merges[:, 2]] = np.arange(len(self.merges))
        return ranks

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """bool (rows,): tokens that are one punctuation character and nothing else."""
        found = np.zeros(len(self), np.bool_)
        for row in np.flatnonzero(self.kinds == WHOLE).tolist():
            found[row] = is_punctuation()[ord(self.tokens[row].decode())]
        return found


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """The vocabulary of a tokenizer, its special tokens included."""
    model = tokenizer.model
    entries = [(id, token, False) for id, token in zip(model.ids.tolist(), model.tokens, strict=True)]
    entries += [(id, name.encode(), True) for name, id in model.special_tokens.items()]
    entries.sort(key=lambda entry: entry[0])
    ids = np.array([id for id, _, _ in entries], np.int64)
    return Vocabulary(
        ids,
        [token for _, token, _ in entries],
        np.array([special for _, _, special in entries], np.bool_),
        np.searchsorted(ids, model.last_merges).reshape(-1, 3),
        model.counts,
        model.denominator,
    )


def unbuildable(tokenizer: Tokenizer) -> list[int]:
    """Ids of the tokens that no merge can build: merging their own bytes gives something else. Ascending.

    Such a token is found only where a chunk that is a token is taken whole, or never.
    """
    model = tokenizer.model
    if model.priority == CHARACTERS:
        return []  # none is built, each is taken as it is
    by_merging = Tokenizer(replace(model, whole_chunk_first=False))
    ids, offsets = by_merging.encode_chunks(model.data, model.starts)
    alone = np.diff(offsets) == 1
    alone[alone] = ids[offsets[:-1][alone]] == model.ids[alone]
    return model.ids[~alone].tolist()


def group(token: bytes) -> str:
    """The script of a token: of its first character that has one of its own, else of its first character.

    Of a fragment the whole characters count; one without any has the script that all characters which begin or end so
    share, UNCERTAIN when they share none, NO_CHARACTER when any character may.
    """
    points = code_points(token)
    names = [group_names()[number] for number in group_of()[points].tolist()]
    for name in names:
        if name != INVALID_GROUP and name not in _SHARED:
            return name
    if INVALID_GROUP in names:
        for at, name in enumerate(names):
            if name == INVALID_GROUP and (found := _begun(bytes(points[at:].astype(np.uint8)))):
                return found
        return next((name for name in names if name != INVALID_GROUP), NO_CHARACTER)
    return names[0] if names else ""


def shares(vocabulary: Vocabulary, weights: NDArray[np.integer] | None = None) -> dict[str, int]:
    """How many tokens are of each kind; with weights (rows,) their sum."""
    totals = np.bincount(vocabulary.kinds, weights, minlength=len(KINDS))
    return {name: int(total) for name, total in zip(KINDS, totals.tolist(), strict=True)}


def scripts(vocabulary: Vocabulary) -> dict[str, dict[str, int]]:
    """How many tokens of each script are whole characters, several, fragments; the script with most tokens first."""
    found: dict[str, dict[str, int]] = {}
    for name, kind in zip(vocabulary.groups, vocabulary.kinds.tolist(), strict=True):
        if kind != SPECIAL:
            row = found.setdefault(name, dict.fromkeys(KINDS[:SPECIAL], 0))
            row[KINDS[kind]] += 1
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0])))


def length_histogram(vocabulary: Vocabulary, weights: NDArray[np.integer] | None = None) -> dict[int, int]:
    """How many ordinary tokens have each length in bytes, ascending; with weights (rows,) their sum."""
    ordinary = ~vocabulary.special
    chosen = None if weights is None else weights[ordinary]
    totals = np.bincount(vocabulary.lengths[ordinary], chosen).astype(np.int64).tolist()
    return {length: total for length, total in enumerate(totals) if total}


def _kind(token: bytes) -> int:
    try:
        return WHOLE if len(token.decode()) == 1 else SEVERAL
    except UnicodeDecodeError:
        return FRAGMENT


def _begun(fragment: bytes) -> str:
    """The script of the characters that begin with a fragment's first bytes; "" when it begins none."""
    lead = fragment[0]
    length = 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 0
    if not length:
        return ""
    given = [byte for byte in fragment[1:length] if 0x80 <= byte <= 0xBF]
    point = lead & (0x7F >> length)
    for byte in given:
        point = point << 6 | byte & 0x3F
    free = 6 * (length - 1 - len(given))
    numbers = np.unique(group_of()[point << free : min((point + 1) << free, len(group_of()))])
    named = [group_names()[number] for number in numbers.tolist() if group_names()[number] != UNASSIGNED_GROUP]
    own = [name for name in named if name not in _SHARED and name != INVALID_GROUP] or named
    return own[0] if len(own) == 1 else UNCERTAIN if own else ""
