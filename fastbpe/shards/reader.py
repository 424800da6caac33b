"""Reads shards: tokens and documents by number across shards, memory-mapped; and checks them."""

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from fastbpe.errors import DataError, FormatError
from fastbpe.shards.crc import crc32_of_file, shown
from fastbpe.shards.forms import Form, form_named
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.packing import document_starts, padding_mask
from fastbpe.text import counted
from fastbpe.tokenizer import Tokenizer

STRETCH_TOKENS = 1 << 20


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
        shown = f"{counted(len(self), 'token')}, {counted(self.documents, 'document')}"
        return f"TokenShards({str(self.path)!r}: {shown} in {counted(len(self.manifest.shards), 'shard')})"

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return self.manifest.documents

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.manifest.dtype).newbyteorder("<")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that encoded, from the copy beside the shards.

        Raises DataError when it is not there, FormatError when it is another.
        """
        with self._found(self.manifest.tokenizer):
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
        shard, within = self._place(number)
        ends = self._shard_ends(shard)[max(0, within - 1) : within + 1]
        before = int(ends[0]) if within else self._end_before(shard)
        start = document_starts(ends[-1:], before, self.manifest.pack)
        base = int(self._token_starts[shard])
        return base + int(start[0]), base + int(ends[-1])

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

    @property
    def rows(self) -> int:
        """How many rows there are in shards that were packed, else 0."""
        return 0 if self.manifest.pack is None else len(self) // self.manifest.pack

    def row(self, number: int) -> np.ndarray:
        """The ids of a row, padding included. Raises IndexError where there is none."""
        if not 0 <= number < self.rows:
            raise IndexError(f"row {number} of {self.rows}")
        pack = self.manifest.pack or 0
        return self._tokens(number * pack, (number + 1) * pack)

    def goes_on(self, row: int) -> np.ndarray:
        """bool (pack,): which tokens of a row belong to the document of the token before; padding does to none."""
        size = self.row(row).size
        number = int(np.searchsorted(self._token_starts, row * size, side="right")) - 1
        at = row * size - int(self._token_starts[number])
        starts, ends = self.extents(number, at, at + size)
        mask = ~padding_mask(starts, ends, at, size)
        mask[(starts - at)[(starts >= at) & (starts < ends)]] = False
        return mask

    def iterate(self) -> Iterator[np.ndarray]:
        """The ids of every document in order; at most one document is copied at a time."""
        for number in range(len(self.manifest.shards)):
            base, ends = int(self._token_starts[number]), self._shard_ends(number)
            starts = document_starts(ends, self._end_before(number), self.manifest.pack)
            for start, end in zip(starts, ends, strict=True):
                yield self._tokens(base + int(start), base + int(end))

    def extents(self, number: int, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """int64 starts and ends of the documents of shard `number` that reach into its tokens `start` to `stop`.

        Both count from the start of the shard, so they are negative, or lie behind its end, for documents that other
        shards share. Empty documents at `stop` are among them, those at `start` only when it is 0.
        """
        ends = self._shard_ends(number)
        first = int(np.searchsorted(ends, start, side="right" if start else "left"))
        last = int(np.searchsorted(ends, stop, side="right"))
        before = int(ends[first - 1]) if first else self._end_before(number)
        following = int(ends[last]) if last < len(ends) else self._end_after(number)
        here: np.ndarray = np.asarray(ends[first:last])
        if following is not None:
            here = np.append(here, following)
        starts = document_starts(here, before, self.manifest.pack)
        if following is not None and starts[-1] >= stop:
            return starts[:-1], here[:-1]
        return starts, here

    def verify(self, advance: Callable[[int], object] = lambda tokens: None) -> None:
        """Reads every byte again; `advance` hears of the tokens of each shard.

        Raises DataError, or FormatError, at the first thing that is not as written.
        """
        last = padding = 0
        for number, shard in enumerate(self.manifest.shards):
            files = {shard.file: shard.crc32, shard.index: shard.index_crc32} | shard.beside
            for name, crc in files.items():
                with self._found(name) as file:
                    if shown(crc32_of_file(file)) != crc:
                        raise DataError(f"{self.path / name}: is not as it was written (checksum); encode again")
            tokens, ends = self._shard(number), self._shard_ends(number)
            if len(ends) and (ends[0] < 0 or ends[-1] > len(tokens) or np.any(np.diff(ends) < 0)):
                raise DataError(f"{self.path / shard.index}: its document ends do not ascend inside the shard")
            limit = self.manifest.id_limit
            for at in range(0, len(tokens), STRETCH_TOKENS):
                ids = tokens[at : at + STRETCH_TOKENS]
                if int(ids.max()) >= limit or int(ids.min()) < 0:
                    raise DataError(f"{self.path / shard.file}: holds ids that the tokenizer does not have")
                if self.manifest.pack is not None:
                    padding += int(np.count_nonzero(self.padding(number, at, ids)))
            last = int(self._token_starts[number]) + int(ends[-1]) if len(ends) else last
            advance(len(tokens))
        if self.manifest.pack is None and last != len(self):
            raise DataError(f"{self.path}: {counted(len(self) - last, 'token')} after the end of the last document")
        if padding != self.manifest.padding or len(self) % (self.manifest.pack or 1):
            raise DataError(
                f"{self.path}: {padding} tokens lie in no document, and the manifest says {self.manifest.padding} of "
                f"rows of {self.manifest.pack}"
            )

    def padding(self, number: int, at: int, ids: np.ndarray) -> np.ndarray:
        """bool: which of the ids of a shard from place `at` on lie in no document.

        Raises DataError where these are not what rows are filled up with.
        """
        starts, ends = self.extents(number, at, at + len(ids))
        mask = padding_mask(starts, ends, at, len(ids))
        if not np.all(ids[mask] == self.manifest.pad_id):
            file = self.path / self.manifest.shards[number].file
            raise DataError(f"{file}: something that is no padding lies between documents; the shards are damaged")
        return mask

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

    def _place(self, document: int) -> tuple[int, int]:
        """The shard in which a document ends, and its number among those that do."""
        shard = int(np.searchsorted(self._document_starts, document, side="right")) - 1
        return shard, document - int(self._document_starts[shard])

    def _end_before(self, number: int) -> int:
        """Where the last document that ends before a shard ends, or else its split begins, seen from the shard."""
        shards = self.manifest.shards
        begin = 0  # the first shard of its split; without dealing, documents go on from val to train
        if self.manifest.val_fraction:
            begin = next(i for i, shard in enumerate(shards) if shard.split == shards[number].split)
        first = int(self._document_starts[number])
        if first == int(self._document_starts[begin]):
            return int(self._token_starts[begin] - self._token_starts[number])
        shard, within = self._place(first - 1)
        return int(self._token_starts[shard]) + int(self._shard_ends(shard)[within]) - int(self._token_starts[number])

    def _end_after(self, number: int) -> int | None:
        """Where the first document that ends after a shard ends, seen from the shard; None where there is none."""
        shards = self.manifest.shards
        following = int(self._document_starts[number + 1])
        if following == self.documents:
            return None
        shard, within = self._place(following)
        if self.manifest.val_fraction and shards[shard].split != shards[number].split:
            return None
        return int(self._token_starts[shard]) + int(self._shard_ends(shard)[within]) - int(self._token_starts[number])

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
            return open(self.path / name, "rb", buffering=0)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise DataError(f"{self.path / name}: cannot be read ({why}); the manifest names it") from error
