"""What can be read: files, directories, globs, standard input, and any iterable of documents."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES, Block, Piece, SourcePiece, pack
from fastbpe.corpus.readers import ReaderOptions, read_text
from fastbpe.corpus.sniff import HEAD_BYTES, advice, not_text
from fastbpe.corpus.walk import expand, printable, unreadable
from fastbpe.errors import DataError, ParameterError
from fastbpe.text import to_bytes

STDIN = "-"
SKIPPED_LISTED = 20

Source = Any  # Files | Path | Iterable[str | bytes]; checked by Corpus, which says what is wrong


@dataclass(frozen=True)
class Files:
    """Files to read and how; made by `files`."""

    patterns: tuple[str, ...]
    options: ReaderOptions


def files(*patterns: str | os.PathLike[str], separator: str | bytes | None = None, lines: bool = False) -> Files:
    """A source of files: names, directories (all files below, sorted), globs, or "-" for standard input.

    A file is a document. `separator` cuts a file into documents and is dropped at the cut; `lines=True` makes each
    line a document and keeps its newline. Nothing is read before the source is used.
    """
    if not patterns:
        raise ParameterError("files() needs at least one file, directory, glob or '-'")
    names = tuple(os.fspath(pattern) for pattern in patterns)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"files() takes names of files, not {name!r}")
    if names.count(STDIN) > 1:
        raise ParameterError("standard input ('-') can be read only once")
    if separator is not None and lines:
        raise ParameterError("choose separator or lines, not both")
    cut = None if separator is None else to_bytes(separator)
    if cut == b"":
        raise ParameterError("the separator must not be empty")
    return Files(names, ReaderOptions(cut, lines))


@dataclass
class SourceReport:
    """What was read of one source (one pattern, or one iterable), and what was passed over and why."""

    name: str
    files: int = 0
    documents: int = 0
    bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    skipped_examples: list[tuple[str, str]] = field(default_factory=list)
    documents_per_file: list[int] | None = None

    def skip(self, what: str, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1
        if len(self.skipped_examples) < SKIPPED_LISTED:
            self.skipped_examples.append((printable(what), why))


@dataclass(frozen=True)
class Survey:
    """Names, sizes and states of the files of a source, without reading them."""

    files: int
    bytes: int
    digest: str


class Corpus:
    """One reading of a source. `reports` fill while `blocks` runs.

    Raises ParameterError for what is no source, DataError for what cannot be found.
    """

    def __init__(self, source: Source, exclude: str | os.PathLike[str] | None = None) -> None:
        self.options = ReaderOptions()
        self.reports: list[SourceReport] = []
        self._exclude = None if exclude is None else os.fspath(exclude)
        self._files: Files | None = None
        self._documents: Iterable[str | bytes] | None = None
        if isinstance(source, os.PathLike):
            source = files(source)
        if isinstance(source, Files):
            self._files = source
            self.options = source.options
        else:
            self._documents = _checked_iterable(source)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """Blocks of about `block_bytes`, documents in the order of the source."""
        if block_bytes < 1:
            raise ParameterError(f"block_bytes must be at least 1, not {block_bytes}")
        pieces = self._pieces_of_files(block_bytes) if self._files else self._pieces_of_documents(block_bytes)
        return pack(pieces, block_bytes)

    def survey(self) -> Survey | None:
        """A look at the files' names and sizes, or None where only reading tells (standard input, iterables)."""
        if self._files is None or STDIN in self._files.patterns:
            return None
        count = size = 0
        digest = hashlib.sha256()
        for pattern in self._files.patterns:
            for path in expand(pattern, lambda path, why: None, self._exclude):
                try:
                    state = os.stat(path)
                except OSError as error:
                    raise unreadable(path, error) from error
                if not os.path.isfile(path):
                    return None
                count += 1
                size += state.st_size
                digest.update(b"%s\0%d %d\n" % (os.fsencode(path), state.st_size, state.st_mtime_ns))
        return Survey(count, size, digest.hexdigest())

    def _pieces_of_files(self, block_bytes: int) -> Iterator[SourcePiece]:
        assert self._files is not None
        for pattern in self._files.patterns:
            report = SourceReport("standard input" if pattern == STDIN else printable(pattern))
            if self.options.separator is not None:
                report.documents_per_file = []
            self.reports.append(report)
            for path in [STDIN] if pattern == STDIN else expand(pattern, report.skip, self._exclude):
                yield from self._pieces_of_file(path, report, block_bytes)

    def _pieces_of_file(self, path: str, report: SourceReport, block_bytes: int) -> Iterator[SourcePiece]:
        name = "standard input" if path == STDIN else printable(path)
        number = 0
        try:
            with _opened(path) as file:
                first = True
                for piece in read_text(file, self.options, block_bytes):
                    if first:
                        _refuse_non_text(name, bytes(piece.data[:HEAD_BYTES]), self.options)
                        first = False
                    yield SourcePiece(piece, name, number)
                    number += len(piece.ends)
                    report.documents += len(piece.ends)
                    report.bytes += len(piece.data)
        except OSError as error:
            raise unreadable(name, error) from error
        report.files += 1
        if report.documents_per_file is not None:
            report.documents_per_file.append(number)

    def _pieces_of_documents(self, block_bytes: int) -> Iterator[SourcePiece]:
        assert self._documents is not None
        report = SourceReport("documents given")
        self.reports.append(report)
        batch: list[bytes] = []
        size = number = 0

        def batched() -> Iterator[SourcePiece]:
            nonlocal batch, size, number
            if batch:
                ends = np.cumsum(np.fromiter(map(len, batch), np.int64, len(batch)))
                piece = Piece(b"".join(batch), ends, np.zeros(len(batch), np.int64))
                report.documents += len(batch)
                report.bytes += size
                yield SourcePiece(piece, report.name, number)
                number += len(batch)
                batch, size = [], 0

        for document in self._documents:
            try:
                data = to_bytes(document)
            except ParameterError as error:
                raise ParameterError(f"document {number + len(batch)}: {error}") from None
            if size + len(data) > block_bytes or len(batch) >= block_bytes // 8 + 1:
                yield from batched()
            if len(data) <= block_bytes:
                batch.append(data)
                size += len(data)
                continue
            view = memoryview(data)
            for at in range(0, len(view), block_bytes):
                part = view[at : at + block_bytes]
                last = at + block_bytes >= len(view)
                ends = np.array([len(part)] if last else [], np.int64)
                yield SourcePiece(Piece(part, ends, np.array([at], np.int64)), report.name, number)
            number += 1
            report.documents += 1
            report.bytes += len(view)
        yield from batched()


