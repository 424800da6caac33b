"""Writes tokens to shards, each under a temporary name until it is whole, synced, and entered in the journal.

The tokens come in order from one thread. A shard that is full is synced, renamed and entered by a thread of its own,
while the next one fills.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.atomic import atomic_write, sync_directory, write_all
from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.npy_header import npy_header
from fastbpe.shards.crc import crc32, crc32_joined, crc32_of_file, shown
from fastbpe.shards.ends import Ends
from fastbpe.shards.forms import UNLIMITED, Form, Origin, form_named
from fastbpe.shards.journal import Journal
from fastbpe.shards.manifest import ShardEntry
from fastbpe.shards.naming import INDEX, index_name, split_of
from fastbpe.text import counted

SHARD_TOKENS = 100_000_000
EARLY_SYNC_BYTES = 8 << 20

State = Callable[[], Any]
"""Says what tokens are that lie around the end of a shard, for the journal."""


class _Common:
    """What the writers of one directory share: the journal, and the thread that completes shards."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.entries = entered(journal)
        self.worker = ThreadPoolExecutor(1, "shard")
        self.pending: Future[None] | None = None
        self.unentered: tuple[ShardEntry, dict[str, Any]] | None = None
        self.writers = 0

    def wait(self) -> None:
        if self.pending is not None:
            pending, self.pending = self.pending, None
            pending.result()

    def enter(self, entry: ShardEntry, resume: dict[str, Any]) -> None:
        self.journal.append({"shard": asdict(entry), **resume})
        self.entries.append(entry)
        self.unentered = None


def entered(journal: Journal) -> list[ShardEntry]:
    """The shards that the journal holds. Raises FormatError when it is no journal of shards."""
    try:
        return [ShardEntry(**line["shard"]) for line in journal.entries]
    except (KeyError, TypeError):
        raise FormatError(f"{journal.directory}: its journal is damaged; remove the directory and start anew") from None


def check_written(
    directory: Path, shards: Iterable[ShardEntry], advance: Callable[[int], object] = lambda tokens: None
) -> None:
    """Reads the files of shards again; `advance` hears of the tokens of each.

    Raises FormatError for one that is not there any more as it was written.
    """
    for entry in shards:
        for name, crc in ({entry.file: entry.crc32, entry.index: entry.index_crc32} | entry.beside).items():
            path = directory / name
            try:
                with path.open("rb", buffering=0) as file:
                    same = shown(crc32_of_file(file)) == crc
            except FileNotFoundError:
                same = False
            if not same:
                raise FormatError(f"{path}: is not as it was written, or not there; remove the directory, start anew")
        advance(entry.tokens)


