"""Runs: counted chunks that memory has no room for, as NumPy arrays in files, and the exact sum of them.

Chunks lie in partitions by their hash, so a chunk's counts are all in the runs of one partition. Each partition is
summed on its own; then the rows of all partitions are brought into order of first appearance, a range of positions at
a time.
"""

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fastbpe.atomic import os_errors_name, sync_directory
from fastbpe.kernels.partitions import merge_runs
from fastbpe.npy_header import npy_header

Table = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]
Run = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

_PARTS = ("data", "starts", "counts", "firsts")

ALIGNMENT = 64
"""Arrays begin at a multiple of it in a file, as NPY has it for the data behind a header."""

ROW_BYTES = 256
COPIES = 3
"""What a row takes while rows are brought into order, about: so much, and its chunk so often."""


class Runs:
    """A temporary folder of runs, made when the first one is written. Any thread may write.

    kept: a folder for runs that are to outlive the process, with `places`, what it holds already; what else is there is
    removed. The temporary folder lies in it then. What a full or failing disk raises, OSError, comes through.
    """

    def __init__(self, kept: Path | None = None, places: Mapping[str, list[tuple[str, int]]] | None = None) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._kept = kept
        self._written = {
            int(partition): [(Path(kept or "", name), offset) for name, offset in of]
            for partition, of in (places or {}).items()
        }
        known = {path.name for of in self._written.values() for path, _ in of}
        self._numbers = itertools.count(1 + max(map(int, known), default=-1))
        if kept is not None and kept.is_dir():
            for path in kept.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name not in known:
                    path.unlink()

    def __bool__(self) -> bool:
        return bool(self._written)

    @property
    def places(self) -> dict[str, list[tuple[str, int]]]:
        """Where the runs of each partition lie, in order: the file's name and the offset in it."""
        return {str(partition): [(path.name, offset) for path, offset in of] for partition, of in self._written.items()}

    def write(self, runs: Iterable[tuple[int, Run]], lasting: bool = True) -> None:
        """Writes what was taken from partitions, to one file; not to the folder that is kept, unless it is lasting."""
        kept = self._kept if lasting else None
        with contextlib.ExitStack() as stack:
            file = None
            for partition, run in runs:
                if not len(run[2]):
                    continue
                if file is None:
                    folder = self._temporary() if kept is None else kept
                    folder.mkdir(exist_ok=True)
                    path = folder / str(next(self._numbers))
                    stack.enter_context(os_errors_name(path))
                    file = stack.enter_context(open(path, "wb"))
                self._written.setdefault(partition, []).append((path, file.tell()))
                for array in run:
                    _save(file, array)
            if file is not None and kept is not None:
                file.flush()
                os.fsync(file.fileno())
                sync_directory(kept)

    def table(self, bytes_at_once: int) -> Table:
        """(data, starts, counts) of all runs, in order of first appearance, mapped from files.

        About as many rows are in memory at a time as take `bytes_at_once`, or one that takes more. Nothing can be
        written afterwards.
        """
        sums = [run for partition in sorted(self._written) for run in self._sum(partition, bytes_at_once)]
        longest = max((run.longest for run in sums), default=0)
        at_once = max(bytes_at_once // 2, bytes_at_once - COPIES * longest - ROW_BYTES)
        stride = max(1, at_once // max(1, len(sums)))
        folder = self._new_folder()
        with (
            os_errors_name(folder),
            open(folder / "data.npy", "wb") as data,
            open(folder / "starts.npy", "wb") as starts,
            open(folder / "counts.npy", "wb") as counts,
        ):
            data.write(npy_header(np.dtype(np.uint8), sum(run.n_bytes for run in sums)))
            starts.write(npy_header(np.dtype(np.int64), sum(run.n for run in sums) + 1))
            counts.write(npy_header(np.dtype(np.int64), sum(run.n for run in sums)))
            starts.write(np.zeros(1, np.int64).data)
            base = 0
            for upper in _bounds(sums, stride):
                part = merge_runs(run.upto(upper) for run in sums)
                data.write(part[0].data)
                starts.write((part[1][1:] + base).data)
                counts.write(part[2].data)
                base += len(part[0])
        return _mapped(folder / "data.npy"), _mapped(folder / "starts.npy"), _mapped(folder / "counts.npy")

    def close(self) -> None:
        """Removes the folder; a table that is mapped from it stays readable."""
        if self._folder is not None:
            self._folder.cleanup()

    def _sum(self, partition: int, bytes_at_once: int) -> Iterator["_SortedRun"]:
        """One run of a partition in place of all of them; several, of different chunks, where one would take more."""
        places = self._written[partition]
        n_parts = 1
        if len(places) > 1:
            taken = sum((COPIES - 1) * len(run[0]) + ROW_BYTES * len(run[2]) for run in map(_load, places))
            n_parts += 2 * taken // max(1, bytes_at_once)  # parts of few long chunks are uneven
        for part in range(n_parts):
            run = merge_runs(map(_load, places), 0, part, n_parts) if len(places) > 1 else _load(places[0])
            if len(run[2]):
                folder = self._new_folder()
                for k, name in enumerate(_PARTS):
                    with os_errors_name(folder), open(folder / f"{name}.npy", "wb") as file:
                        _save(file, run[k])
                yield _SortedRun(folder, len(run[2]), len(run[0]), int(np.diff(run[1]).max()))
            del run
        if self._kept is None:  # where files hold one run each
            for path, _ in places:
                path.unlink()

    def _temporary(self) -> Path:
        if self._folder is None:
            if self._kept is not None:
                self._kept.mkdir(exist_ok=True)  # where the next run finds what a killed one left
            self._folder = tempfile.TemporaryDirectory(prefix="fastbpe-", dir=self._kept, ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def _new_folder(self) -> Path:
        folder = self._temporary() / str(next(self._numbers))
        folder.mkdir()
        return folder


@dataclass
class _SortedRun:
    """All rows of one partition, by position; read from its files as ranges are asked for, which ascend."""

    folder: Path
    n: int
    n_bytes: int
    longest: int
    """Bytes of the longest chunk."""
    row: int = 0
    offset: int = 0

    def upto(self, upper: int) -> Run:
        """The rows met first at a position below `upper`, from where the range before ended."""
        firsts = np.load(self.folder / "firsts.npy", mmap_mode="r")
        stop = int(np.searchsorted(firsts, upper))
        starts = self._read("starts", np.int64, self.row, stop + 1)
        size = int(starts[-1]) - self.offset
        run = (
            self._read("data", np.uint8, self.offset, self.offset + size),
            starts - self.offset,
            self._read("counts", np.int64, self.row, stop),
            np.array(firsts[self.row : stop]),
        )
        self.row, self.offset = stop, self.offset + size
        return run

    def samples(self, stride: int) -> npt.NDArray[np.int64]:
        """Positions between which the rows take so many bytes; that of a row that takes more is there several times."""
        starts, firsts = _mapped(self.folder / "starts.npy"), _mapped(self.folder / "firsts.npy")
        before = COPIES * starts[:-1] + ROW_BYTES * np.arange(self.n)
        places = np.arange(0, COPIES * int(starts[-1]) + ROW_BYTES * self.n, stride)
        return np.asarray(firsts[np.searchsorted(before, places, side="right") - 1])

    def _read(self, name: str, dtype: type[np.generic], start: int, stop: int) -> npt.NDArray[Any]:
        with open(self.folder / f"{name}.npy", "rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            file.seek(start * np.dtype(dtype).itemsize, 1)
            return np.fromfile(file, dtype, stop - start)


def _bounds(runs: list[_SortedRun], stride: int) -> Iterator[int]:
    """Positions up to which to sum, ascending, with few rows between them: they take about as much as those that the
    runs have between all their samples."""
    samples = np.sort(np.concatenate([run.samples(stride) for run in runs])) if runs else np.empty(0, np.int64)
    yield from np.unique(samples[len(runs) :: max(1, len(runs))]).tolist()
    yield 2**63 - 1


def _save(file: BinaryIO, array: npt.NDArray[Any]) -> None:
    file.write(bytes(-file.tell() % ALIGNMENT))  # or the array would be mapped where its items must not lie
    # By the file's own write, which says why it cannot; what NumPy raises for a full disk does not.
    file.write(npy_header(array.dtype, len(array)))
    file.write(array.data)


def _load(place: tuple[Path, int]) -> Run:
    """A run, mapped from its file."""
    path, offset = place
    with open(path, "rb") as file:
        file.seek(offset)
        data, starts, counts, firsts = (_mapped_at(file) for _ in _PARTS)
    return data, starts, counts, firsts


def _mapped_at(file: BinaryIO) -> npt.NDArray[Any]:
    """The array that stands next in a file, mapped."""
    file.seek(-file.tell() % ALIGNMENT, os.SEEK_CUR)
    np.lib.format.read_magic(file)
    (n,), _, dtype = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    array = np.asarray(np.memmap(file, dtype, "r", start, (n,)))
    file.seek(start + array.nbytes)
    return array


def _mapped(path: Path) -> npt.NDArray[Any]:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
