"""Members of tar archives, one after the other, as they stand in the archive."""

import tarfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import IO, Any

from fastbpe.corpus.readers import ReadableFile
from fastbpe.corpus.report import Damaged, SourceReport

BLOCK = 512


class _Watched:
    """The archive's bytes on their way to tarfile, which takes an archive without an end for one that ends."""

    def __init__(self, file: ReadableFile) -> None:
        self._file = file
        self._last = b""

    def read(self, n: int) -> bytes:
        data = self._file.read(n)
        self._last = (self._last + data)[-BLOCK:]
        return data

    @property
    def ended(self) -> bool:
        """Whether the bytes end as an archive does, with a block of zeros."""
        return self._last == b"\0" * BLOCK


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

    Hidden members are passed over, and so is what is no regular file. Raises Damaged where the archive is cut.
    """
    watched = _Watched(file)
    found = False
    try:
        # encoding errors: names may be any bytes, as on disk.
        with tarfile.open(fileobj=watched, mode="r|", errors="surrogateescape") as archive:  # type: ignore[call-overload]
            for member in archive:
                found = True
                archive.members.clear()  # or they are all kept
                path = f"{name}/{member.name}"
                parts = [part for part in member.name.split("/") if part not in (".", "..", "")]
                if member.isdir():
                    continue
                if pattern is not None and not fnmatchcase(member.name, pattern):
                    report.skip(path, "a member that does not match")
                elif any(part.startswith(".") for part in parts):
                    report.skip(path, "hidden")
                elif not member.isreg():
                    report.skip(path, "not a regular file")
                else:
                    opened = archive.extractfile(member)
                    assert opened is not None
                    yield _Member(opened, name), path
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(name, error) from None
    if not watched.ended:
        what = "has no end" if found else "is no tar archive"
        raise Damaged(f"{name}: is cut short: it {what}; what was whole before was read")
