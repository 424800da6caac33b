"""Reads shards: tokens and documents by number across shards, memory-mapped; and checks them."""

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from fastbpe.errors import DataError, FormatError
from fastbpe.shards.forms import Form, form_named
from fastbpe.shards.manifest import Manifest
from fastbpe.tokenizer import Tokenizer


class TokenShards:
    """A directory that `encode_dataset` wrote, as one sequence of tokens and one of documents.

    `len(shards)` counts tokens, `shards[a:b]` are their ids whatever shards they lie in; `documents` counts documents
    and `document(i)` gives the ids of one. Nothing is read before it is asked for. Raises DataError when the
    directory, its manifest or a shard is missing, FormatError when a shard is not what the manifest says.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = Manifest.load(self.path)
        self.form = form_named(self.manifest.form)
        shards = self.manifest.shards
        self._token_starts = np.cumsum([0, *(shard.tokens for shard in shards)])
        self._document_starts = np.cumsum([0, *(shard.documents for shard in shards)])
        self._arrays: dict[int, np.ndarray] = {}
        self._ends: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self.manifest.tokens

    def __repr__(self) -> str:
        shown = f"{self.manifest.tokens:,} tokens, {self.manifest.documents:,} documents"
        return f"TokenShards({str(self.path)!r}: {shown} in {len(self.manifest.shards)} shards)"

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return self.manifest.documents

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.manifest.dtype).newbyteorder("<")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that encoded, from the copy beside the shards. Raises FormatError when it is another."""
        tokenizer = Tokenizer.load(self.path / self.manifest.tokenizer)
        if tokenizer.fingerprint != self.manifest.fingerprint:
            raise FormatError(f"{self.path / self.manifest.tokenizer}: is not the tokenizer that encoded these shards")
        return tokenizer

    def __getitem__(self, place: int | slice) -> np.integer | np.ndarray:
        """The id at a place, or the ids of a slice: a view when it lies in one shard, else a copy."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step < 0:
                positions = range(start, stop, step)
                return self._tokens(positions[-1], start + 1)[::step] if positions else self._tokens(0, 0)
            return self._tokens(start, max(start, stop))[::step]
        index = place.__index__()
        if not -len(self) <= index < len(self):
            raise IndexError(f"token {index} of {len(self)}")
        place = index % len(self)
        token: np.integer = self._tokens(place, place + 1)[0]
        return token

    def document_range(self, number: int) -> tuple[int, int]:
        """Where document `number` starts and stops in the sequence of all tokens."""
        if not 0 <= number < self.documents:
            raise IndexError(f"document {number} of {self.documents}")
        return (self._document_end(number - 1) if number else 0), self._document_end(number)

    def document(self, number: int) -> np.ndarray:
        """The ids of a document, bos and eos included."""
        return self._tokens(*self.document_range(number))

    def document_bytes(self, number: int) -> bytes:
        """The bytes of a document, bos and eos taken off."""
        return self.tokenizer.decode_bytes(self.without_marks(self.document(number), number))

    def document_text(self, number: int) -> str:
        """The text of a document; bytes that are not UTF-8 become U+FFFD."""
        return self.document_bytes(number).decode("utf-8", "replace")

    def without_marks(self, ids: np.ndarray, number: int) -> np.ndarray:
        """A document's ids without the bos and eos that encoding added. Raises DataError where they are missing."""
        before, after = self.manifest.marks()
        start, stop = int(before is not None), len(ids) - int(after is not None)
        if stop < start or (start and ids[0] != before) or (stop < len(ids) and ids[-1] != after):
            raise DataError(f"{self.path}: document {number} lacks its bos or eos; the shards are damaged")
        return ids[start:stop]

    def shard(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of a shard, and int64 ends of the documents that end in it, both memory-mapped."""
        return self._shard(number), self._shard_ends(number)

    def iterate(self) -> Iterator[np.ndarray]:
        """The ids of every document in order; at most one document is copied at a time."""
        start = 0
        for number in range(len(self.manifest.shards)):
            base = int(self._token_starts[number])
            for end in self._shard_ends(number):
                yield self._tokens(start, base + int(end))
                start = base + int(end)

    def verify(self, advance: Callable[[int], object] = lambda tokens: None) -> None:
        """Reads every byte again; `advance` hears of the tokens of each shard.

        Raises DataError, or FormatError, at the first thing that is not as written.
        """
        last = 0
        for number, shard in enumerate(self.manifest.shards):
            files = {shard.file: shard.sha256, shard.index: shard.index_sha256} | shard.beside
            for name, sha256 in files.items():
                with self._found(name) as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                        raise DataError(f"{self.path / name}: is not as it was written (checksum); encode again")
            tokens, ends = self._shard(number), self._shard_ends(number)
            if len(ends) and (ends[0] < 0 or ends[-1] > len(tokens) or np.any(np.diff(ends) < 0)):
                raise DataError(f"{self.path / shard.index}: its document ends do not ascend inside the shard")
            limit = self.manifest.id_limit
            for at in range(0, len(tokens), 1 << 22):
                if int(tokens[at : at + (1 << 22)].max()) >= limit:
                    raise DataError(f"{self.path / shard.file}: holds ids that the tokenizer does not have")
            last = int(self._token_starts[number]) + int(ends[-1]) if len(ends) else last
            advance(len(tokens))
        if last != len(self):
            raise DataError(f"{self.path}: {len(self) - last} tokens after the end of the last document")

    def _tokens(self, start: int, stop: int) -> np.ndarray:
        first = int(np.searchsorted(self._token_starts, start, side="right")) - 1
        parts = []
        for number in range(first, len(self.manifest.shards)):
            base = int(self._token_starts[number])
            if base >= stop:
                break
            parts.append(self._shard(number)[max(0, start - base) : stop - base])
        if not parts:
            return np.empty(0, self.dtype)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _document_end(self, number: int) -> int:
        shard = int(np.searchsorted(self._document_starts, number, side="right")) - 1
        within = number - int(self._document_starts[shard])
        return int(self._token_starts[shard]) + int(self._shard_ends(shard)[within])

    def _shard(self, number: int) -> np.ndarray:
        if number not in self._arrays:
            shard = self.manifest.shards[number]
            self._arrays[number] = self._opened(shard.file, self.form, shard.tokens, self.dtype)
        return self._arrays[number]

    def _shard_ends(self, number: int) -> np.ndarray:
        if number not in self._ends:
            shard = self.manifest.shards[number]
            self._ends[number] = self._opened(shard.index, form_named("npy"), shard.documents, np.dtype("<i8"))
        return self._ends[number]

    def _opened(self, name: str, form: Form, n: int, dtype: np.dtype) -> np.ndarray:
        with self._found(name):
            array = form.open(self.path / name, dtype, n)
        if len(array) != n or array.dtype != dtype:
            raise FormatError(f"{self.path / name}: holds {len(array)} {array.dtype}, the manifest says {n} {dtype}")
        return array

    def _found(self, name: str):  # type: ignore[no-untyped-def]
        try:
            return open(self.path / name, "rb")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise DataError(f"{self.path / name}: cannot be read ({why}); the manifest names it") from error
