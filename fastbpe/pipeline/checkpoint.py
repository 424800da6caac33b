"""What a training or a counting that was stopped left behind, so that it can go on: counted text and learned merges.

    lock          held while a run is alive
    files         one line for each file of the source: size, mtime in ns, and the path as JSON
    count.json    how the text is counted, and how far that has come; replaced as a whole
    runs/         what was counted so far (see runs.py)
    counts.npz    all of it, once everything is counted
    merges        how merges are learned, then one line for each: left, right, count, tokens left

The directory appears with the first thing worth keeping and goes away when the work is done. Whatever kill -9 leaves
here is of use or is passed over: files are replaced as a whole, and of `merges` lines count that are whole.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from fastbpe import __version__
from fastbpe.atomic import atomic_write, lock, os_errors_name, remove_unfinished, write_all
from fastbpe.corpus.sources import FileState
from fastbpe.counts import ChunkCounts
from fastbpe.errors import FastbpeError, ParameterError
from fastbpe.merging import MergeRules, Merges

SEGMENT_BYTES = 1 << 28
"""Text between two checkpoints of counting, at the least; less of it is not worth any."""
MOST_BYTES = 1 << 33
"""The same at the most; between, a checkpoint comes when as much has been counted as before the last."""
LATE = 16
"""Merges alone are worth a directory from this many stretches of work on: what took less is soon learned again."""

_NAMES = {"lock", "files", "count.json", "runs", "counts.npz", "merges"}


class Checkpoint:
    """The directory of one run. Leave it as a context manager; `remove` when the work is done.

    Raises ParameterError when the directory is there without `resume`, FastbpeError while another run is at work.
    """

    def __init__(self, directory: str | os.PathLike[str], resume: bool = False) -> None:
        self.directory = Path(directory)
        self._lock = -1
        self._merges = -1
        self._parts: list[Merges] = []
        self._rules = ""
        self._of_use = False
        if not os.path.lexists(self.directory):
            return
        if not resume:
            raise ParameterError(
                f"{self.directory}: is there, from a run that is not finished; --resume (resume=True) goes on with it, "
                "or remove it"
            )
        if not all(name in _NAMES or name.startswith(".") for name in os.listdir(self.directory)):
            raise ParameterError(f"{self.directory}: is not what a run leaves behind; move it away")
        self._begin()
        self._of_use = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Lets the directory go; it stays when there is something in it to go on from."""
        if self._merges >= 0:
            os.close(self._merges)
            self._merges = -1
        if self._lock >= 0 and not self._of_use:
            self.remove()
        elif self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def of_use(self) -> bool:
        """Whether there is something to go on from."""
        return self._of_use

    def remove(self) -> None:
        """The work is done."""
        if self._lock >= 0:
            # What is half removed must not be gone on from.
            (self.directory / "count.json").unlink(missing_ok=True)
            shutil.rmtree(self.directory)
            os.close(self._lock)
        self._lock = -1
        self._of_use = False

    # Counting

    @property
    def counting(self) -> bool:
        """Whether a run before has come to a checkpoint of its counting."""
        return self._lock >= 0 and (self.directory / "count.json").exists()

    def begin_count(self, rules: dict[str, Any], states: Iterable[FileState]) -> dict[str, Any] | None:
        """How far the run before came, as given to `counted`; None when this one begins.

        rules: all that decides what is counted, as plain JSON values; states: the files of the source. Raises
        ParameterError, saying what, when they are not those of the run before.
        """
        rules = json.loads(json.dumps({"fastbpe": __version__, **rules}))  # JSON has no tuples
        lines = (f"{state.size}\t{state.mtime_ns}\t{json.dumps(state.path)}\n" for state in states)
        self._rules = json.dumps(rules)
        if self.counting:
            with open(self.directory / "count.json", "rb") as file:
                before = json.load(file)
            self._same(before["rules"], rules)
            with open(self.directory / "files", encoding="utf-8") as listed:
                for old, new in itertools.zip_longest(listed, lines):
                    if old != new:
                        raise self.refusal(_change(old, new))
            return before["progress"]
        self._begin()
        with atomic_write(self.directory / "files") as file:
            file.writelines(line.encode() for line in lines)
        return None

    def counted(self, progress: dict[str, Any]) -> None:
        """Notes how far counting has come; what it speaks of lies in the directory already."""
        with atomic_write(self.directory / "count.json") as file:
            file.write(json.dumps({"rules": json.loads(self._rules), "progress": progress}).encode())
        self._of_use = True

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return self.directory / "runs"

    def save_counts(self, counts: ChunkCounts, progress: dict[str, Any]) -> None:
        """Keeps the counts of everything, in place of the runs."""
        counts.save(self.directory / "counts.npz")
        self.counted(progress)
        shutil.rmtree(self.runs, ignore_errors=True)

    def counts(self) -> ChunkCounts:
        """What save_counts kept, mapped from its file: whether it fits into memory is not known yet."""
        return ChunkCounts.load(self.directory / "counts.npz", mapped=True)

    # Merging

    def merges(self, counts: ChunkCounts, rules: MergeRules, min_chunk_count: int = 1) -> Merges:
        """The merges that runs before have learned from the same counts by the same rules.

        min_chunk_count: by which the counts were chosen. Raises ParameterError, saying what, when they were
        learned from others or by others.
        """
        self._rules = json.dumps(
            {"fastbpe": __version__, **asdict(rules), "min_chunk_count": min_chunk_count, "text": counts.digest()}
        )
        path = self.directory / "merges"
        rows: list[list[int]] = []
        if self._lock >= 0 and path.exists():
            with open(path, "rb") as file:
                head = file.readline()
                size = len(head)
                if head.endswith(b"\n"):
                    self._same(json.loads(head), json.loads(self._rules))
                    for line in file:
                        row = _row(line)
                        if row is None:
                            break
                        rows.append(row)
                        size += len(line)
            if head.endswith(b"\n"):
                self._merges = os.open(path, os.O_WRONLY | os.O_APPEND)
                os.ftruncate(self._merges, size)
        table = np.array(rows, np.int64).reshape(-1, 4)
        return Merges(table[:, :2].copy(), table[:, 2].copy(), table[:, 3].copy(), "", counts.denominator)

    def learned(self, part: Merges) -> None:
        """Notes merges as they are learned."""
        self._parts.append(part)
        if self._merges < 0:
            if self._lock < 0 and len(self._parts) < LATE:
                return
            self._begin()
            self._merges = os.open(
                self.directory / "merges", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666
            )
            with os_errors_name(self.directory / "merges"):
                write_all(self._merges, self._rules.encode() + b"\n")
        for part in self._parts:
            rows = np.column_stack((part.pairs, part.counts, part.tokens_after)).tolist()
            with os_errors_name(self.directory / "merges"):
                write_all(self._merges, "".join("\t".join(map(str, row)) + "\n" for row in rows).encode())
            self._of_use = True
        self._parts = []

    # The directory

    def _begin(self) -> None:
        if self._lock >= 0:
            return
        self.directory.mkdir(exist_ok=True)
        self._lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        if not lock(self._lock):
            os.close(self._lock)
            self._lock = -1
            raise FastbpeError(f"{self.directory}: another run is at work there; wait for it to end, or stop it")
        remove_unfinished(self.directory)

    def _same(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                if name == "text":
                    raise self.refusal("the text has changed")
                raise self.refusal(f"{name} was {before.get(name)!r} and is {now.get(name)!r}")

    def refusal(self, what: str) -> ParameterError:
        """The error that says what keeps a run from going on with the one before."""
        return ParameterError(
            f"{self.directory}: cannot go on with the run there: {what}; remove the directory to start anew"
        )


@contextlib.contextmanager
def checkpoint_at(
    where: str | os.PathLike[str] | Checkpoint | None, resume: bool = False
) -> Iterator[Checkpoint | None]:
    """What `checkpoint=` stands for. A directory goes when the work is done; a Checkpoint is left to its owner."""
    if where is None or isinstance(where, Checkpoint):
        yield where
        return
    with Checkpoint(where, resume) as kept:
        yield kept
        kept.remove()


def _row(line: bytes) -> list[int] | None:
    """The numbers of a line that is whole."""
    try:
        row = [int(word) for word in line.split(b"\t")] if line.endswith(b"\n") else []
    except ValueError:
        return None
    return row if len(row) == 4 else None


def _change(old: str | None, new: str | None) -> str:
    """What became of a file, told from the lines of `files`."""
    if old is None or new is None or old.split("\t")[2] != new.split("\t")[2]:
        gone, come = (line and json.loads(line.split("\t")[2]) for line in (old, new))
        return f"the files are others: {gone or 'none'} was there, {come or 'none'} stands in its place"
    before, now = old.split("\t"), new.split("\t")
    how = f"{int(before[0]):,} bytes, now {int(now[0]):,}" if before[0] != now[0] else "written anew since"
    return f"{json.loads(before[2])} has changed ({how})"
