"""From what users pass as text to the bytes that kernels read; and how many there are of something, in words."""

from collections.abc import Iterator

from fastbpe.errors import ParameterError


def counted(n: int, noun: str) -> str:
    """`1 document`, `2,000 documents`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def utf8(text: str) -> bytes:
    """The UTF-8 of a str. Surrogate pairs are joined and lone surrogates become U+FFFD, as in tiktoken."""
    # What a subclass may make of `encode` does not count: kernels read its characters, and rely on bytes here.
    try:
        return str.encode(text)
    except UnicodeEncodeError:
        return str.encode(text, "utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def utf8_parts(text: str, size: int) -> Iterator[bytes]:
    """What `utf8` gives, about `size` characters at a time, so that it is never held as a whole."""
    start, length = 0, str.__len__(text)
    while start < length:
        stop = min(start + size, length)
        while stop < length and "\ud800" <= str.__getitem__(text, stop - 1) <= "\udbff":
            stop += 1  # what follows may be the other half of its pair
        yield utf8(str.__getitem__(text, slice(start, stop)))
        start = stop


def to_bytes(text: str | bytes) -> bytes:
    """The bytes of one document given as str or bytes-like. Raises ParameterError for anything else."""
    if isinstance(text, str):
        return utf8(text)
    if type(text) is bytes:
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        return memoryview(text).tobytes()
    raise ParameterError(f"a text must be str or bytes, not {type(text).__name__}")
