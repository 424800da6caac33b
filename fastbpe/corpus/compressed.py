"""Compressed files as a stream of bytes: all members, frames and streams of them, and no silent end before the end."""

import bz2
import lzma
from collections import deque
from collections.abc import Callable
from typing import Any

from fastbpe.corpus.readers import ReadableFile, fill
from fastbpe.corpus.report import Damaged
from fastbpe.errors import DataError

READ_BYTES = 1 << 18
STEP_BYTES = 1 << 18
"""What is decompressed at once, whatever is asked for: how far damaged data are given must not depend on that."""

HELD_BYTES = 1 << 20
"""How much of a member waits for what follows, so that one whose checksum is wrong is not taken for whole."""


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

    Raises Damaged, naming the file, when the file ends inside a member or holds what is none; all bytes before that
    have been given then. When data turn out to be wrong, by a checksum or because they cannot be, it is not known since
    where: the last HELD_BYTES of their member are not given, so nothing of a member that is not longer.
    """

    def __init__(self, file: ReadableFile, kind: str, name: str) -> None:
        self._file = file
        self._kind = kind
        self._name = name
        self._make, self._padding = _KINDS[kind]
        self._decompressor = self._make()
        self._input = b""
        self._members = 0
        self._held: deque[bytes] = deque()
        self._n_held = 0
        self._ready: deque[bytes | memoryview] = deque()
        self._failure: Damaged | None = None
        self._over = False

    def read(self, n: int = -1, /) -> bytes:
        parts: list[bytes | memoryview] = []
        missing = n if n >= 0 else 1 << 62
        while missing:
            if self._ready:
                part = self._ready.popleft()
                if len(part) > missing:
                    view = memoryview(part)
                    self._ready.appendleft(view[missing:])
                    part = view[:missing]
                parts.append(part)
                missing -= len(part)
            elif self._over:
                break
            elif self._failure is not None:
                if parts:
                    break
                raise self._failure
            else:
                try:
                    self._step()
                except Damaged as error:  # of the file itself
                    self._release()
                    self._failure = error
        return parts[0] if len(parts) == 1 and isinstance(parts[0], bytes) else b"".join(parts)

    def _step(self) -> None:
        """Decompresses some more, or goes on to the next member."""
        decompressor = self._decompressor
        if decompressor.eof:
            self._release()
            self._input = decompressor.unused_data
            self._next_member()
            return
        if not self._input and decompressor.needs_input:
            self._input = fill(self._file, READ_BYTES)[0]
            if not self._input:
                self._release()
                self._fail(f"is cut short: it ends inside its {self._kind} data")
                return
        data, self._input = self._input, b""
        try:
            part: bytes = decompressor.decompress(data, STEP_BYTES)
        except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
            self._fail(f"its {self._kind} data are damaged ({error})")
            return
        except Exception as error:  # isal and zstd have error classes of their own, not known before they are loaded
            if isinstance(error, DataError | MemoryError):
                raise
            self._fail(f"its {self._kind} data are damaged ({error})")
            return
        if part:
            self._held.append(part)
            self._n_held += len(part)
            while self._n_held - len(self._held[0]) >= HELD_BYTES:
                self._n_held -= len(self._held[0])
                self._ready.append(self._held.popleft())

    def _release(self) -> None:
        self._ready += self._held
        self._held.clear()
        self._n_held = 0

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