class ShardWriter:
    """Shards of `shard_tokens` tokens in the directory of `journal`, after those that the journal holds already.

    `entries` are the shards complete so far. `form`: the form of the files, see forms.py; a form of one file a split
    takes no notice of `shard_tokens`. `split`: the split of all of them, when documents are dealt to splits and
    `beside` is the writer of the other one; else the first `val_shards` are val. Use as a context manager: after an
    error the shards that are complete stay, and the one being written goes.
    """

    def __init__(
        self,
        journal: Journal,
        prefix: str,
        id_limit: int,
        shard_tokens: int = SHARD_TOKENS,
        val_shards: int = 0,
        form: Form | None = None,
        split: str | None = None,
        beside: "ShardWriter | None" = None,
    ) -> None:
        self.directory = journal.directory
        self.form = form or form_named("npy")
        self.dtype = self.form.dtype(id_limit)
        self._prefix = prefix
        self._id_limit = id_limit
        self._shard_tokens = UNLIMITED if self.form.one_file else shard_tokens
        self._val_shards = val_shards
        self._split = split
        self._common: _Common = _Common(journal) if beside is None else beside._common
        self._common.writers += 1
        # Splits count for themselves: which of two closes a shard first depends on how the input is cut into stretches.
        self._number = sum(split is None or entry.split == split for entry in self._common.entries)
        self._descriptor = -1
        self._filled = self._crc = 0
        self._early: Future[None] | None = None
        self._unsynced = 0
        self._ends = Ends(self.directory / INDEX)
        self._origins: list[Origin] = []
        os.makedirs(self.directory / INDEX, exist_ok=True)

    @property
    def entries(self) -> list[ShardEntry]:
        return self._common.entries

    def before_shards(self, work: Callable[[], None]) -> None:
        """Does what no shard may be entered without, in the thread that completes them; its error ends the writing."""
        self._common.wait()
        self._common.pending = self._common.worker.submit(work)

    def pack(self, ids: np.ndarray) -> np.ndarray:
        """The ids as shards hold them; any thread may do this. Raises FastbpeError for an id out of range."""
        if len(ids) and int(ids.max()) >= self._id_limit:
            raise FastbpeError(f"the id {int(ids.max())} is not below the tokenizer's id_limit {self._id_limit}")
        return ids.astype(self.dtype, copy=False)

    def add(
        self,
        tokens: np.ndarray,
        ends: np.ndarray,
        state: State | None = None,
        offset: int | None = None,
        origins: Sequence[Origin] = (),
    ) -> None:
        """The next tokens, and where documents end among them (int64, ascending, 0 .. len(tokens)).

        tokens: (n,), from `pack`. `state()` says what these tokens are; a shard that ends `offset` tokens into them is
        entered in the journal with both. A later run goes on from there: it gives the same tokens and the offset.
        origins: of the documents that end here, for forms that tell of them.
        """
        if tokens.dtype != self.dtype:
            raise ParameterError(f"tokens of type {tokens.dtype}, not {self.dtype}")
        done = 0 if offset is None else offset
        used = 0 if offset is None else int(np.searchsorted(ends, offset, side="right"))
        while True:
            take, full = self._room(len(tokens) - done, ends[used:] - done)
            if take:
                self._open()
                data = tokens[done : done + take].data
                write_all(self._descriptor, data)
                self._crc = crc32(data, self._crc)
                self._sync_early(take * self.dtype.itemsize)
            # A document that ends where a shard is full belongs to that shard, an empty one after it too.
            upto = int(np.searchsorted(ends, done + take, side="right"))
            if upto > used:
                self._open()
                self._ends.add(ends[used:upto] - done + self._filled)
                self._origins.extend(origins[used:upto])
                used = upto
            self._filled += take
            done += take
            if not full:
                return
            self._close_shard(state, done)
            if done == len(tokens):
                return

    def _room(self, n: int, ends: np.ndarray) -> tuple[int, bool]:
        """How many of the next n tokens go into this shard, and whether it is full then."""
        missing = self._shard_tokens - self._filled
        if self.form.whole_documents:
            at = int(np.searchsorted(ends, missing))
            return (int(ends[at]), True) if at < len(ends) else (n, False)
        # A shard that the last of the tokens fill stays open: an empty document may follow.
        return min(missing, n), missing < n

    def finish(self, state: State | None = None) -> list[ShardEntry]:
        """Ends the last shard, which may be short. All the shards, complete and entered."""
        if self._descriptor >= 0:
            self._close_shard(state, 0)
        self._common.wait()
        return self.entries

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        common = self._common
        common.writers -= 1
        try:
            # What is complete is entered, also when the run has failed elsewhere.
            with contextlib.suppress(Exception) if error is not None else contextlib.nullcontext():
                common.wait()
        finally:
            if not common.writers:
                common.worker.shutdown()
            elif self._early is not None:
                with contextlib.suppress(OSError):
                    self._early.result()
            self._ends.close()
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
                with contextlib.suppress(OSError):
                    os.unlink(self._temporary())
            if common.unentered is not None:
                # The disk was too full for a line of the journal; what was just removed made room for it.
                with contextlib.suppress(OSError):
                    common.enter(*common.unentered)

    def _open(self) -> None:
        if self._descriptor < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            self._descriptor = os.open(self._temporary(), flags, 0o666)
            write_all(self._descriptor, self.form.header(self.dtype, self._shard_tokens))

    def _sync_early(self, written: int) -> None:
        """Sends what is written to the disk while more is encoded, or the end of a shard would wait for all of it."""
        self._unsynced += written
        if self._unsynced >= EARLY_SYNC_BYTES and (self._early is None or self._early.done()):
            self._unsynced = 0
            if self._early is not None:
                self._early.result()
            self._early = self._common.worker.submit(os.fsync, self._descriptor)

    def _close_shard(self, state: State | None, offset: int) -> None:
        common = self._common
        resume = {"state": None if state is None else state(), "offset": offset}
        common.wait()
        closed = _Closed(
            self._number,
            self._temporary(),
            self._descriptor,
            self._filled,
            self._crc,
            self._ends,
            self._origins,
            self._early,
        )
        self._number += 1
        self._descriptor, self._filled, self._crc, self._origins = -1, 0, 0, []
        self._ends = Ends(self.directory / INDEX)
        self._early, self._unsynced = None, 0
        common.pending = common.worker.submit(self._complete, closed, resume)

    def _complete(self, closed: "_Closed", resume: dict[str, Any]) -> None:
        number, tokens, ends = closed.number, closed.tokens, closed.ends
        split = split_of(number, self._val_shards) if self._split is None else self._split
        name = self.form.file(self._prefix, split, number, self._split is not None)
        crcs: dict[str, str] = {}
        try:
            try:
                head = self.form.header(self.dtype, tokens)
                if head and tokens != self._shard_tokens:
                    os.pwrite(closed.descriptor, head, 0)
                if closed.early is not None:
                    closed.early.result()  # the system tells of a failed write only once
                os.fsync(closed.descriptor)
            finally:
                os.close(closed.descriptor)
            index = index_name(number, self._split)
            crcs[index] = self._write_beside(index, npy_parts(ends))
            for other, parts in self.form.beside(name, self.dtype, ends, closed.origins).items():
                crcs[other] = self._write_beside(other, parts)
            os.rename(closed.temporary, self.directory / name)
        except BaseException:
            for written in (closed.temporary, *(self.directory / other for other in crcs)):
                with contextlib.suppress(OSError):
                    os.unlink(written)
            raise
        finally:
            ends.close()
        sync_directory(self.directory)
        crc = crc32_joined(crc32(head), closed.crc, tokens * self.dtype.itemsize)
        index_crc = crcs.pop(index)
        entry = ShardEntry(name, index, split, tokens, len(ends), shown(crc), index_crc, crcs)
        self._common.unentered = (entry, resume)
        self._common.enter(entry, resume)

    def _write_beside(self, name: str, parts: Iterable[bytes]) -> str:
        """Writes a whole file; its CRC-32."""
        crc = 0
        with atomic_write(self.directory / name) as file:
            for part in parts:
                file.write(part)
                crc = crc32(part, crc)
        return shown(crc)

    def _temporary(self) -> Path:
        # No loader that looks for "train" or "val" may take it for a shard.
        return self.directory / f".{(self._split or '')[:1]}{self._number:06d}.tmp"


class _Closed(NamedTuple):
    """A shard that is full, or the last, on its way to completion. crc: of its tokens, without what stands before."""

    number: int
    temporary: Path
    descriptor: int
    tokens: int
    crc: int
    ends: Ends
    origins: list[Origin]
    early: Future[None] | None


def npy_parts(ends: Ends) -> Iterator[bytes]:
    """The ends as an NPY file."""
    yield npy_header(np.dtype("<i8"), len(ends))
    for array in ends.arrays():
        yield array.astype("<i8").tobytes()


def disk_error(error: OSError, directory: Path, complete: int) -> FastbpeError:
    """What to tell of a write that failed, with `complete` shards entered before."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "the disk is full" if full else f"cannot be written ({(error.strerror or str(error)).lower()})"
    kept = f"; {counted(complete, 'complete shard')} stay{'s' if complete == 1 else ''}" if complete else ""
    then = "go on with --resume" if complete else "start again"
    what_to_do = f"free some space, then {then}" if full else f"check the disk, then {then}"
    return FastbpeError(f"{directory}: {why}{kept}; {what_to_do}")
