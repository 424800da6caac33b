"""ChunkCounts: the distinct chunks of a corpus, each with how often it occurs, as three arrays.

The rows stand in order of first appearance, whatever threads or blocks did the counting, so that a training which
decides ties by the pair met first has one answer. Counts made on several machines add up with ``+``.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import lcm
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from fastbpe.atomic import atomic_write
from fastbpe.errors import FormatError, ParameterError
from fastbpe.kernels.partitions import sum_rows
from fastbpe.normalizing import check_normalizer
from fastbpe.npy_header import npy_header
from fastbpe.pattern.named import resolve
from fastbpe.pattern.splitter import Splitter
from fastbpe.weight import LARGEST, Weight, as_weight

FORMAT = "fastbpe chunk counts"
VERSION = 1
Pattern = str | tuple[str, ...] | None

_LIMIT = 2**63 - 1
_ROWS = 65_536
_ALIGNMENT = 64
_MEMBER_HEADER = 30 + 20
"""Bytes before a member of a ZIP file: the header and the field of 64-bit sizes, without its name and other fields."""
_UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What zipfile, zlib, NumPy and json raise on damaged or foreign files."""


@dataclass(frozen=True)
class CorpusTotals:
    """What was read to get the counts."""

    documents: int = 0
    """Documents, empty ones included."""
    n_bytes: int = 0
    """Bytes of all documents."""
    invalid_bytes: int = 0
    """Bytes that a UTF-8 decoder does not accept (before a replacement)."""
    first_invalid: str | None = None
    """Where the first of them was met."""

    def __add__(self, other: CorpusTotals) -> CorpusTotals:
        return CorpusTotals(
            self.documents + other.documents,
            self.n_bytes + other.n_bytes,
            self.invalid_bytes + other.invalid_bytes,
            self.first_invalid if self.first_invalid is not None else other.first_invalid,
        )


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Distinct chunks and their counts; immutable. The arrays are taken as they are, without a copy.

    Row i is the chunk ``data[starts[i]:starts[i + 1]]`` (never empty), met ``counts[i]`` times; where sources have
    weights, ``counts[i] / denominator`` is its weighted count. ParameterError when the arrays contradict each other, a
    count is below 1, or all chunks together have 2**63 bytes or more.
    """

    data: npt.NDArray[np.uint8]
    """The bytes of all rows, one after the other."""
    starts: npt.NDArray[np.int64]
    """n + 1 offsets into data."""
    counts: npt.NDArray[np.int64]
    """n counts."""
    pattern: Pattern = None
    """The text of the split pattern, or of several in a row; None when each document was one chunk."""
    special_tokens: tuple[str, ...] = ()
    """The special tokens that were cut out of the text."""
    unmatched: str = "refuse"
    """What was done with text that the pattern does not match."""
    corpus: CorpusTotals = field(default_factory=CorpusTotals)
    """What was read."""
    denominator: int = 1
    """The common denominator of the weights, by which all counts are multiplied."""
    sources: tuple[dict[str, Any], ...] = ()
    """What was counted, as plain values: name, files, documents, bytes, and the weights and the sample if any."""
    normalizer: str | None = None
    """NFC or NFKC when the text was normalized before it was split."""
    unicode_version: str | None = None
    """Of the tables that normalized it."""

    def __post_init__(self) -> None:
        data: npt.NDArray[np.uint8] = _frozen("data", self.data, np.uint8)
        starts: npt.NDArray[np.int64] = _frozen("starts", self.starts, np.int64)
        counts: npt.NDArray[np.int64] = _frozen("counts", self.counts, np.int64)
        if len(starts) != len(counts) + 1 or starts[0] != 0 or starts[-1] != len(data):
            raise ParameterError("starts must hold one offset more than counts, from 0 to the length of data")
        for part, lengths in _blocks(counts, starts):
            if lengths.min() < 1:
                raise ParameterError("starts must rise: no chunk is empty")
            if part.min() < 1:
                raise ParameterError("every count must be at least 1")
        if not 1 <= self.denominator < LARGEST:
            raise ParameterError(f"the denominator must be 1 .. {LARGEST - 1:,}, not {self.denominator}")
        if sum(_exact_dot(*block) for block in _blocks(counts, starts)) > _LIMIT:
            raise ParameterError("these chunks stand for 2**63 bytes or more, which no count could hold")
        check_normalizer(self.normalizer)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "special_tokens", tuple(self.special_tokens))

    @classmethod
    def from_dict(
        cls,
        counts: Mapping[bytes, int],
        pattern: Pattern = "none",
        special_tokens: Sequence[str] = (),
        unmatched: str = "refuse",
        normalizer: str | None = None,
    ) -> ChunkCounts:
        """Counts from {chunk: count}, rows in the mapping's order; ``pattern`` is a name or a pattern's text.

        ``normalizer`` says what was done to the text that the chunks are of; they are taken as they are.
        """
        for chunk, count in counts.items():
            if not isinstance(chunk, bytes) or not chunk:
                raise ParameterError(f"a chunk is a bytes object of at least one byte, not {chunk!r}")
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= _LIMIT:
                raise ParameterError(f"a count is an integer from 1 to 2**63 - 1, not {count!r} (chunk {chunk!r})")
        starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum([len(chunk) for chunk in counts], out=starts[1:])
        data = np.frombuffer(b"".join(counts), np.uint8)
        text = resolve(pattern)[1]
        rows = data, starts, np.array(list(counts.values()), np.int64)
        return cls(*rows, text, tuple(special_tokens), unmatched, normalizer=normalizer)

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        """Same rows, denominator and rules of cutting out, normalizing and splitting; what was read is not compared."""
        if not isinstance(other, ChunkCounts):
            return NotImplemented
        return (
            self._rules() == other._rules()
            and self.denominator == other.denominator
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.data, other.data)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ChunkCounts({len(self)} distinct of {self.total} chunks, {self.n_bytes} bytes)"

    @property
    def total(self) -> int:
        """How many chunks were met, repeated ones included; times the denominator, as all counts."""
        return sum(int(counts.sum()) for counts, _ in _blocks(self.counts, self.starts))

    @property
    def n_bytes(self) -> int:
        """How many bytes these chunks stand for, repeated ones included; times the denominator."""
        return sum(_exact_dot(*block) for block in _blocks(self.counts, self.starts))

    def facts(self) -> dict[str, Any]:
        """What a training writes down of its corpus: figures and parameters. `chunks` is times the denominator."""
        told: dict[str, Any] = {} if self.denominator == 1 else {"denominator": self.denominator}
        if self.unicode_version is not None:
            told["unicode_version"] = self.unicode_version
        for what in ("weights", "times", "sample"):
            values = [source[what] for source in self.sources if what in source]
            if values:
                told[what] = [value for k, value in enumerate(values) if value not in values[:k]]
        return {
            "documents": self.corpus.documents,
            "bytes": self.corpus.n_bytes,
            "invalid_bytes": self.corpus.invalid_bytes,
            "chunks": self.total,
            "distinct_chunks": len(self),
            **told,
        }

    def least_count(self, min_chunk_count: int) -> int:
        """The smallest of `counts` that a chunk met at least this often may have."""
        return min(min_chunk_count * self.denominator, _LIMIT)

    def at_least(self, min_chunk_count: int) -> ChunkCounts:
        """The rows whose chunk was met at least this often, by its weighted count; all of them for 1."""
        if min_chunk_count <= 1:
            return self
        n, n_bytes = self.size_at_least(min_chunk_count)
        if n == len(self):
            return self
        least = self.least_count(min_chunk_count)
        data, counts, lengths = np.empty(n_bytes, np.uint8), np.empty(n, np.int64), np.zeros(n + 1, np.int64)
        row = place = start = 0
        for part, of_each in _blocks(self.counts, self.starts):
            stop = start + int(of_each.sum())
            kept = part >= least
            chosen = self.data[start:stop][np.repeat(kept, of_each)]
            data[place : place + len(chosen)] = chosen
            to = row + int(np.count_nonzero(kept))
            counts[row:to], lengths[row + 1 : to + 1] = part[kept], of_each[kept]
            row, place, start = to, place + len(chosen), stop
            _let_go(self.data)
        return replace(self, data=data, starts=np.cumsum(lengths, out=lengths), counts=counts)

    def size_at_least(self, min_chunk_count: int) -> tuple[int, int]:
        """How many rows `at_least` gives, and the bytes of their chunks."""
        least = self.least_count(min_chunk_count)
        n = n_bytes = 0
        for part, lengths in _blocks(self.counts, self.starts):
            kept = part >= least
            n += int(np.count_nonzero(kept))
            n_bytes += int(lengths[kept].sum())
        return n, n_bytes

    def times(self, weight: Weight) -> ChunkCounts:
        """These counts with each row counted `weight` times: a number, or a text as "2.5" or "1/3".

        ParameterError for a weight that is not above 0, and where the counts would leave 64 bits.
        """
        factor = as_weight(weight)
        denominator = self.denominator * factor.denominator
        if denominator >= LARGEST:
            raise ParameterError(f"the weight {weight!r} has too many digits: round it")
        sources = tuple({**source, "times": str(factor * as_weight(source.get("times", 1)))} for source in self.sources)
        return replace(self, counts=self._scaled(factor.numerator), denominator=denominator, sources=sources)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """(chunk, count) row by row; for looking at counts, not for large ones."""
        for i, count in enumerate(self.counts):
            yield self.data[self.starts[i] : self.starts[i + 1]].tobytes(), int(count)

    def __add__(self, other: ChunkCounts) -> ChunkCounts:
        """These rows with the other's counts added, then the other's new rows; exact for any two denominators.

        ParameterError when the patterns, special tokens or normalizers differ, or a sum leaves 64 bits.
        """
        if not isinstance(other, ChunkCounts):
            return NotImplemented
        for name in ("pattern", "unmatched"):
            self._check_same(name, getattr(self, name), getattr(other, name))
        self._check_same("normalizers", self.normalizer, other.normalizer)
        self._check_same("Unicode versions", self.unicode_version, other.unicode_version)
        self._check_same("special tokens", sorted(self.special_tokens), sorted(other.special_tokens))
        denominator = lcm(self.denominator, other.denominator)
        if denominator >= LARGEST:
            raise ParameterError(
                f"counts with the denominators {self.denominator} and {other.denominator} have no common one below "
                f"{LARGEST:,}: round their weights"
            )
        try:
            rows = sum_rows(
                [(table.data, table.starts, table._scaled(denominator // table.denominator)) for table in (self, other)]
            )
        except OverflowError as error:
            raise ParameterError(f"these counts are too large to be added: {error}") from None
        data, starts, counts = rows
        return replace(
            self,
            data=data,
            starts=starts,
            counts=counts,
            corpus=self.corpus + other.corpus,
            denominator=denominator,
            sources=self.sources + other.sources,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one .npz file without pickles, whole or not at all; equal counts give equal bytes."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "pattern": self.pattern,
            "special_tokens": list(self.special_tokens),
            "unmatched": self.unmatched,
            "corpus": asdict(self.corpus),
            "denominator": self.denominator,
            "sources": list(self.sources),
            "normalizer": self.normalizer,
            "unicode_version": self.unicode_version,
        }
        text = np.frombuffer(json.dumps(header, ensure_ascii=True).encode(), np.uint8)
        arrays: dict[str, npt.NDArray[Any]] = {
            "header": text,
            "data": self.data,
            "starts": self.starts,
            "counts": self.counts,
        }
        with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy")  # its date is a constant
                member.extra = _padding(file.tell() + _MEMBER_HEADER + len(member.filename))
                with archive.open(member, "w", force_zip64=True) as out:
                    _write_array(out, array)

    @classmethod
    def load(cls, path: str | os.PathLike[str], mapped: bool = False) -> ChunkCounts:
        """Reads what save() wrote. FormatError for anything else; OSError when the file cannot be read.

        mapped: the arrays stay in the file, which must not be written to while they are used.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                header = json.loads(archive["header"].tobytes())
                _check_header(path, header)
                read = functools.partial(_mapped, file, archive.zip) if mapped else archive.__getitem__
                data, starts, counts = map(read, ("data", "starts", "counts"))
            return cls(
                data,
                starts,
                counts,
                tuple(header["pattern"]) if isinstance(header["pattern"], list) else header["pattern"],
                tuple(header["special_tokens"]),
                header["unmatched"],
                CorpusTotals(**header["corpus"]),
                header.get("denominator", 1),
                tuple(header.get("sources", ())),
                header.get("normalizer"),
                header.get("unicode_version"),
            )
        except FormatError:
            raise
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise FormatError(f"{os.fspath(path)}: not a file of chunk counts (its parts lie nowhere)") from error
        except _UNREADABLE as error:
            raise FormatError(f"{os.fspath(path)}: not a file of chunk counts ({error})") from error

    def digest(self) -> str:
        """A hash of the rows and the denominator, in hexadecimal digits."""
        digest = hashlib.sha256(str(self.denominator).encode())
        for array in (self.data, self.starts, self.counts):
            digest.update(len(array).to_bytes(8, "little"))
            for start in range(0, len(array), 8 * _ROWS):
                digest.update(array[start : start + 8 * _ROWS].data)
                _let_go(array)
        return digest.hexdigest()

    def _scaled(self, factor: int) -> npt.NDArray[np.int64]:
        if factor == 1:
            return self.counts
        if self.n_bytes * factor > _LIMIT:
            raise ParameterError("with these weights the chunks stand for 2**63 bytes or more: take smaller weights")
        return self.counts * factor

    def _rules(self) -> tuple[Pattern, str, tuple[str, ...], str | None]:
        return self.pattern, self.unmatched, self.special_tokens, self.normalizer

    @staticmethod
    def _check_same(what: str, ours: object, theirs: object) -> None:
        if ours != theirs:
            raise ParameterError(f"counts of different {what} cannot be added: {ours!r} and {theirs!r}")


