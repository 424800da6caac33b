"""One corpus file as the documents that a library is given."""

from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 65536
WAYS = ("file", "lines", "pieces")
"""The whole file as one document; each line, newline kept; whole lines up to about PIECE_BYTES."""


def documents(path: Path, way: str) -> Iterator[str]:
    """The documents of a UTF-8 file, read as they are asked for."""
    with path.open(encoding="utf-8", newline="") as file:
        if way == "file":
            yield file.read()
        elif way == "lines":
            yield from _lines(file)
        else:
            while lines := file.readlines(PIECE_BYTES):
                yield "".join(lines)


def _lines(file: Iterator[str]) -> Iterator[str]:
    # With newline="" a lone \r ends a line too, but \n alone is meant.
    line = ""
    for part in file:
        line += part
        if line.endswith("\n"):
            yield line
            line = ""
    if line:
        yield line


def cut(text: bytes, n: int) -> list[str]:
    """About n documents of about the same length, cut behind newlines; n = 1: the text as one document."""
    if n == 1:
        return [text.decode()]
    step, found, start = max(1, len(text) // n), [], 0
    while start < len(text):
        stop = text.find(b"\n", min(start + step, len(text) - 1)) + 1 or len(text)
        found.append(text[start:stop].decode())
        start = stop
    return found


def warm(path: Path) -> int:
    """Brings the file into the page cache; returns its size."""
    size = 0
    with path.open("rb", buffering=0) as file:
        while part := file.read(1 << 20):
            size += len(part)
    return size
