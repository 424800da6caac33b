"""Writes tokens to shards, each under a temporary name until it is whole, synced, and entered in the journal.

The tokens come in order from one thread. A shard that is full is synced, hashed, renamed and entered by a thread of
its own, while the next one fills.
"""

import contextlib
import errno
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fastbpe.atomic import atomic_write, sync_directory
from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.shards.journal import Journal, write_all
from fastbpe.shards.manifest import ShardEntry
from fastbpe.shards.naming import INDEX, index_name, shard_name, split_of
from fastbpe.shards.npy import header, open_tokens

SHARD_TOKENS = 100_000_000
EARLY_SYNC_BYTES = 32 << 20


def shard_dtype(id_limit: int) -> np.dtype[Any]:
    """Type of the ids in the shards: uint16 when every id below `id_limit` fits, else uint32."""
    return np.dtype("<u2") if id_limit <= 1 << 16 else np.dtype("<u4")


def _complete(journal: Journal) -> list[ShardEntry]:
    """The shards that the journal holds. Raises FormatError for one that is not there any more as a whole."""
    try:
        entries = [ShardEntry(**line["shard"]) for line in journal.entries]
    except (KeyError, TypeError):
        raise FormatError(f"{journal.directory}: its journal is damaged; remove the directory and start anew") from None
    for entry in entries:
        for name, n in ((entry.file, entry.tokens), (entry.index, entry.documents)):
            path = journal.directory / name
            try:
                whole = len(open_tokens(path)) == n
            except (OSError, FormatError):
                whole = False
            if not whole:
                raise FormatError(
                    f"{path}: is not as the journal says, or not there; remove the directory and start anew"
                )
    return entries