def _check_header(path: str | os.PathLike[str], header: object) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FormatError(f"{os.fspath(path)}: not a file of chunk counts")
    if header.get("version") != VERSION:
        raise FormatError(
            f"{os.fspath(path)}: chunk counts of format version {header.get('version')}; this program reads {VERSION}"
        )
    pattern, tokens = header["pattern"], header["special_tokens"]
    texts = [*(pattern if isinstance(pattern, list) else [pattern or ""]), *tokens]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{os.fspath(path)}: the pattern or a special token is not a text")
    try:
        Splitter(tuple(pattern) if isinstance(pattern, list) else pattern, header["unmatched"])
    except ParameterError as error:
        raise FormatError(f"{os.fspath(path)}: no pattern that chunks were cut by: {error}") from None
    if not isinstance(header.get("unicode_version"), str | None):
        raise FormatError(f"{os.fspath(path)}: the Unicode version is not a text")
    sources = header.get("sources", [])
    if type(header.get("denominator", 1)) is not int or not isinstance(sources, list):
        raise FormatError(f"{os.fspath(path)}: the denominator is not a whole number, or the sources are not a list")
    if not all(type(header["corpus"].get(name, 0)) is int for name in ("documents", "n_bytes", "invalid_bytes")):
        raise FormatError(f"{os.fspath(path)}: what is said of the corpus is not in whole numbers")
    if not all(isinstance(source, dict) for source in sources):
        raise FormatError(f"{os.fspath(path)}: a source is not an object")


