"""Documents given in Python: str, bytes, mappings with a text field, Arrow tables and Hugging Face datasets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fastbpe.corpus.blocks import Buffer, Piece
from fastbpe.corpus.columns import NoSuchColumn, batch_pieces
from fastbpe.corpus.jsonl import NotARecord, text_of
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import SourceReport
from fastbpe.corpus.sniff import DEFAULT_FIELDS
from fastbpe.errors import DataError, ParameterError
from fastbpe.text import to_bytes, utf8_parts

BATCH_ROWS = 512


def is_table(records: Any) -> bool:
    """Whether the records come as Arrow batches: a table, a reader of batches, or a dataset that can give tables."""
    if hasattr(records, "with_format") and hasattr(records, "iter"):
        return True
    return hasattr(records, "schema") and (hasattr(records, "to_batches") or hasattr(records, "read_next_batch"))


def read_records(
    records: Iterable[Any], options: ReaderOptions, block_bytes: int, report: SourceReport
) -> Iterator[Piece]:
    """A document for every record. Mappings give the text of their field; null is an empty document.

    Raises ParameterError for what is no record at all, DataError for a table without the column.
    """
    if is_table(records):
        return _of_table(records, options, block_bytes, report)
    return _one_by_one(records, options, block_bytes, report)


def _of_table(records: Any, options: ReaderOptions, block_bytes: int, report: SourceReport) -> Iterator[Piece]:
    row = 1
    try:
        for batch in _batches(records):
            yield from batch_pieces(batch, row, options, block_bytes, report)
            row += batch.num_rows
    except NoSuchColumn as error:
        raise DataError(f"{report.name}: {error}; name the column with text_field") from None


def _batches(records: Any) -> Iterator[Any]:
    if hasattr(records, "with_format"):
        for table in records.with_format("arrow").iter(BATCH_ROWS):
            yield from table.to_batches()
    elif hasattr(records, "to_batches"):
        yield from records.to_batches(max_chunksize=BATCH_ROWS)
    else:
        yield from records


def _one_by_one(
    records: Iterable[Any], options: ReaderOptions, block_bytes: int, report: SourceReport
) -> Iterator[Piece]:
    batch: list[bytes] = []
    numbers: list[int] = []
    size = 0

    def batched() -> Iterator[Piece]:
        nonlocal batch, numbers, size
        if batch:
            ends = np.cumsum(np.fromiter(map(len, batch), np.int64, len(batch)))
            yield Piece(b"".join(batch), ends, np.zeros(len(batch), np.int64), np.array(numbers, np.int64))
            batch, numbers, size = [], [], 0

    field = options.text_field
    for number, record in enumerate(records):
        if isinstance(record, Mapping):
            field = field or next((name for name in DEFAULT_FIELDS if name in record), None) or DEFAULT_FIELDS[0]
            try:
                text = text_of(record, field, options.where)
            except NotARecord as error:
                report.reject(f"{report.name}, document {number}", str(error), "name the field with text_field")
                continue
            if text is None:
                report.filtered(1)
                continue
            data = text
        elif isinstance(record, str) and len(record) > block_bytes:
            yield from batched()
            yield from _in_parts(utf8_parts(record, max(1, block_bytes // 4)), number)
            continue
        else:
            try:
                data = to_bytes(record)
            except ParameterError as error:
                raise ParameterError(f"document {number}: {error}") from None
        if size + len(data) > block_bytes or len(batch) >= block_bytes // 8 + 1:
            yield from batched()
        if len(data) <= block_bytes:
            batch.append(data)
            numbers.append(number)
            size += len(data)
            continue
        view = memoryview(data)
        yield from _in_parts((view[at : at + block_bytes] for at in range(0, len(view), block_bytes)), number)
    yield from batched()


def _in_parts(parts: Iterable[Buffer], number: int) -> Iterator[Piece]:
    """The pieces of one long document."""
    at = 0
    for part in parts:
        yield Piece(part, np.empty(0, np.int64), np.array([at], np.int64), np.array([number], np.int64))
        at += len(part)
    yield Piece(b"", np.zeros(1, np.int64), np.array([at], np.int64), np.array([number], np.int64))