class ShardWriter:
    """Shards of `shard_tokens` tokens in the directory of `journal`, after those that the journal holds already.

    `entries` are the shards complete so far. Use as a context manager: after an error the shards that are complete
    stay, and the one being written goes.
    """

    def __init__(
        self, journal: Journal, prefix: str, id_limit: int, shard_tokens: int = SHARD_TOKENS, val_shards: int = 0
    ) -> None:
        self.directory = journal.directory
        self.dtype = shard_dtype(id_limit)
        self.entries = _complete(journal)
        self._journal = journal
        self._prefix = prefix
        self._id_limit = id_limit
        self._shard_tokens = shard_tokens
        self._val_shards = val_shards
        self._worker = ThreadPoolExecutor(1, "shard")
        self._pending: Future[None] | None = None
        self._unentered: tuple[ShardEntry, dict[str, Any]] | None = None
        self._number = len(self.entries)
        self._descriptor = -1
        self._filled = 0
        self._early: Future[None] | None = None
        self._unsynced = 0
        self._ends: list[np.ndarray] = []
        os.makedirs(self.directory / INDEX, exist_ok=True)

    def pack(self, ids: np.ndarray) -> np.ndarray:
        """The ids as shards hold them; any thread may do this. Raises FastbpeError for an id out of range."""
        if len(ids) and int(ids.max()) >= self._id_limit:
            raise FastbpeError(f"the id {int(ids.max())} is not below the tokenizer's id_limit {self._id_limit}")
        return ids.astype(self.dtype)

    def add(
        self, tokens: np.ndarray, ends: np.ndarray, state: dict[str, Any] | None = None, offset: int | None = None
    ) -> None:
        """The next tokens, and where documents end among them (int64, ascending, 0 .. len(tokens)).

        tokens: (n,), from `pack`. `state` says what these tokens are; a shard that ends `offset` tokens into them is
        entered in the journal with both. A later run goes on from there: it gives the same tokens and the offset.
        """
        if tokens.dtype != self.dtype:
            raise ParameterError(f"tokens of type {tokens.dtype}, not {self.dtype}")
        done = 0 if offset is None else offset
        used = 0 if offset is None else int(np.searchsorted(ends, offset, side="right"))
        while True:
            take = min(self._shard_tokens - self._filled, len(tokens) - done)
            if take:
                self._open()
                write_all(self._descriptor, tokens[done : done + take].data)
                self._sync_early(take * self.dtype.itemsize)
            # A document that ends where a shard is full belongs to that shard, an empty one after it too.
            upto = int(np.searchsorted(ends, done + take, side="right"))
            if upto > used:
                self._open()
                self._ends.append(ends[used:upto] - done + self._filled)
                used = upto
            self._filled += take
            done += take
            if done == len(tokens):
                return
            self._close_shard({"state": state, "offset": done})

    def finish(self, state: dict[str, Any] | None = None) -> list[ShardEntry]:
        """Ends the last shard, which may be short. All the shards, complete and entered."""
        if self._descriptor >= 0:
            self._close_shard({"state": state, "offset": 0})
        self._wait()
        return self.entries

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            # What is complete is entered, also when the run has failed elsewhere.
            with contextlib.suppress(Exception) if error is not None else contextlib.nullcontext():
                self._wait()
        finally:
            self._worker.shutdown()
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
                with contextlib.suppress(OSError):
                    os.unlink(self._temporary(self._number))
            if self._unentered is not None:
                # The disk was too full for a line of the journal; what was just removed made room for it.
                with contextlib.suppress(OSError):
                    self._enter(*self._unentered)

    def _open(self) -> None:
        if self._descriptor < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
            self._descriptor = os.open(self._temporary(self._number), flags, 0o666)
            write_all(self._descriptor, header(self.dtype, self._shard_tokens))

    def _sync_early(self, written: int) -> None:
        """Sends what is written to the disk while more is encoded, or the end of a shard would wait for all of it."""
        self._unsynced += written
        if self._unsynced >= EARLY_SYNC_BYTES and (self._early is None or self._early.done()):
            self._unsynced = 0
            if self._early is not None:
                self._early.result()
            self._early = self._worker.submit(os.fsync, self._descriptor)

    def _close_shard(self, resume: dict[str, Any]) -> None:
        self._wait()
        ends = np.concatenate(self._ends) if self._ends else np.empty(0, np.int64)
        number, descriptor, tokens = self._number, self._descriptor, self._filled
        self._number, self._descriptor, self._filled, self._ends = number + 1, -1, 0, []
        early, self._early, self._unsynced = self._early, None, 0
        self._pending = self._worker.submit(self._complete, number, descriptor, tokens, ends, resume, early)

    def _wait(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()

    def _complete(
        self,
        number: int,
        descriptor: int,
        tokens: int,
        ends: np.ndarray,
        resume: dict[str, Any],
        early: Future[None] | None,
    ) -> None:
        temporary = self._temporary(number)
        split = split_of(number, self._val_shards)
        name = shard_name(self._prefix, split, number)
        try:
            try:
                if tokens != self._shard_tokens:
                    os.pwrite(descriptor, header(self.dtype, tokens), 0)
                if early is not None:
                    early.result()  # the system tells of a failed write only once
                os.fsync(descriptor)
                os.lseek(descriptor, 0, os.SEEK_SET)
                with open(descriptor, "rb", buffering=0, closefd=False) as file:
                    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            finally:
                os.close(descriptor)
            data = header(np.dtype("<i8"), len(ends)) + ends.astype("<i8").tobytes()
            with atomic_write(self.directory / index_name(number)) as file:
                file.write(data)
            os.rename(temporary, self.directory / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_directory(self.directory)
        index_sha256 = hashlib.sha256(data).hexdigest()
        entry = ShardEntry(name, index_name(number), split, tokens, len(ends), sha256, index_sha256)
        self._unentered = (entry, resume)
        self._enter(entry, resume)

    def _enter(self, entry: ShardEntry, resume: dict[str, Any]) -> None:
        self._journal.append({"shard": asdict(entry), **resume})
        self.entries.append(entry)
        self._unentered = None

    def _temporary(self, number: int) -> Path:
        return self.directory / f".{number:06d}.npy.tmp"


def disk_error(error: OSError, directory: Path, complete: int) -> FastbpeError:
    """What to tell of a write that failed, with `complete` shards entered before."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "the disk is full" if full else f"cannot be written ({(error.strerror or str(error)).lower()})"
    kept = f"; {complete} complete shards stay" if complete else ""
    then = "go on with --resume" if complete else "start again"
    what_to_do = f"free some space, then {then}" if full else f"check the disk, then {then}"
    return FastbpeError(f"{directory}: {why}{kept}; {what_to_do}")
