"""Parquet, Arrow IPC and CSV files: their text column, by batches, through pyarrow."""

import csv
from collections.abc import Callable, Iterator
from typing import Any

from fastbpe.corpus.blocks import Piece
from fastbpe.corpus.columns import NoSuchColumn, arrow, batch_pieces, columns_wanted
from fastbpe.corpus.compressed import OneWay
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import Damaged, SourceReport

BATCH_ROWS = 512
BATCH_BYTES = 8 << 20
"""Of Parquet, uncompressed: fewer rows are read at once where they would take more."""
CSV_BLOCK_BYTES = 16 << 20
"""A row of CSV must fit into it."""

DELIMITERS = (",", ";", "\t", "|")


def read_table(
    file: Any, kind: str, options: ReaderOptions, block_bytes: int, report: SourceReport, name: str
) -> Iterator[Piece]:
    """A document for every row of a file of `kind` parquet, arrow file or arrow stream.

    file: a path, an opened file that can seek (an Arrow stream needs not), or a function that opens one. A file without
    the column is rejected.
    Raises Damaged for a file that is cut or broken, after what could be read before.
    """
    batches = {"parquet": _parquet, "arrow file": _arrow_file, "arrow stream": _arrow_stream}[kind]
    return _guarded(lambda: _opened(file, batches, options), options, block_bytes, report, name)


def read_csv(
    file: Any, kind: str, options: ReaderOptions, block_bytes: int, report: SourceReport, name: str, head: bytes
) -> Iterator[Piece]:
    """A document for every row of a file of `kind` csv or tsv, whose first line names the columns.

    `head`: its first bytes; they tell the delimiter of a csv. Fields of csv may be quoted and hold newlines, those of
    tsv are as they stand. Rows with too many or too few fields are rejected.
    """
    header = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].decode("utf-8", "replace")
    if not header.strip():
        if head:
            report.reject(name, "its first line, which names the columns, is blank", "put their names there")
        return iter(())
    delimiter = "\t" if kind == "tsv" else _delimiter(header, options)
    whole = _UntilDamage(file)
    return _guarded(
        lambda: _csv(whole, delimiter, kind == "csv", options, report, name, header), options, block_bytes, report, name
    )


def _opened(file: Any, batches: Callable[[Any, ReaderOptions], Iterator[Any]], options: ReaderOptions) -> Iterator[Any]:
    if not callable(file):
        yield from batches(file, options)
        return
    with file() as opened:
        yield from batches(opened, options)


def _guarded(
    batches: Callable[[], Iterator[Any]], options: ReaderOptions, block_bytes: int, report: SourceReport, name: str
) -> Iterator[Piece]:
    pa = arrow()
    row = 1
    try:
        for batch in batches():
            yield from batch_pieces(batch, row, options, block_bytes, report)
            row += batch.num_rows
    except NoSuchColumn as error:
        report.reject(name, str(error), "name the column with text_field (--text-field)")
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        told = str(error).split("\n")[0].rstrip(".")
        raise Damaged(f"{name}: is cut short or damaged ({told}); {row - 1} rows before were read") from None


def _parquet(file: Any, options: ReaderOptions) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # Row groups can be as large as the file: read what a batch needs of them, in small reads.
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as opened:
        columns = columns_wanted(opened.schema_arrow.names, options)
        # Nested columns are read whole where one of their fields is wanted.
        yield from opened.iter_batches(batch_size=_batch_rows(opened.metadata), columns=columns, use_threads=False)


