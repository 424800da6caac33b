"""Members of tar archives, one after the other, as they stand in the archive."""

import tarfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import IO, Any

from fastbpe.corpus.readers import ReadableFile
from fastbpe.corpus.report import Damaged, SourceReport

BLOCK = 512


class _Watched:
    """The archive's bytes on their way to tarfile, which takes an archive without an end for one that ends, and leaves
    what follows an end alone."""

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self._last = b""
        self._next = b""
        self._part = b""  # what was read last, and where it begins in this archive
        self._start = 0

    def read(self, n: int) -> bytes:
        data, self._next = self._next[:n], self._next[n:]
        if len(data) < n:
            data += self._file.read(n - len(data))
        self._start += len(self._part)
        self._part = data
        self._last = (self._last + data)[-BLOCK:]
        return data

    @property
    def ended(self) -> bool:
        """Whether the bytes end as an archive does, with a block of zeros."""
        return self._last == b"\0" * BLOCK

    def goes_on(self, end: int) -> bool:
        """Whether more than zeros follows the end of the archive, at byte `end` of it; this is read next, from 0 on."""
        self._next = self._part[max(0, end - self._start) :] + self._next
        while block := self.read(BLOCK):
            if block.strip(b"\0"):
                self._next = block + self._next
                self._part, self._start = b"", 0
                return True
        return False


class _Member:
    """A member whose bytes may end before they should."""

    def __init__(self, file: IO[bytes], archive: str) -> None:
        self._file = file
        self._archive = archive

    def read(self, n: int = -1, /) -> bytes:
        try:
            return self._file.read(n)
        except (tarfile.TarError, EOFError) as error:
            raise _damaged(self._archive, error) from None


def _damaged(name: str, error: Exception) -> Damaged:
    return Damaged(f"{name}: is cut short or damaged ({error}); what was whole before was read")


def members(file: ReadableFile, pattern: str | None, report: SourceReport, name: str) -> Iterator[tuple[Any, str]]:
    """(file, name) of every regular member whose name matches the glob `pattern` (`*` crosses '/').

    Hidden members are passed over, and so is what is no regular file. Archives one after the other are read as one.
    Raises Damaged where an archive is cut, or something else follows it.
    """
    watched = _Watched(file)
    found = False
    following = ""
    try:
        while True:
            # encoding errors: names may be any bytes, as on disk.
            with tarfile.open(fileobj=watched, mode="r|", errors="surrogateescape") as archive:  # type: ignore[call-overload]
                following = ""
                for member in archive:
                    found = True
                    archive.members.clear()  # or they are all kept
                    if _wanted(member, f"{name}/{member.name}", pattern, report):
                        opened = archive.extractfile(member)
                        assert opened is not None
                        yield _Member(opened, name), f"{name}/{member.name}"
                end = archive.offset
            if not watched.goes_on(end):
                break
            following = "something that is no archive follows its end"
    except (tarfile.TarError, EOFError) as error:
        if following:
            raise Damaged(f"{name}: {following}; what was whole before was read") from None
        raise _damaged(name, error) from None
    if not watched.ended:
        what = "has no end" if found else "is no tar archive"
        raise Damaged(f"{name}: is cut short: it {what}; what was whole before was read")


def _wanted(member: tarfile.TarInfo, path: str, pattern: str | None, report: SourceReport) -> bool:
    """Whether a member is to be read; the report is told of those that are passed over."""
    parts = [part for part in member.name.split("/") if part not in (".", "..", "")]
    if member.isdir():
        return False
    if pattern is not None and not fnmatchcase(member.name, pattern):
        report.skip(path, "a member that does not match")
    elif any(part.startswith(".") for part in parts):
        report.skip(path, "hidden")
    elif not member.isreg():
        report.skip(path, "not a regular file")
    else:
        return True
    return False
