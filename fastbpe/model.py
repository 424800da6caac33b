"""The data of a tokenizer: tokens, merges, special tokens, roles, pattern. Arrays and plain values, checked as a whole.

Everything that encodes, decodes, saves or exports reads a Model; nothing in it is derived from something else in it
but the bytes of merged tokens, which are checked. Ids are stored, never inferred.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import DataError, ParameterError, check_choice
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.kernels.special import MAX_SPECIAL_BYTES
from fastbpe.kernels.tokens import first_wrong_merge, tokens_of_merges
from fastbpe.lastpairs import last_halves
from fastbpe.normalizing import NORMALIZERS
from fastbpe.pattern.named import name_of
from fastbpe.text import utf8

ROLES = ("bos", "eos", "pad")
PLACEMENTS = ("last", "first")
CHARACTERS = "characters"
PRIORITIES = ("merge list", "rank table", CHARACTERS)
CHARACTER_PATTERN = "(?s:.)"
"""The pattern of a character tokenizer: each character is a chunk."""


@dataclass(frozen=True, eq=False)
class Model:
    """Immutable; the arrays are made read-only. Raises DataError, naming the place, when the parts contradict."""

    ids: NDArray[np.uint32]
    """Ids of the ordinary tokens, ascending."""
    data: NDArray[np.uint8]
    """Their bytes, one token after the other."""
    starts: NDArray[np.int64]
    """Where each token's bytes start in data, and the length of data."""
    merges: NDArray[np.int64]
    """(n, 3): ids of left, right and product, in the order of their ranks. Empty for a rank table, whose tokens and
    ids say it all."""
    counts: NDArray[np.int64] | None = None
    """What each merge's pair counted when it was learned, times `denominator`; None when not known."""
    special_tokens: dict[str, int] = field(default_factory=dict)
    """Ids of the special tokens by name, ascending."""
    roles: dict[str, str] = field(default_factory=dict)
    """Names of the special tokens that are bos, eos, pad, as far as they are named."""
    kept_tokens: tuple[str, ...] = ()
    """Names of the special tokens that decoding keeps when it skips special tokens: other programs' files have added
    tokens that are text, as <think>."""
    pattern: str | tuple[str, ...] | None = None
    """The split pattern's text, or several that split in a row; None: a document is one chunk."""
    unmatched: str = "refuse"
    priority: str = "merge list"
    """"merge list": the pair of the lowest rank merges first; "rank table": two tokens may merge when their joined
    bytes are a token, the one with the lowest id first; then the leftmost. "characters": each token is a character, and
    none merge."""
    whole_chunk_first: bool = False
    """A chunk that is a token is that token, even if no merges build it."""
    normalizer: str | None = None
    """NFC, NFKC or None: applied to the text between special tokens."""
    record: dict[str, Any] | None = None
    """What training wrote down; plain JSON values."""

    def __post_init__(self) -> None:
        specials = dict(sorted(self.special_tokens.items(), key=lambda item: item[1]))
        object.__setattr__(self, "special_tokens", specials)
        object.__setattr__(self, "kept_tokens", tuple(sorted(set(self.kept_tokens))))
        object.__setattr__(self, "roles", {role: self.roles[role] for role in ROLES if self.roles.get(role)})
        self._freeze()
        self._check_kind()
        self._check_pairs()  # first: a repeated pair would show as a token with two ids
        self._check_tokens()
        self._check_merges()
        self._check_special_tokens()

    def _freeze(self) -> None:
        for name in ("ids", "data", "starts", "merges", "counts"):
            array = getattr(self, name)
            if array is not None:
                array.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    # What is derived

    @cached_property
    def tokens(self) -> list[bytes]:
        """Bytes of the ordinary tokens, in the order of their ids."""
        data, starts = self.data.tobytes(), self.starts.tolist()
        return [data[start:stop] for start, stop in zip(starts, starts[1:], strict=False)]

    @cached_property
    def token_ids(self) -> dict[bytes, int]:
        """Id of each ordinary token by its bytes."""
        return dict(zip(self.tokens, self.ids.tolist(), strict=True))

    @cached_property
    def byte_ids(self) -> NDArray[np.uint32]:
        """Ids of the 256 bytes. Raises ParameterError for a character tokenizer, which has none of them."""
        if self.priority == CHARACTERS:
            raise ParameterError("a character tokenizer has no tokens for bytes: this needs a byte-level one")
        return np.array([self.token_ids[bytes([byte])] for byte in range(256)], np.uint32)

    @property
    def pattern_name(self) -> str | None:
        """The name of the pattern, if it has one."""
        return name_of(self.pattern)

    @property
    def denominator(self) -> int:
        """The common denominator of the weights that the text had; 1 without weights."""
        value = (self.record or {}).get("denominator", 1)
        return value if type(value) is int and value > 0 else 1

    @property
    def vocab_size(self) -> int:
        return len(self.ids) + len(self.special_tokens)

    @cached_property
    def id_limit(self) -> int:
        return 1 + max(int(self.ids[-1]), *self.special_tokens.values(), 0)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all that encoding and decoding depend on: not of counts, names of patterns, or record."""
        head: dict[str, Any] = {
            "priority": self.priority,
            "whole_chunk_first": self.whole_chunk_first,
            "normalizer": self.normalizer,
            "pattern": self.pattern,
            "unmatched": self.unmatched,
            "special_tokens": self.special_tokens,
            "roles": self.roles,
        }
        if self.kept_tokens:  # without them it stays what it was before there were any
            head["kept_tokens"] = self.kept_tokens
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for array in (self.ids.astype("<u4"), self.starts.astype("<i8"), self.data, self.merges.astype("<i8")):
            digest.update(len(array).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @cached_property
    def last_merges(self) -> NDArray[np.int64]:
        """(n, 3): ids of left, right and product of the merge that builds each token, lowest rank first.

        The merges of a merge list; of a rank table, those that its bytes lead to (a token that none builds has no row).
        """
        if self.priority != "rank table":
            return self.merges
        halves = last_halves(self.byte_ids, self.tokens, self.data, self.starts, self.ids)
        built = halves[:, 0] >= 0
        return np.column_stack((halves[built], self.ids[built].astype(np.int64)))

    @cached_property
    def special_placement(self) -> str | None:
        """ "last" or "first" when the ids are 0 .. vocab_size - 1 in that layout, bytes in order, else None."""
        if self.priority == CHARACTERS:
            return None
        n, n_special = len(self.ids), len(self.special_tokens)
        special_ids = list(self.special_tokens.values())
        for placement, base, special_base in (("last", 0, n), ("first", n_special, 0)):
            if (
                special_ids == list(range(special_base, special_base + n_special))
                and np.array_equal(self.ids, np.arange(base, base + n))
                and np.array_equal(self.byte_ids, np.arange(base, base + 256))
                and np.array_equal(self.merges[:, 2], np.arange(base + 256, base + n))
            ):
                return placement
        return None

    # What is checked

    def _check_tokens(self) -> None:
        ids, starts = self.ids.astype(np.int64), self.starts
        if len(starts) != len(ids) + 1 or starts[0] != 0 or starts[-1] != len(self.data):
            raise DataError("tokens: starts do not fit the ids and the data")
        if len(ids) and ids[-1] >= ID_LIMIT:
            raise DataError(f"tokens[{len(ids) - 1}]: id {ids[-1]} is above {ID_LIMIT - 1}")
        for wrong, what in ((np.diff(ids) <= 0, "given twice or out of order"), (np.diff(starts) <= 0, "empty")):
            if wrong.any():
                row = int(np.argmax(wrong))
                at = row + (what != "empty")
                raise DataError(f"tokens[{at}]: the token with id {ids[at]} is {what}")
        if len(self.token_ids) != len(ids):
            seen: dict[bytes, int] = {}
            for row, token in enumerate(self.tokens):
                if seen.setdefault(token, row) != row:
                    raise DataError(f"tokens[{row}]: {token!r} has the ids {ids[seen[token]]} and {ids[row]}")
        if self.priority == CHARACTERS:
            self._check_characters()
            return
        missing = [byte for byte in range(256) if bytes([byte]) not in self.token_ids]
        if missing:
            raise DataError(f"tokens: no token for byte {missing[0]} ({len(missing)} bytes have none)")

    def _check_characters(self) -> None:
        for row, token in enumerate(self.tokens):
            try:
                single = len(token.decode()) == 1
            except UnicodeDecodeError:
                single = False
            if not single:
                raise DataError(f"tokens[{row}]: {token!r} is not one character")

    def _check_kind(self) -> None:
        if self.priority not in PRIORITIES:
            raise DataError(f"priority: {self.priority!r} is not one of {', '.join(PRIORITIES)}")
        if self.normalizer not in NORMALIZERS:
            raise DataError(f"normalizer: {self.normalizer!r} is not NFC, NFKC or none")
        if self.priority == "rank table" and len(self.merges):
            raise DataError("merges: a rank table has none of its own")
        if self.priority == CHARACTERS:
            if len(self.merges) or self.whole_chunk_first:
                raise DataError("merges, whole_chunk_first: a character tokenizer has no merges and no longer tokens")
            if self.pattern != CHARACTER_PATTERN:
                raise DataError(f"pattern: a character tokenizer's is {CHARACTER_PATTERN!r}, not {self.pattern!r}")

    def _check_pairs(self) -> None:
        merges = self.merges
        if merges.ndim != 2 or merges.shape[1] != 3:
            raise DataError("merges: not an array of left, right and product")
        pairs = (merges[:, 0].astype(np.uint64) << np.uint64(32)) | merges[:, 1].astype(np.uint64)
        distinct, first = np.unique(pairs, return_index=True)
        if len(distinct) != len(pairs):
            repeated = int(np.setdiff1d(np.arange(len(pairs)), first)[0])
            raise DataError(f"merges[{repeated}]: the pair {merges[repeated, :2].tolist()} is merged before")

    def _check_merges(self) -> None:
        merges = self.merges
        if self.counts is not None and len(self.counts) != len(merges):
            raise DataError(f"merges: {len(merges)} of them, but {len(self.counts)} counts")
        if not len(merges):
            return
        rows = np.searchsorted(self.ids, merges.ravel())
        known = self.ids[np.minimum(rows, len(self.ids) - 1)] == merges.ravel()
        if not known.all():
            at = int(np.argmin(known))
            raise DataError(f"merges[{at // 3}]: no token has the id {merges.ravel()[at]}")
        wrong = first_wrong_merge(rows.reshape(-1, 3).astype(np.int64), self.data, self.starts)
        if wrong >= 0:
            left, right, product = merges[wrong].tolist()
            raise DataError(f"merges[{wrong}]: token {product} is not token {left} followed by token {right}")

    def _check_special_tokens(self) -> None:
        seen: dict[int, str] = {}
        for name, id in self.special_tokens.items():
            if not isinstance(name, str) or not name:
                raise DataError(f"special_tokens: {name!r} is not a name")
            try:
                length = len(name.encode())
            except UnicodeEncodeError:
                raise DataError(f"special_tokens: {name!r} holds a lone surrogate") from None
            if length > MAX_SPECIAL_BYTES:
                raise DataError(f"special_tokens: {name[:20]!r}... has {length:,} bytes: at most {MAX_SPECIAL_BYTES:,}")
            if not 0 <= id < ID_LIMIT:
                raise DataError(f"special_tokens: the id {id} of {name!r} is outside 0 .. {ID_LIMIT - 1}")
            if seen.setdefault(id, name) != name:
                raise DataError(f"special_tokens: {seen[id]!r} and {name!r} share the id {id}")
        if seen:
            special_ids = np.fromiter(seen, np.uint32, len(seen))
            shared = special_ids[np.isin(special_ids, self.ids)]
            if len(shared):
                raise DataError(f"special_tokens: the id {shared[0]} of {seen[int(shared[0])]!r} is also a token's")
        for name in self.kept_tokens:
            if name not in self.special_tokens:
                raise DataError(f"kept_tokens: {name!r} is not among the special tokens")
        for role, name in self.roles.items():
            if name not in self.special_tokens:
                raise DataError(f"{role}_token: {name!r} is not among the special tokens")


def model_of_merges(
    merges: NDArray[np.int64],
    special_tokens: Iterable[str] = (),
    special_placement: str = "last",
    **fields: Any,
) -> Model:
    """The model with ids in training's layout: bytes, merges, special tokens, or special tokens first.

    merges is (n, 2) in byte/merge space: 0..255 are bytes, 256 + k is merge k.
    """
    names = list_names(special_tokens, "special_tokens")
    check_choice("special_placement", special_placement, PLACEMENTS)
    merges = np.ascontiguousarray(merges, dtype=np.int64).reshape(-1, 2)
    data, starts = tokens_of_merges(merges)
    n = 256 + len(merges)
    base, special_base = (0, n) if special_placement == "last" else (len(names), 0)
    if n + len(names) > ID_LIMIT:
        raise ParameterError(f"{n + len(names)} ids do not fit in 32 bits")
    products = np.arange(256, n, dtype=np.int64)
    return Model(
        ids=np.arange(base, base + n, dtype=np.uint32),
        data=data,
        starts=starts,
        merges=np.column_stack((merges, products)) + base,
        special_tokens={name: special_base + i for i, name in enumerate(names)},
        **fields,
    )


def model_of_ranks(ranks: Mapping[bytes, int], id_offset: int = 0, **fields: Any) -> Model:
    """The model of a rank table {bytes: rank}; a token's id is its rank plus id_offset."""
    tokens = sorted(ranks, key=ranks.__getitem__)
    ids = np.array([ranks[token] for token in tokens], np.int64) + id_offset
    if len(ids) and not 0 <= ids.min() <= ids.max() < ID_LIMIT:
        raise DataError(f"ranks: ids {ids.min()} to {ids.max()} are not within 0 .. {ID_LIMIT - 1}")
    lengths = np.array([len(token) for token in tokens], np.int64)
    return Model(
        ids=ids.astype(np.uint32),
        data=np.frombuffer(b"".join(tokens), np.uint8),
        starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
        merges=np.zeros((0, 3), np.int64),
        priority="rank table",
        **fields,
    )


def list_names(names: Iterable[str] | Mapping[str, int], parameter: str) -> list[str]:
    """The special tokens' names, in order. Raises ParameterError for a bare str, and for repeated or very long ones."""
    if isinstance(names, (str, bytes)):
        raise ParameterError(f"{parameter} must be a list of names: [{names!r}], not {names!r}")
    listed = list(names)
    seen: set[str] = set()
    for i, name in enumerate(listed):
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{parameter}[{i}]: {name!r} is not a name: a special token is a text of its own")
        if len(utf8(name)) > MAX_SPECIAL_BYTES:
            raise ParameterError(f"{parameter}[{i}]: {name[:20]!r}... has more than {MAX_SPECIAL_BYTES:,} bytes")
        if name in seen:
            raise ParameterError(f"{parameter}: {name!r} is given twice")
        seen.add(name)
    return listed
