"""What can be read: files, directories, globs, standard input, and any iterable of documents."""

import contextlib
import functools
import hashlib
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fastbpe.corpus.ahead import ahead
from fastbpe.corpus.blocks import BLOCK_BYTES, Block, SourcePiece, pack
from fastbpe.corpus.compressed import SUFFIXES
from fastbpe.corpus.content import read_content
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.records import is_table, read_records
from fastbpe.corpus.remote import expand_address, is_address, open_address, shown, unreachable
from fastbpe.corpus.report import Damaged, SourceReport, check_on_error
from fastbpe.corpus.walk import expand, printable, why_unreadable
from fastbpe.errors import DataError, DataWarning, FastbpeError, ParameterError
from fastbpe.text import counted, to_bytes

STDIN = "-"
NOT_PLAIN = {*SUFFIXES, ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".tar", ".tgz"}

Source = Any  # Files | Records | Path | Iterable[str | bytes | Mapping]; checked by Corpus, which says what is wrong


@dataclass(frozen=True)
class Files:
    """Files to read and how; made by `files`."""

    patterns: tuple[str, ...]
    options: ReaderOptions
    on_error: str = "report"


@dataclass(frozen=True)
class Records:
    """Records whose field is a document; made by `documents`."""

    records: Any
    options: ReaderOptions
    on_error: str = "report"


def files(
    *patterns: str | os.PathLike[str],
    separator: str | bytes | None = None,
    lines: bool = False,
    text_field: str | None = None,
    where: Mapping[str, str] | None = None,
    members: str | None = None,
    on_error: str = "report",
) -> Files:
    """A source of files: names, directories (all files below, sorted), globs, addresses, or "-" for standard input.

    What a file holds is told by its content, then by its name: plain text, JSON Lines, CSV and TSV, each plain or
    compressed (gzip, zstd, xz, bzip2), Parquet, Arrow, tar archives of these; addresses (s3://, https://, ...) are
    opened by fsspec.

    A file of plain text is a document. `separator` cuts it into documents and is dropped at the cut; `lines=True` makes
    each line a document and keeps its newline. Of records `text_field` is the document ("a.b" for nested ones; without
    it `text`, or `content` where there is no `text`), and `where={"lang": "Python"}` takes those with these values
    only. `members` is a glob that members of tar archives must match.

    on_error: "report" skips bad records and tells of them, "stop" raises DataError at the first. Nothing is read before
    the source is used.
    """
    if not patterns:
        raise ParameterError("files() needs at least one file, directory, glob or '-'")
    if len(patterns) == 1 and isinstance(patterns[0], list | tuple):
        raise ParameterError("files() takes names, not a list of them: write files(*names)")
    names = tuple(os.fspath(name) if isinstance(name, os.PathLike) else name for name in patterns)
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
    conditions = _conditions(where)
    if (text_field is not None or conditions) and (lines or cut is not None):
        raise ParameterError("text_field and where choose records, lines and separator cut plain text: choose one way")
    options = ReaderOptions(cut, lines, _checked_field(text_field), conditions, members)
    return Files(names, options, check_on_error(on_error))


def documents(
    records: Iterable[Any],
    text_field: str | None = None,
    where: Mapping[str, str] | None = None,
    on_error: str = "report",
) -> Records:
    """A source of records: a Hugging Face dataset, an Arrow table, or any iterable of mappings, str or bytes.

    `text_field`, `where` and `on_error` as in `files`.
    """
    options = ReaderOptions(None, False, _checked_field(text_field), _conditions(where))
    return Records(records, options, check_on_error(on_error))


def _checked_field(field: str | None) -> str | None:
    if field is not None and (not isinstance(field, str) or not all(field.split("."))):
        raise ParameterError(f"text_field={field!r}: give the name of a field, or names with dots between")
    return field


