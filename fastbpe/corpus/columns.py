"""The text column of Arrow data as bytes and document ends, without a Python object for each row."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastbpe.corpus.blocks import Piece
from fastbpe.corpus.readers import ReaderOptions, cut_pieces
from fastbpe.corpus.report import SourceReport
from fastbpe.corpus.sniff import DEFAULT_FIELDS
from fastbpe.errors import ParameterError


class NoSuchColumn(Exception):
    """A table without the column that is asked for; says what it has."""


def arrow() -> Any:
    """The pyarrow module. Raises ParameterError saying how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ParameterError(
            "Parquet, Arrow and CSV files are read by pyarrow, which is missing; "
            "install it: pip install 'fastbpe-engine[parquet]'"
        ) from None
    return pyarrow


def text_field(names: list[str], options: ReaderOptions) -> str:
    """The column that holds the text. Raises NoSuchColumn when none of `names` (top-level ones) does."""
    wanted = DEFAULT_FIELDS if options.text_field is None else (options.text_field,)
    for field in wanted:
        if column_of(field, names) is not None:
            return field
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    raise NoSuchColumn(f"no column {' or '.join(map(repr, wanted))}; it has {listed or 'none'}")


def column_of(field: str, names: list[str]) -> str | None:
    """The top-level column in which a field lies: the one of its name, or the outermost of a nested one."""
    if field in names:
        return field
    outer = field.partition(".")[0]
    return outer if outer != field and outer in names else None


def columns_wanted(names: list[str], options: ReaderOptions) -> list[str]:
    """Top-level columns that must be read. Raises NoSuchColumn."""
    fields = [text_field(names, options), *(name for name, _ in options.where)]
    columns = []
    for field in fields:
        column = column_of(field, names)
        if column is None:
            raise NoSuchColumn(f"no column {field!r}; it has {', '.join(names[:20])}")
        if column not in columns:
            columns.append(column)
    return columns


def batch_pieces(
    batch: Any, first_row: int, options: ReaderOptions, block_bytes: int, report: SourceReport
) -> Iterator[Piece]:
    """Pieces of a record batch whose first row has the number `first_row`. null is an empty document.

    Raises NoSuchColumn when the text column is missing or holds no text.
    """
    rows = np.arange(first_row, first_row + batch.num_rows, dtype=np.int64)
    names = batch.schema.names
    text = _field(batch, text_field(names, options), names)
    if options.where:
        mask = np.ones(batch.num_rows, bool)
        for name, value in options.where:
            mask &= _has(_field(batch, name, names), value)
        report.filtered(int(batch.num_rows - mask.sum()))
        rows = rows[mask]
        text = text.filter(arrow().array(mask))
    if len(text):
        data, ends = _bytes_of(text, text_field(names, options))
        yield from cut_pieces(data, ends, rows, "row", block_bytes)


def _field(batch: Any, field: str, names: list[str]) -> Any:
    """The array of a field, nested in structs or not."""
    column = column_of(field, names)
    if column is None:
        raise NoSuchColumn(f"no column {field!r}; it has {', '.join(names[:20])}")
    array = batch.column(names.index(column))
    if column != field:
        compute = _compute()
        for part in field.split(".")[1:]:
            if not arrow().types.is_struct(array.type) or array.type.get_field_index(part) < 0:
                raise NoSuchColumn(f"no column {field!r}; {column!r} is {array.type}")
            array = compute.struct_field(array, part)
    return array


def _has(array: Any, value: str) -> np.ndarray:
    """Which rows have a value that the user wrote as text."""
    pa = arrow()
    try:
        # Booleans become true and false, numbers their digits, dictionaries their values.
        texts = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        equal = _compute().equal(texts.cast(pa.string()), value)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise NoSuchColumn(f"where cannot compare a column of {array.type}") from None
    mask: np.ndarray = equal.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    return mask


def _bytes_of(array: Any, field: str) -> tuple[memoryview, np.ndarray]:
    """Bytes of all rows, one after the other, and int64 (rows,) ends."""
    pa = arrow()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = pa.types
    if kind.is_null(array.type):
        return memoryview(b""), np.zeros(len(array), np.int64)
    if kind.is_string_view(array.type):
        array = array.cast(pa.large_string())
    elif kind.is_binary_view(array.type) or kind.is_fixed_size_binary(array.type):
        array = array.cast(pa.large_binary())
    elif not any(
        is_text(array.type) for is_text in (kind.is_string, kind.is_large_string, kind.is_binary, kind.is_large_binary)
    ):
        raise NoSuchColumn(f"the column {field!r} holds no text ({array.type})")
    if array.null_count:
        # Arrow allows bytes under a null.
        array = array.fill_null(b"" if kind.is_binary(array.type) or kind.is_large_binary(array.type) else "")
    large = kind.is_large_string(array.type) or kind.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    at = np.frombuffer(offsets, np.int64 if large else np.int32)[array.offset : array.offset + len(array) + 1]
    start, stop = int(at[0]), int(at[-1])
    view = memoryview(data)[start:stop] if data is not None else memoryview(b"")
    return view, at[1:].astype(np.int64) - start


def _compute() -> Any:
    import pyarrow.compute

    return pyarrow.compute