def _batch_rows(metadata: Any) -> int:
    """How many rows to read at once, so that long ones do not take much memory together."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    row_bytes = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=0)
    return max(1, min(BATCH_ROWS, int(BATCH_BYTES // max(1, row_bytes))))


def _arrow_file(file: Any, options: ReaderOptions) -> Iterator[Any]:
    import pyarrow.ipc as ipc

    with _source(file) as source, ipc.open_file(source) as reader:
        columns_wanted(reader.schema.names, options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _arrow_stream(file: Any, options: ReaderOptions) -> Iterator[Any]:
    import pyarrow.ipc as ipc

    if isinstance(file, str | bytes):
        with open(file, "rb") as opened:
            yield from _arrow_stream(opened, options)
        return
    whole = _UntilEnd(file)
    while True:
        with _source(whole) as source, ipc.open_stream(source) as reader:
            columns_wanted(reader.schema.names, options)
            yield from reader
        if whole.over:
            # The library takes a stream that stops between two batches for one that ends.
            raise EOFError("it stops before the mark of its end")
        if not whole.goes_on():
            return


def _csv(
    file: Any, delimiter: str, quoted: bool, options: ReaderOptions, report: SourceReport, name: str, header: str
) -> Iterator[Any]:
    pa = arrow()
    import pyarrow.csv as pa_csv

    quotes = {"quotechar": '"'} if quoted else {"quoting": csv.QUOTE_NONE}
    names = next(csv.reader([header.rstrip("\r")], delimiter=delimiter, **quotes))
    columns = columns_wanted(names, options)

    wrong: list[tuple[str, str]] = []

    def rejected(row: Any) -> str:
        # Nothing may be raised through the library: it is told after the batch.
        wrong.append((f"{name}, row {row.number - 1}", f"{row.actual_columns} fields, not {row.expected_columns}"))
        return "skip"

    def tell() -> None:
        for where, why in wrong:
            report.reject(where, why)
        wrong.clear()

    with pa_csv.open_csv(
        _source(file),
        pa_csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK_BYTES),
        pa_csv.ParseOptions(
            delimiter=delimiter,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            ignore_empty_lines=len(names) > 1,
            invalid_row_handler=rejected,
        ),
        # As bytes: no type is guessed, and what is not UTF-8 stays.
        pa_csv.ConvertOptions(
            include_columns=columns,
            column_types={column: pa.binary() for column in columns},
            strings_can_be_null=False,
            check_utf8=False,
        ),
    ) as reader:
        held = None  # the last row of a file that is cut is not whole
        for batch in reader:
            if held is not None:
                tell()
                yield held
            held = batch
        if file.damage is not None:
            rows = 0 if held is None else held.num_rows
            if wrong:
                wrong.pop()
            else:
                rows = max(0, rows - 1)
            tell()
            if held is not None:
                yield held.slice(0, rows)
            raise file.damage
        tell()
        if held is not None:
            yield held


class _UntilEnd(OneWay):
    """A stream that tells whether it was asked for more than there is (`over`), and whether another one follows."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._next = b""
        self.over = False

    def read(self, n: int = -1, /) -> bytes:
        data, self._next = self._next, b""
        if n < 0 or len(data) < n:
            data += self._file.read(n if n < 0 else n - len(data))
        self.over = not data and n != 0
        return data

    def goes_on(self) -> bool:
        self._next = self._file.read(1)
        return bool(self._next)

    def close(self) -> None:
        pass  # what reads one stream closes it; the next one follows


class _UntilDamage(OneWay):
    """A file that ends where it is damaged, so that the rows before come through the library; it keeps the damage."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.damage: Damaged | None = None

    def read(self, n: int = -1, /) -> bytes:
        if self.damage is not None:
            return b""
        try:
            data: bytes = self._file.read(n)
        except Damaged as error:
            self.damage = error
            return b""
        return data


def _delimiter(header: str, options: ReaderOptions) -> str:
    """The first delimiter by which the header names the wanted column."""
    for delimiter in DELIMITERS:
        try:
            columns_wanted(next(csv.reader([header.rstrip("\r")], delimiter=delimiter)), options)
        except (NoSuchColumn, StopIteration, csv.Error):
            continue
        return delimiter
    return ","


def _source(file: Any) -> Any:
    pa = arrow()
    return pa.OSFile(file) if isinstance(file, str | bytes) else pa.PythonFile(file, mode="r")
