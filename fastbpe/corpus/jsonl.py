"""JSON Lines: one field of each line is a document, and nothing else of it is decoded."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbpe.corpus.blocks import Address, Piece
from fastbpe.corpus.readers import ReadableFile, ReaderOptions, cut_pieces, fill
from fastbpe.corpus.report import Damaged, SourceReport
from fastbpe.corpus.sniff import BOM, DEFAULT_FIELDS
from fastbpe.text import utf8


class NotARecord(Exception):
    """A line that holds no document; says why."""


@dataclass(frozen=True)
class _Missing:
    pass


MISSING = _Missing()


def read_jsonl(
    file: ReadableFile, options: ReaderOptions, block_bytes: int, report: SourceReport, name: str
) -> Iterator[Piece]:
    """A document for every line that holds one; null is an empty document, blank lines are passed over.

    Without `options.text_field` it is `text`, or `content` in a file whose first record has that and no `text`. Lines
    that are no JSON object, or have no text there, are rejected; those that `options.where` leaves out are counted.
    """
    records = _Records(options)
    texts: list[bytes] = []
    numbers: list[int] = []
    size = number = 0
    damage: Damaged | None = None

    def piece() -> Piece:
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return Piece(b"".join(texts), ends, np.zeros(len(texts), np.int64), np.array(numbers, np.int64), "line")

    def grows(n: int) -> None:
        if n > block_bytes and options.on_long is not None:
            options.on_long(n, Address(name, number + 1, 0, "line"))

    try:
        for line in _lines(file, block_bytes, grows):
            number += 1
            if number == 1 and line.startswith(BOM):
                line = line[len(BOM) :]
            try:
                text = records.text(line)
            except NotARecord as error:
                where = f"{name}, line {number}"
                if line.strip():
                    report.reject(where, str(error))
                else:
                    report.skip(where, "a blank line")
                continue
            if text is None:
                report.filtered(1)
                continue
            del line  # a long one is not to be there twice
            if len(text) > block_bytes:
                if texts:
                    yield piece()
                    texts, numbers, size = [], [], 0
                yield from cut_pieces(text, np.array([len(text)]), np.array([number]), "line", block_bytes)
                del text
                continue
            if texts and (size + len(text) > block_bytes or len(texts) > block_bytes // 8):
                yield piece()
                texts, numbers, size = [], [], 0
            texts.append(text)
            numbers.append(number)
            size += len(text)
    except Damaged as error:
        damage = error
    if texts:  # before the damage is told of: these lines were whole
        yield piece()
    if damage is not None:
        raise damage


def _lines(file: ReadableFile, block_bytes: int, grows: Callable[[int], None]) -> Iterator[bytes]:
    """Lines without their newline; a last one that is empty is none.

    `grows` is called before a line goes on in another block, with the bytes that it has then.
    """
    tail = bytearray()
    last = False
    while not last:
        data, last = fill(file, block_bytes)
        first, *lines = data.split(b"\n")
        del data
        if tail:
            grows(len(tail) + len(first))
        tail += first
        if lines:
            whole = [bytes(tail)]
            tail = bytearray(lines.pop())
            yield whole.pop()  # and keeps nothing of it
            yield from lines
    if tail:
        yield bytes(tail)


class _Records:
    """Takes the text out of lines."""

    def __init__(self, options: ReaderOptions) -> None:
        self._field = options.text_field
        self._where = options.where
        self._quick: Any = None if self._field is None else self._compiled(self._field)

    def text(self, line: bytes) -> bytes | None:
        """The text of a line, None when the filter leaves it out. Raises NotARecord."""
        import msgspec

        if self._quick is not None:
            try:
                record = self._quick.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass  # the slow way knows more JSON (NaN, lone surrogates) and says what is wrong
            else:
                return self._chosen(record)
        return self._slowly(line)

    def _slowly(self, line: bytes) -> bytes | None:
        try:
            record = json.loads(line.decode(), parse_int=_integer)
        except UnicodeDecodeError:
            raise NotARecord("not valid UTF-8") from None
        except (ValueError, RecursionError):
            raise NotARecord("not valid JSON") from None
        if not isinstance(record, dict):
            raise NotARecord("not a JSON object")
        if self._field is None:
            self._field = next((name for name in DEFAULT_FIELDS if name in record), None)
            if self._field is None:
                raise NotARecord(f"no field {' or '.join(map(repr, DEFAULT_FIELDS))}")
            self._quick = self._compiled(self._field)
        return text_of(record, self._field, self._where)

    def _chosen(self, record: Any) -> bytes | None:
        for path, value in self._conditions:
            if not _equal(_attribute(record, path), value):
                return None
        text = _attribute(record, self._path)
        if text is None:
            return b""
        if isinstance(text, str):
            return utf8(text)
        raise NotARecord(f"no field {self._field!r}")

    def _compiled(self, field: str) -> Any:
        """A decoder of the wanted fields alone, nested ones included."""
        import msgspec

        wanted: dict[str, Any] = {}
        paths = [(field, str | None), *((name, Any) for name, _ in self._where)]
        for path, kind in paths:
            *outer, last = path.split(".")
            inside = wanted
            for part in outer:
                inside = inside.setdefault(part, {})
                if not isinstance(inside, dict):
                    return None
            if isinstance(inside.get(last), dict):
                return None
            inside.setdefault(last, kind)
        attributes: dict[str, str] = {}

        def struct(fields: dict[str, Any]) -> Any:
            members, names = [], {}
            for name, kind in fields.items():
                attribute = attributes.setdefault(name, f"f{len(attributes)}")
                type_ = struct(kind) | None if isinstance(kind, dict) else kind
                members.append((attribute, type_ | msgspec.UnsetType if type_ is not Any else Any, msgspec.UNSET))
                names[attribute] = name
            return msgspec.defstruct("Record", members, rename=names, gc=False)

        decoder = msgspec.json.Decoder(struct(wanted))
        self._path = [attributes[part] for part in field.split(".")]
        self._conditions = [([attributes[part] for part in name.split(".")], value) for name, value in self._where]
        return decoder


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python turns into an int; the JSON is valid
        return float(digits)


def _attribute(record: Any, path: list[str]) -> Any:
    for name in path:
        record = getattr(record, name, MISSING)
    return record


def text_of(record: Any, field: str, where: tuple[tuple[str, str], ...]) -> bytes | None:
    """The text in a mapping's field, None when the filter leaves it out. Raises NotARecord."""
    for name, value in where:
        if not _equal(_item(record, name), value):
            return None
    text = _item(record, field)
    if text is MISSING:
        raise NotARecord(f"no field {field!r}")
    if text is None:
        return b""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise NotARecord(f"the field {field!r} is no text")
    return utf8(text)


def _item(record: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(record, dict):
            return MISSING
        record = record.get(name, MISSING)
    return record


def _equal(found: Any, value: str) -> bool:
    """Whether a field has a value that the user wrote as text."""
    if isinstance(found, bool):
        return value == ("true" if found else "false")
    return isinstance(found, str | int | float) and str(found) == value
