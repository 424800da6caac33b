"""Runs: counted chunks that memory has no room for, as NumPy files, and the exact sum of them.

Chunks lie in partitions by their hash, so a chunk's counts are all in the runs of one partition. Each partition is
summed on its own; then the rows of all partitions are brought into order of first appearance, a range of positions at
a time.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbpe.kernels.partitions import merge_runs
from fastbpe.npy_header import npy_header

Table = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]
Run = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

_PARTS = ("data", "starts", "counts", "firsts")


class Runs:
    """A temporary folder of runs, made when the first one is written. Any thread may write.

    kept: a folder for runs that are to outlive the process, with `names`, what it holds already; others there are
    removed. What a full or failing disk raises, OSError, comes through.
    """

    def __init__(self, kept: Path | None = None, names: Mapping[str, list[str]] | None = None) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._kept = kept
        self._written = {
            int(partition): [Path(kept or "", name) for name in of] for partition, of in (names or {}).items()
        }
        known = {path.name for paths in self._written.values() for path in paths}
        self._numbers = itertools.count(1 + max(map(int, known), default=-1))
        if kept is not None and kept.is_dir():
            for path in kept.iterdir():
                if path.name not in known:
                    shutil.rmtree(path)

    def __bool__(self) -> bool:
        return bool(self._written)

    @property
    def names(self) -> dict[str, list[str]]:
        """What has been written, for each partition in order."""
        return {str(partition): [path.name for path in paths] for partition, paths in self._written.items()}

    def write(self, partition: int, run: Run) -> None:
        """Writes what was taken from a partition."""
        if len(run[2]):
            self._written.setdefault(partition, []).append(self._save(run, self._kept))

    def table(self, rows_at_once: int) -> Table:
        """(data, starts, counts) of all runs, in order of first appearance, mapped from files.

        Besides one partition, about `rows_at_once` rows are in memory at a time. Nothing can be written afterwards.
        """
        stride = max(1, rows_at_once // max(1, len(self._written)))
        sums = [self._sum(partition, stride) for partition in sorted(self._written)]
        folder = self._new_folder()
        with (
            open(folder / "data.npy", "wb") as data,
            open(folder / "starts.npy", "wb") as starts,
            open(folder / "counts.npy", "wb") as counts,
        ):
            data.write(npy_header(np.dtype(np.uint8), sum(run.n_bytes for run in sums)))
            starts.write(npy_header(np.dtype(np.int64), sum(run.n for run in sums) + 1))
            counts.write(npy_header(np.dtype(np.int64), sum(run.n for run in sums)))
            np.zeros(1, np.int64).tofile(starts)
            base = 0
            for lower, upper in itertools.pairwise(_bounds(sums)):
                part = merge_runs(run.between(lower, upper) for run in sums)
                part[0].tofile(data)
                (part[1][1:] + base).tofile(starts)
                part[2].tofile(counts)
                base += len(part[0])
        return _mapped(folder / "data.npy"), _mapped(folder / "starts.npy"), _mapped(folder / "counts.npy")

    def close(self) -> None:
        """Removes the folder; a table that is mapped from it stays readable."""
        if self._folder is not None:
            self._folder.cleanup()

    def _sum(self, partition: int, stride: int) -> "_SortedRun":
        """One run of a partition in place of all of them."""
        folders = self._written[partition]
        run = merge_runs(_load(folder) for folder in folders) if len(folders) > 1 else _load(folders[0])
        if self._kept is None:
            for folder in folders:
                for name in _PARTS:
                    (folder / f"{name}.npy").unlink()
        return _SortedRun(self._save(run), len(run[2]), len(run[0]), run[3][::stride].copy())

    def _save(self, run: Run, kept: Path | None = None) -> Path:
        folder = self._new_folder() if kept is None else kept / str(next(self._numbers))
        folder.mkdir(parents=True, exist_ok=True)
        for k, name in enumerate(_PARTS):
            with open(folder / f"{name}.npy", "wb") as file:
                np.save(file, run[k], allow_pickle=False)
                if kept is not None:
                    file.flush()
                    os.fsync(file.fileno())
        return folder

    def _new_folder(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fastbpe-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name, str(next(self._numbers)))
        folder.mkdir()
        return folder


@dataclass
class _SortedRun:
    """All rows of one partition, by position; read from its files as ranges are asked for, which ascend."""

    folder: Path
    n: int
    n_bytes: int
    samples: npt.NDArray[np.int64]
    """The positions of every so many rows."""
    row: int = 0
    offset: int = 0

    def between(self, lower: int, upper: int) -> Run:
        """The rows met first at lower <= position < upper; `lower` is where the range before ended."""
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

    def _read(self, name: str, dtype: type[np.generic], start: int, stop: int) -> npt.NDArray[Any]:
        with open(self.folder / f"{name}.npy", "rb") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            file.seek(start * np.dtype(dtype).itemsize, 1)
            return np.fromfile(file, dtype, stop - start)


def _bounds(runs: list[_SortedRun]) -> Iterator[int]:
    """Positions, ascending, with few rows between them: about as many as the runs have between all their samples."""
    samples = np.sort(np.concatenate([run.samples for run in runs])) if runs else np.empty(0, np.int64)
    yield 0
    yield from samples[len(runs) :: max(1, len(runs))].tolist()
    yield 2**63 - 1


def _load(folder: Path) -> Run:
    data, starts, counts, firsts = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in _PARTS)
    return data, starts, counts, firsts


def _mapped(path: Path) -> npt.NDArray[Any]:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
