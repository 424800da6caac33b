"""Compressed files as a stream of bytes: all members, frames and streams of them, and no silent end before the end."""

import bz2
import lzma
from collections.abc import Callable
from typing import Any, Protocol

from fastbpe.corpus.report import Damaged
from fastbpe.errors import DataError

READ_BYTES = 1 << 18


class _Readable(Protocol):
    def read(self, n: int, /) -> bytes: ...


def _gzip() -> Any:
    from isal import igzip_lib

    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        from backports import zstd
    return zstd.ZstdDecompressor()


def _xz() -> Any:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


# A kind's decompressor, and by how many zero bytes it may be padded after a member (0: by none).
_KINDS: dict[str, tuple[Callable[[], Any], int]] = {
    "gzip": (_gzip, 1),
    "zstd": (_zstd, 0),
    "xz": (_xz, 4),
    "bzip2": (bz2.BZ2Decompressor, 0),
}
KINDS = tuple(_KINDS)
SUFFIXES = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".xz": "xz", ".bz2": "bzip2"}


class OneWay:
    """What libraries ask of a file that can only be read forwards, beside read()."""

    closed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


class Decompressed(OneWay):
    """The bytes of a compressed file, read forwards. `read(n)` gives n bytes, or fewer where the file ends.

    Raises Damaged, naming the file, when the file ends inside a member or holds what is none; all bytes before the
    damage have been given then.
    """

    def __init__(self, file: _Readable, kind: str, name: str) -> None:
        self._file = file
        self._kind = kind
        self._name = name
        self._make, self._padding = _KINDS[kind]
        self._decompressor = self._make()
        self._input = b""
        self._members = 0
        self._failure: Damaged | None = None
        self._over = False

    def read(self, n: int = -1, /) -> bytes:
        parts: list[bytes] = []
        missing = n if n >= 0 else 1 << 62
        while missing and not self._over:
            if self._failure is not None:
                if parts:
                    break
                raise self._failure
            part = self._some(min(missing, 1 << 30))
            if part:
                parts.append(part)
                missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _some(self, limit: int) -> bytes:
        """Some bytes, or none when there is only the next step to make."""
        decompressor = self._decompressor
        if decompressor.eof:
            self._input = decompressor.unused_data
            self._next_member()
            return b""
        if not self._input and decompressor.needs_input:
            self._input = self._file.read(READ_BYTES)
            if not self._input:
                self._fail(f"is cut short: it ends inside its {self._kind} data")
                return b""
        data, self._input = self._input, b""
        try:
            part: bytes = decompressor.decompress(data, limit)
        except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
            self._fail(f"its {self._kind} data are damaged ({error})")
            return b""
        except Exception as error:  # isal and zstd have error classes of their own, not known before they are loaded
            if isinstance(error, DataError | MemoryError):
                raise
            self._fail(f"its {self._kind} data are damaged ({error})")
            return b""
        return part

    def _next_member(self) -> None:
        self._members += 1
        zeros = 0
        while True:
            if self._padding:
                rest = self._input.lstrip(b"\0")
                zeros += len(self._input) - len(rest)
                self._input = rest
            if self._input:
                break
            self._input = self._file.read(READ_BYTES)
            if not self._input:
                self._over = True
                break
        if zeros and zeros % self._padding:
            self._over = False
            self._fail(f"is cut short or damaged: {zeros} bytes of padding after its {self._kind} data")
        elif not self._over:
            self._input = self._whole_mark(self._input)
            if self._begins_member(self._input):
                self._decompressor = self._make()
            else:
                self._fail(f"something that is no {self._kind} data follows its {self._kind} data")

    def _whole_mark(self, data: bytes) -> bytes:
        while len(data) < 6 and (more := self._file.read(READ_BYTES)):
            data += more
        return data

    def _begins_member(self, data: bytes) -> bool:
        mark = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bzip2": b"BZh"}[self._kind]
        skippable = self._kind == "zstd" and 0x50 <= data[0] <= 0x5F and data[1:4] == b"\x2a\x4d\x18"[: len(data) - 1]
        # What begins as a member does and is too short to be one is a member that is cut.
        return data.startswith(mark) or skippable or mark.startswith(data)

    def _fail(self, why: str) -> None:
        self._failure = Damaged(f"{self._name}: {why}; what was whole before was read")