def _conditions(where: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    for name, value in (where or {}).items():
        if not isinstance(name, str) or not isinstance(value, str) or not all(name.split(".")):
            raise ParameterError(f"where={{{name!r}: {value!r}}}: give names of fields and their values as str")
    return tuple((where or {}).items())


class FileState(NamedTuple):
    """What tells whether a file is the one that it was."""

    path: str
    size: int
    mtime_ns: int


class Read(NamedTuple):
    """How much of a source was read: files, and the reports as plain values."""

    files: int
    reports: list[dict[str, Any]]


class _File(NamedTuple):
    """found: by walking, not named itself."""

    path: str
    report: SourceReport
    remote: bool
    found: bool


@dataclass(frozen=True)
class Survey:
    """Names, sizes and states of the files of a source, without reading them."""

    files: int
    bytes: int
    digest: str
    plain: bool = True

    @property
    def text_bytes(self) -> int | None:
        """How many bytes of documents to expect; None where files hold more or less than their text."""
        return self.bytes if self.plain else None


class Corpus:
    """One reading of a source. `reports` fill while `blocks` runs.

    Raises ParameterError for what is no source, DataError for what cannot be found.
    """

    def __init__(self, source: Source, exclude: str | os.PathLike[str] | None = None) -> None:
        self.options = ReaderOptions()
        self.on_error = "report"
        self.reports: list[SourceReport] = []
        self.choose: Callable[[FileState], bool] | None = None
        """Which files on this machine are read, asked once for each in their order; None: all."""
        self.read_ahead = True
        """Whether a thread reads ahead in files: then nobody can say how far when not all blocks are taken."""
        self._read = 0
        self._exclude = None if exclude is None else os.fspath(exclude)
        self._files: Files | None = None
        self._records: Any = None
        if isinstance(source, os.PathLike):
            source = files(source)
        if isinstance(source, Files):
            self._files = source
        elif isinstance(source, Records):
            self._records = _checked_iterable(source.records)
        else:
            self._records = _checked_iterable(source)
        if isinstance(source, Files | Records):
            self.options, self.on_error = source.options, source.on_error

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """Blocks of about `block_bytes`, documents in the order of the source. See `read_ahead`."""
        if block_bytes < 1:
            raise ParameterError(f"block_bytes must be at least 1, not {block_bytes}")
        if self._files is not None:
            blocks = pack(self._pieces_of_files(self._files, block_bytes), block_bytes)
            return ahead(blocks) if self.read_ahead else blocks
        # What the user iterates over stays in the user's thread.
        return pack(self._pieces_of_records(block_bytes), block_bytes)

    def segments(
        self, segment_bytes: int, read: Read | None = None, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[Iterator[Block]]:
        """The blocks in stretches of whole files of about `segment_bytes`, positions from 0 in each.

        One is to be exhausted before the next is asked for; then `read` says what has been read. `read`: files to
        leave out because they were read before, and the reports of that.
        """
        assert self._files is not None
        files = self._files_to_read(self._files, read)

        def pieces(first: _File) -> Iterator[SourcePiece]:
            size, file = 0, first
            while True:
                if self._chosen(file):
                    state = None if file.remote or file.path == STDIN else _state(file.path)
                    size += 0 if state is None else state.size
                    yield from self._pieces_of_file(file, block_bytes)
                self._read += 1
                following = next(files, None) if size < segment_bytes else None
                if following is None:
                    return
                file = following

        for first in files:
            yield ahead(pack(pieces(first), block_bytes))

    def restore(self, read: Read) -> None:
        """Has the reports of a reading before, of all there is."""
        self.reports = [SourceReport(**report) for report in read.reports]
        self._read = read.files

    @property
    def read(self) -> Read:
        """What has been read, for `segments` to go on from."""
        return Read(self._read, [asdict(report) for report in self.reports])

    @property
    def rejected(self) -> int:
        """How many bad records were skipped."""
        return sum(report.rejected for report in self.reports)

    @property
    def damaged(self) -> list[tuple[str, str]]:
        """Files that end before their end, and why that is known."""
        return [entry for report in self.reports for entry in report.damaged]

    def warn(self) -> None:
        """Warns, by DataWarning, of bad records and of files that are not whole."""
        told = []
        examples = [example for report in self.reports for example in report.skipped_examples if report.rejected]
        if self.rejected:
            told.append(f"skipped {counted(self.rejected, 'bad record')}, the first: {': '.join(examples[0])}")
        told += [f"{where}: {why}" for where, why in self.damaged]
        if told:
            warnings.warn("; ".join(told), DataWarning, stacklevel=3)

    def survey(self) -> Survey | None:
        """A look at the files' names and sizes, or None where only reading tells (standard input, iterables)."""
        if self._files is None or any(name == STDIN or is_address(name) for name in self._files.patterns):
            return None
        count = size = 0
        plain = not self.options.fields
        digest = hashlib.sha256()
        for state in self.states():
            if not os.path.isfile(state.path):
                return None
            count += 1
            size += state.size
            plain = plain and Path(state.path).suffix.lower() not in NOT_PLAIN
            digest.update(b"%s\0%d %d\n" % (os.fsencode(state.path), state.size, state.mtime_ns))
        return Survey(count, size, digest.hexdigest(), plain)

    def states(self) -> Iterator[FileState]:
        """Files on this machine that the source names, in the order in which they are read."""
        for pattern in self._files.patterns if self._files is not None else ():
            if pattern == STDIN or is_address(pattern):
                continue
            for path in expand(pattern, lambda path, why: None, self._exclude, lambda path, why, advice: None):
                state = _state(path)
                if state is not None:
                    yield state

    def again(self) -> "Corpus | None":
        """Another reading of the same, or None of what can be read once only (standard input, iterators) or costs."""
        if self._files is not None:
            local = not any(name == STDIN or is_address(name) for name in self._files.patterns)
            return Corpus(self._files, self._exclude) if local else None
        kept = isinstance(self._records, list | tuple) or hasattr(self._records, "to_batches")
        if not kept and not hasattr(self._records, "with_format"):
            return None
        return Corpus(Records(self._records, self.options, self.on_error))

    def _pieces_of_files(self, source: Files, block_bytes: int) -> Iterator[SourcePiece]:
        for file in self._files_to_read(source):
            if self._chosen(file):
                yield from self._pieces_of_file(file, block_bytes)

    def _files_to_read(self, source: Files, read: Read | None = None) -> Iterator[_File]:
        """All files but the first `read.files`, with their reports, which go on from those of `read`."""
        before = [SourceReport(**report) for report in read.reports] if read else []
        n_before = self._read = read.files if read else 0
        number = 0

        def skip(what: str, why: str) -> None:
            if number >= n_before:  # else it is in the report already
                report.skip(what, why)

        def reject(where: str, why: str, advice: str) -> None:
            if number >= n_before:
                report.reject(where, why, advice)

        for k, pattern in enumerate(source.patterns):
            remote = is_address(pattern)
            name = "standard input" if pattern == STDIN else shown(pattern) if remote else printable(pattern)
            if k < len(before):
                report = before[k]
            else:
                report = SourceReport(name, on_error=self.on_error)
                if self.options.separator is not None:
                    report.documents_per_file = []
            self.reports.append(report)
            if pattern == STDIN:
                paths: Iterable[str] = [STDIN]
            elif remote:
                paths = expand_address(pattern, skip)
            else:
                paths = expand(pattern, skip, self._exclude, reject)
            for path in paths:
                number += 1
                if number > n_before:
                    yield _File(path, report, remote, path != pattern)

    def _chosen(self, file: _File) -> bool:
        if self.choose is None or file.remote or file.path == STDIN:
            return True
        state = _state(file.path)
        return state is None or self.choose(state)

    def _pieces_of_file(self, file_read: _File, block_bytes: int) -> Iterator[SourcePiece]:
        path, report, remote, found = file_read
        name = "standard input" if path == STDIN else shown(path) if remote else printable(path)
        counted = ""
        n = 0
        rejected = report.rejected
        try:
            with open_address(path) if remote else _opened(path) as opened:
                seekable: Any = None if path == STDIN else path
                state = None if remote else _open_state(opened)
                if remote:
                    seekable = functools.partial(open_address, path, seek=True)
                file = _Remote(opened, path) if remote else _Local(opened, name)
                for source_piece in read_content(file, name, self.options, block_bytes, report, seekable, found):
                    piece = source_piece.piece
                    if source_piece.source != counted:
                        self._count_file(report, counted, n)
                        counted, n = source_piece.source, 0
                    n += len(piece.ends)
                    report.documents += len(piece.ends)
                    report.bytes += len(piece.data)
                    yield source_piece
                if state is not None and _open_state(opened) != state:
                    raise Damaged(
                        f"{name}: was changed while it was read, so what was read may be neither the old nor the new; "
                        "read it again when nobody writes to it"
                    )
        except Damaged as error:
            report.damage(error, name)
        except FastbpeError:
            raise
        except OSError as error:
            if remote:
                raise unreachable(path, error) from error
            report.reject(name, *why_unreadable(error))
        if counted or report.rejected == rejected:
            self._count_file(report, counted or name, n)

    @staticmethod
    def _count_file(report: SourceReport, name: str, n: int) -> None:
        if not name:
            return
        report.files += 1
        if report.documents_per_file is not None:
            report.documents_per_file.append(n)

    def _pieces_of_records(self, block_bytes: int) -> Iterator[SourcePiece]:
        report = SourceReport("documents given", on_error=self.on_error)
        self.reports.append(report)
        number = 0
        for piece in read_records(self._records, self.options, block_bytes, report):
            report.documents += len(piece.ends)
            report.bytes += len(piece.data)
            yield SourcePiece(piece, report.name, number)
            number += len(piece.ends)


def _checked_iterable(source: Source) -> Iterable[Any]:
    if isinstance(source, str | bytes | bytearray | memoryview):
        raise ParameterError(
            f"a bare {type(source).__name__} may be a path or a text; give pathlib.Path(...) or fastbpe.files(...) for "
            "a path, [text] for one document"
        )
    if isinstance(source, Mapping) and source and all(isinstance(key, str) for key in source):
        raise ParameterError(
            f"{type(source).__name__} is no source but several ({', '.join(list(source)[:5])}): choose one of them, "
            "or give an iterable of its documents"
        )
    if not (isinstance(source, Iterable) or is_table(source)) or isinstance(source, Mapping):
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


def _state(path: str) -> FileState | None:
    """None of a file that is not there any more, or not to be seen; reading it tells why."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return FileState(path, state.st_size, state.st_mtime_ns)


def _open_state(file: BinaryIO) -> tuple[int, int] | None:
    """Size and time of change of an opened file; None of a pipe, a device and the like."""
    try:
        state = os.fstat(file.fileno())
    except OSError:  # standard input may be anything with a read()
        return None
    return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None


def _opened(path: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if path == STDIN:
        if sys.stdin is None:
            raise DataError("standard input is closed; pipe the text in, or name a file")
        return contextlib.nullcontext(sys.stdin.buffer)
    return open(path, "rb", buffering=0)


class _Local:
    """A file on this machine; one that cannot be read to its end is damaged."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name

    def read(self, n: int, /) -> bytes:
        try:
            return self._file.read(n)
        except OSError as error:
            why, advice = why_unreadable(error)
            raise Damaged(f"{self._name}: {why} to its end; {advice}; what was whole before was read") from error


class _Remote:
    """A file at an address; what goes wrong with the connection is told with the address."""

    def __init__(self, file: Any, address: str) -> None:
        self._file = file
        self._address = address

    def read(self, n: int, /) -> bytes:
        try:
            data: bytes = self._file.read(n)
        except Exception as error:  # each file system has errors of its own
            raise unreachable(self._address, error) from error
        return data
