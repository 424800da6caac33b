"""From one opened file to pieces of documents, whatever it holds: told by its content first, then by its name."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from fastbpe.corpus.archives import members
from fastbpe.corpus.blocks import Piece, SourcePiece
from fastbpe.corpus.compressed import KINDS as COMPRESSED
from fastbpe.corpus.compressed import Decompressed, OneWay
from fastbpe.corpus.jsonl import read_jsonl
from fastbpe.corpus.readers import ReadableFile, ReaderOptions, fill, read_text
from fastbpe.corpus.report import Damaged, SourceReport
from fastbpe.corpus.sniff import BINARY_BYTES, BOM, HEAD_BYTES, TABLES, advice, binary, inner_name, kind_of, not_text
from fastbpe.corpus.tables import read_csv, read_table

HELD_BYTES = 64 << 20
"""How much of a document in an archive waits for its end, so that one that is cut there is not taken for whole."""


class Peeked(OneWay):
    """A file whose first bytes can be looked at before they are read.

    Damage that is met by looking is raised where reading comes to it; at the end of a `with` if nobody has read as far.
    """

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self._head = b""
        self._damage: Damaged | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._damage is not None:
            raise self._damage

    def peek(self, n: int) -> bytes:
        self._look(n)
        return self._head[:n]

    def read(self, n: int, /) -> bytes:
        if not self._head:
            if self._damage is not None:
                raise self._damage
            return self._file.read(n)
        self._look(n)
        data, self._head = self._head[:n], self._head[n:]
        return data

    def _look(self, n: int) -> None:
        if len(self._head) < n and self._damage is None:
            try:
                self._head += fill(self._file, n - len(self._head))[0]
            except Damaged as error:
                self._damage = error


def read_content(
    file: ReadableFile,
    name: str,
    options: ReaderOptions,
    block_bytes: int,
    report: SourceReport,
    seekable: Any = None,
    found: bool = False,
) -> Iterator[SourcePiece]:
    """Pieces of the documents in a file, members of archives included, with the name of the file or member.

    seekable: the same file as tables can read it, a path or a function that opens it; None where there is none.
    found: nobody named the file itself, so that it may be anything.
    What holds no documents (an image, UTF-16, a table without the column) is rejected in the report. Raises Damaged
    after the documents that were whole before the damage.
    """
    return _read(file, name, name, options, block_bytes, report, seekable, found, in_archive=False)


def _read(
    file: ReadableFile,
    name: str,
    bare_name: str,
    options: ReaderOptions,
    block_bytes: int,
    report: SourceReport,
    seekable: Any,
    found: bool,
    in_archive: bool,
) -> Iterator[SourcePiece]:
    with Peeked(file) as peeked:
        head = peeked.peek(HEAD_BYTES)
        what = not_text(head)
        if what is not None:
            report.reject(name, what, advice(what))
            return
        kind = kind_of(peeked.peek, bare_name, options.fields, options.plain)
        if kind in COMPRESSED:
            inner = Decompressed(peeked, kind, name)
            yield from _read(
                inner, name, inner_name(bare_name), options, block_bytes, report, None, found, in_archive=True
            )
        elif kind == "tar":
            for member, path in members(peeked, options.members, report, name):
                yield from _read(member, path, path, options, block_bytes, report, None, True, in_archive=True)
        elif kind in TABLES:
            yield from _numbered(_table(peeked, kind, name, options, block_bytes, report, seekable), name)
        elif kind in ("csv", "tsv"):
            report.boms += head.startswith(BOM)
            source: Any = peeked
            rows = read_csv(source, kind, options, block_bytes, report, name, peeked.peek(1 << 16))
            yield from _numbered(rows, name)
        elif kind == "jsonl":
            report.boms += head.startswith(BOM)
            if head.removeprefix(BOM).lstrip()[:1] == b"[":
                report.reject(name, "a JSON array, not JSON Lines", "write one object a line (jq -c '.[]')")
                return
            yield from _numbered(read_jsonl(peeked, options, block_bytes, report, name), name)
        elif options.fields:
            wanted = options.text_field or options.where[0][0]
            report.reject(name, f"plain text, which has no field {wanted!r}", "leave it out, or leave out text_field")
        elif found and binary(peeked.peek(BINARY_BYTES)):
            report.reject(
                name, "binary data (NUL bytes, and not UTF-8)", "leave it out, or name it itself if it is text"
            )
        else:
            report.boms += head.startswith(BOM)
            pieces = read_text(peeked, options, block_bytes)
            yield from _numbered(_held_back(pieces) if in_archive else _ended(pieces), name)


def _numbered(pieces: Iterator[Piece], name: str) -> Iterator[SourcePiece]:
    number = 0
    for piece in pieces:
        yield SourcePiece(piece, name, number)
        number += len(piece.ends)


def _table(
    file: Peeked,
    kind: str,
    name: str,
    options: ReaderOptions,
    block_bytes: int,
    report: SourceReport,
    seekable: Any,
) -> Iterator[Piece]:
    if kind == "arrow stream":
        return read_table(file, kind, options, block_bytes, report, name)
    if seekable is None:
        report.reject(name, f"{kind} data in a stream, which cannot be read backwards", "name the file itself")
        return iter(())
    return read_table(seekable, kind, options, block_bytes, report, name)


def _ended(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces; a document that is open where the file cannot be read any further ends there."""
    offset = -1  # of the last document, while it is open
    try:
        for piece in pieces:
            yield piece
            offset = int(piece.starts[-1]) if len(piece.starts) > len(piece.ends) else -1
    except Damaged as error:
        if offset >= 0:
            yield Piece(b"", np.zeros(1, np.int64), np.array([offset], np.int64))
            raise Damaged(f"{error}; the last document ends there") from None
        raise


def _held_back(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces, each document only when it has ended; one of more than HELD_BYTES in parts."""
    held: list[Piece] = []
    size = 0
    begun = False  # whether parts of the open document have been given
    offset = 0
    try:
        for piece in pieces:
            if not len(piece.ends):
                held.append(piece)
                size += len(piece.data)
                if size > HELD_BYTES:
                    yield from held
                    held, size, begun = [], 0, True
                continue
            yield from held
            held, size, begun = [], 0, False
            last = int(piece.ends[-1])
            if last == len(piece.data) and len(piece.starts) == len(piece.ends):
                yield piece
            else:
                view = memoryview(piece.data)
                yield Piece(view[:last], piece.ends, piece.starts[: len(piece.ends)])
                held = [Piece(view[last:], piece.ends[:0], piece.starts[len(piece.ends) :])]
                size = len(view) - last
            offset = int(piece.starts[-1])
        yield from held
    except Damaged as error:
        if begun:
            yield Piece(b"", np.zeros(1, np.int64), np.array([offset], np.int64))
            raise Damaged(f"{error}; its last document is too long to wait for its end, and ends at the cut") from None
        raise