def _frozen(name: str, array: npt.ArrayLike, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """A view of the array that cannot be written to."""
    array = np.asarray(array)
    if array.ndim != 1 or array.dtype != dtype:
        raise ParameterError(f"{name} must be one-dimensional of {np.dtype(dtype)}, not {array.ndim}-d {array.dtype}")
    array = np.ascontiguousarray(array).view()
    array.flags.writeable = False
    return array


def _blocks(
    counts: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Counts and lengths of some rows at a time, so that looking at millions of them takes little memory."""
    for start in range(0, len(counts), _ROWS):
        yield counts[start : start + _ROWS], np.diff(starts[start : start + _ROWS + 1])
        _let_go(counts)
        _let_go(starts)


def _let_go(array: npt.NDArray[Any]) -> None:
    """Takes the pages of a mapped file out of this process; the system may keep them. Other arrays are left alone."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _write_array(file: IO[bytes], array: npt.NDArray[Any]) -> None:
    """The array as an .npy file, a stretch at a time."""
    file.write(npy_header(array.dtype, len(array)))
    for start in range(0, len(array), 8 * _ROWS):
        file.write(array[start : start + 8 * _ROWS].tobytes())
        _let_go(array)


def _padding(header_end: int) -> bytes:
    """The extra field after which a member of a ZIP file begins at a multiple of 64, so that it can be mapped."""
    field = struct.Struct("<HHH")  # as zipalign has it: its number, the size of what follows, the multiple
    size = -(header_end + field.size) % _ALIGNMENT
    return field.pack(0xD935, 2 + size, _ALIGNMENT) + bytes(size)


def _mapped(file: IO[bytes], archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """An array of the file that save() wrote, checked and mapped; one that lies there otherwise is read."""
    member = archive.getinfo(f"{name}.npy")
    file.seek(member.header_offset + 26)
    start = file.tell() + 4 + sum(struct.unpack("<HH", file.read(4)))
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if member.compress_type != zipfile.ZIP_STORED or start % _ALIGNMENT or version != (1, 0):
            stream.seek(0)
            return np.lib.format.read_array(stream, allow_pickle=False)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.hasobject:
            raise ValueError(f"{name} holds objects")
        start += stream.tell()
        while stream.read(8 * _ROWS):  # to the end, where the checksum is compared
            pass
    return np.asarray(np.memmap(file, dtype, "r", start, shape))


def _exact_dot(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> int:
    """The sum of a[i] * b[i] for a < 2**63 and sums of b below 2**42, without wrapping."""
    mask = (1 << 21) - 1
    return sum(int(np.dot(a >> shift & mask, b)) << shift for shift in (0, 21, 42))
