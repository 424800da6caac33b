"""The journal of a run: its parameters, then one line for every shard that is complete.

It is there from the first moment to the last, and its lock says that the run is alive: the system drops the lock of
a process that died, however it died. A line that a crash cut short counts as not written; every line has the CRC-32 of
its entry, since what it says goes into the manifest.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fastbpe.atomic import lock, remove_unfinished, sync_directory, write_all
from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.shards.crc import crc32_of_values
from fastbpe.shards.naming import INDEX, JOURNAL, MANIFEST, TOKENIZER


class Journal:
    """The journal of one directory, locked while it is open. Made by `begin`."""

    def __init__(self, directory: Path, descriptor: int) -> None:
        self.directory = directory
        self.entries: list[dict[str, Any]] = []
        self._descriptor = descriptor

    def append(self, entry: dict[str, Any]) -> None:
        """Enters a line; when this returns it outlives a crash."""
        size = os.fstat(self._descriptor).st_size
        try:
            line = {"entry": entry, "crc32": crc32_of_values(entry)}
            write_all(self._descriptor, json.dumps(line, ensure_ascii=False).encode() + b"\n")
            os.fsync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise
        self.entries.append(entry)

    def remove(self) -> None:
        """The run is complete."""
        os.unlink(self.directory / JOURNAL)
        sync_directory(self.directory)
        self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def discard(self) -> None:
        """Takes back a run that has completed nothing: what it left, and the directory if it is empty then."""
        clean(self.directory)
        for name in (TOKENIZER, JOURNAL):
            with contextlib.suppress(OSError):
                os.unlink(self.directory / name)
        self.close()
        for directory in (self.directory / INDEX, self.directory):
            with contextlib.suppress(OSError):
                os.rmdir(directory)


def begin(directory: Path, parameters: dict[str, Any], resume: bool) -> Journal | None:
    """The journal to write shards into `directory` with, its lock held; None when all is complete already.

    Without `resume` a directory that holds anything is refused; with it, one whose run had other parameters.
    Raises ParameterError for both, FastbpeError while another run holds the lock, OSError when the journal cannot be
    written; nothing is left of it then.
    """
    try:
        os.makedirs(directory, exist_ok=True)
        names = set(os.listdir(directory))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FastbpeError(
            f"{directory}: cannot be made a directory of shards ({why}); choose another place"
        ) from error
    if names and not resume:
        if JOURNAL in names:
            _check_dead(directory)
        raise ParameterError(f"{directory}: {_what_lies_there(names)}")
    if names and JOURNAL not in names:
        if MANIFEST in names:
            return None
        if names - {INDEX}:
            raise ParameterError(f"{directory}: {_what_lies_there(names)}")
    descriptor = os.open(directory / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    journal = Journal(directory, descriptor)
    try:
        _lock(directory, descriptor)
    except BaseException:
        journal.close()
        raise
    try:
        _read(journal, parameters)
    except BaseException:
        if os.fstat(descriptor).st_size:
            journal.close()
        else:  # not even the parameters could be written
            journal.discard()
        raise
    return journal


def _check_dead(directory: Path) -> None:
    """Raises FastbpeError when the run whose journal lies there lives: nobody should hear that it may be removed."""
    with contextlib.suppress(OSError), (directory / JOURNAL).open("rb") as file:
        if not lock(file.fileno()):
            raise _alive(directory)


def _alive(directory: Path) -> FastbpeError:
    return FastbpeError(f"{directory}: another run is writing here; wait for it to end, or stop it")


def _lock(directory: Path, descriptor: int) -> None:
    if not lock(descriptor):
        raise _alive(directory)
    # The other run may have ended, and removed the journal, between our opening and our lock.
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(descriptor), os.stat(directory / JOURNAL)):
            return
    raise _alive(directory)


def _read(journal: Journal, parameters: dict[str, Any]) -> None:
    directory, descriptor = journal.directory, journal._descriptor
    data = b""
    while part := os.pread(descriptor, 1 << 20, len(data)):
        data += part
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.ftruncate(descriptor, len(whole))
    try:
        lines = [_entry(json.loads(line)) for line in whole.split(b"\n")[:-1]]
    except ValueError:
        raise FormatError(f"{directory / JOURNAL}: is damaged; remove the directory and start anew") from None
    # JSON has no tuples: compare what was written with what would be.
    parameters = json.loads(json.dumps(parameters))
    if not lines:
        journal.append(parameters)
        journal.entries.clear()
        sync_directory(directory)
        return
    what = difference(lines[0], parameters)
    if what is not None:
        raise ParameterError(
            f"{directory}: cannot go on with the run there: {what}; give what was given, or remove the directory and "
            "start anew"
        )
    journal.entries = lines[1:]


def _entry(line: Any) -> dict[str, Any]:
    """What `append` was given. Raises ValueError when it is not as it was written."""
    if not isinstance(line, dict) or not isinstance(line.get("entry"), dict):
        raise ValueError
    entry: dict[str, Any] = line["entry"]
    if line != {"entry": entry, "crc32": crc32_of_values(entry)}:
        raise ValueError
    return entry


def difference(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """What the first parameter is, for people, that is not as it was; None when all are."""
    for name in {**now, **before}:
        was, is_now = before.get(name), now.get(name)
        if was == is_now:
            continue
        if name == "fingerprint":
            return "the tokenizer is another"
        if name == "sources":
            return "the sources have changed, or are named in another way"
        if name == "reader" and was is not None:
            return difference(was, is_now or {})
        return f"{name} was {was!r} and is {is_now!r} now"
    return None


def _what_lies_there(names: set[str]) -> str:
    if JOURNAL in names:
        return "holds a run that is not finished; --resume (resume=True) goes on with it, or remove the directory"
    if MANIFEST in names:
        return "holds shards already; choose another directory, or remove it"
    return "exists and holds other files; choose another directory"


def clean(directory: Path) -> None:
    """Removes what a crash left under temporary names."""
    remove_unfinished(directory)
    remove_unfinished(directory / INDEX)
