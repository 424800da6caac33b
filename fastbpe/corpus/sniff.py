"""Tells from a file's first bytes that it is no plain text, so that it is never taken for text in silence."""

_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32 text"),
    (b"\x00\x00\xfe\xff", "UTF-32 text"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
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
_SKIPPABLE_ZSTD = b"\x2a\x4d\x18"
_TAR_MAGIC = slice(257, 262)

HEAD_BYTES = 262


def not_text(head: bytes) -> str | None:
    """What a file that begins with `head` (HEAD_BYTES or all of it) is, or None when it may be plain text."""
    for mark, what in _MARKS:
        if head.startswith(mark) and (mark != b"BZh" or head[4:10] == b"1AY&SY"):
            return what
    if head[1:4] == _SKIPPABLE_ZSTD and 0x50 <= head[0] <= 0x5F:
        return "a zstd archive"
    if head[_TAR_MAGIC] == b"ustar":
        return "a tar archive"
    return None


def advice(what: str) -> str:
    """What to do about a file that is `what`."""
    if what.endswith("text"):
        return "convert it to UTF-8 first (iconv -t UTF-8)"
    if what.endswith("archive"):
        return "unpack it first, or pipe its text to '-'"
    return "leave it out"
