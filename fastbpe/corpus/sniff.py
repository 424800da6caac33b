"""Tells from a file's first bytes, then from its name, what it is, so that nothing is taken for text in silence."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from fastbpe.corpus.compressed import SUFFIXES

_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32 text"),
    (b"\x00\x00\xfe\xff", "UTF-32 text"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"LZIP\x01", "an lzip archive"),
    (b"]\x00\x00\x80\x00", "an lzma archive"),
    (b"\x04\x22\x4d\x18", "an lz4 archive"),
    (b"\xff\x06\x00\x00sNaPpY", "a Snappy archive"),
    (b"\x1f\x9d", "a compress archive"),
    (b"FEA1", "a Feather V1 file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"GGUF\x03\x00", "a GGUF model"),
    (b"OggS\x00", "Ogg audio"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "a program"),
)
_KINDS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow file"),
    (b"\xff\xff\xff\xff", "arrow stream"),
)
_SKIPPABLE_ZSTD = b"\x2a\x4d\x18"
_TAR_MAGIC = slice(257, 262)
_BY_NAME = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tar": "tar"}
TABLES = ("parquet", "arrow file", "arrow stream")

HEAD_BYTES = 512
LINE_BYTES = 1 << 20
BINARY_BYTES = 1 << 13
BOM = b"\xef\xbb\xbf"
DEFAULT_FIELDS = ("text", "content")
"""Where the text of a record is when no field is named."""


def not_text(head: bytes) -> str | None:
    """What a file that begins with `head` (HEAD_BYTES or all of it) is when it is nothing that can be read."""
    return next((what for mark, what in _MARKS if head.startswith(mark)), None)


def binary(head: bytes) -> bool:
    """Whether a file that begins with `head` (BINARY_BYTES or all of it) is no text, as far as that can be told.

    Text may hold NUL bytes, or bytes that are not UTF-8; what holds both is something else.
    """
    if b"\0" not in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data" or len(head) < BINARY_BYTES
    return False


def advice(what: str) -> str:
    """What to do about a file that is `what`."""
    if what.endswith("text"):
        return "convert it to UTF-8 first (iconv -t UTF-8)"
    if what.endswith("archive"):
        return "unpack it first"
    return "leave it out"


def kind_by_content(head: bytes) -> str | None:
    """gzip, zstd, xz, bzip2, tar, or one of TABLES; None when the first bytes say nothing."""
    for mark, kind in _KINDS:
        if head.startswith(mark):
            return kind
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head[1:4] == _SKIPPABLE_ZSTD and 0x50 <= head[0] <= 0x5F:
        return "zstd"
    return "tar" if head[_TAR_MAGIC] == b"ustar" else None


def kind_of(peek: Callable[[int], bytes], name: str, fields: bool, plain: bool) -> str:
    """What a file is: a kind by its content, else jsonl, csv, tsv, tar or text.

    Lines of JSON objects with a text in one of DEFAULT_FIELDS are jsonl whatever the name says; in a file named .json
    any objects are. `peek(n)` gives its first bytes. `fields`: a field of its records is asked for, so records are
    expected. `plain`: lines or a separator cut it, whatever its name says.
    """
    head = peek(HEAD_BYTES)
    by_content = kind_by_content(head)
    if by_content is not None:
        return by_content
    suffix = PurePosixPath(name.lower()).suffix
    if not head and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    by_name = _BY_NAME.get(suffix)
    if by_name == "tar" or (by_name is not None and not plain):
        return by_name
    if plain:
        return "text"
    first = head.removeprefix(BOM).lstrip()[:1]
    if fields and (suffix == ".json" or first in (b"{", b"")):
        return "jsonl"
    record = _first_record(peek(LINE_BYTES)) if first == b"{" else None
    if record is None:
        return "text"
    texts = (record[name] for name in DEFAULT_FIELDS if name in record)
    return "jsonl" if suffix == ".json" or isinstance(next(texts, None), str) else "text"


def inner_name(name: str) -> str:
    """A compressed file's name without what says that it is compressed."""
    path = PurePosixPath(name)
    if path.suffix.lower() in SUFFIXES:
        return str(path.with_suffix(""))
    return str(path.with_suffix(".tar")) if path.suffix.lower() in (".tgz", ".tzst", ".txz", ".tbz2") else name


def _first_record(data: bytes) -> dict[str, Any] | None:
    """The JSON object of the first line, when another begins after it or nothing follows."""
    import msgspec

    line, newline, rest = data.removeprefix(BOM).partition(b"\n")
    if not newline or not line.startswith(b"{") or rest.lstrip()[:1] not in (b"{", b""):
        return None
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return record if isinstance(record, dict) else None