def read_blocks(source: Source, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """Blocks of a source; `Corpus` gives the reports besides."""
    return (source if isinstance(source, Corpus) else Corpus(source)).blocks(block_bytes)


def _checked_iterable(source: Source) -> Iterable[str | bytes]:
    if isinstance(source, str | bytes | bytearray | memoryview):
        raise ParameterError(
            f"a bare {type(source).__name__} may be a path or a text; give pathlib.Path(...) or fastbpe.files(...) for "
            "a path, [text] for one document"
        )
    if not isinstance(source, Iterable) or isinstance(source, Mapping):
        raise ParameterError(
            f"{type(source).__name__} is no source; give an iterable of str or bytes (each a document), "
            "a pathlib.Path, or fastbpe.files(...)"
        )
    if isinstance(source, list | tuple) and source and all(map(_names_a_file, source)):
        raise ParameterError(
            "every item of this list names an existing file; give fastbpe.files(*names) to read the files, or "
            "iter(items) if the names are the documents"
        )
    return source


def _names_a_file(item: object) -> bool:
    if isinstance(item, os.PathLike):
        return True
    if not isinstance(item, str) or not item or len(item) > 4096:
        return False
    with contextlib.suppress(OSError, ValueError):
        return os.path.isfile(item)
    return False


def _opened(path: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if path == STDIN:
        if sys.stdin is None:
            raise DataError("standard input is closed; pipe the text in, or name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    return open(path, "rb", buffering=0)


def _refuse_non_text(name: str, head: bytes, options: ReaderOptions) -> None:
    what = not_text(head)
    if what is not None:
        raise DataError(f"{name}: is {what}, not plain UTF-8 text; {advice(what)}")
    by_record = options.lines or options.separator is not None
    if not by_record and Path(name).suffix.lower() in (".jsonl", ".ndjson"):
        raise DataError(f"{name}: JSON Lines are not read by field yet; lines=True (--lines) takes each line as text")
