"""Files that appear whole or not at all, and what a run that may be killed needs besides: locks, and sweeping up."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # no such locks here
    fcntl = None  # type: ignore[assignment]

TEMPORARY = ".*.tmp"
"""Names of files that are not whole yet."""


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write that takes the name `path` when the block ends without an error.

    It is written under a temporary name in the same folder, synced, and renamed; after an error nothing is left.
    What exists and is no regular file (a pipe, /dev/null) is written to as it is. OSError names `path`.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as file:
                yield file
        except OSError as error:
            raise _named(error, path) from None
        return
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.chmod(temporary, _mode(path))
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise _named(error, path, temporary) from None
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Makes renames in the directory outlive a crash, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Locks an opened file while it stays open; False when another run has the lock.

    The system drops the lock of a process that died, however it died. Where there are no such locks it is True.
    """
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def remove_unfinished(directory: Path) -> None:
    """Removes what a crash left in a directory under temporary names."""
    for path in directory.glob(TEMPORARY):
        path.unlink(missing_ok=True)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """os.write until all is written."""
    view = memoryview(data).cast("B")
    while len(view):
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def os_errors_name(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system refuses meanwhile without speaking of a file (a full disk) is told of `path`."""
    try:
        yield
    except OSError as error:
        raise _named(error, Path(path)) from None


def _named(error: BaseException, path: Path, temporary: str | None = None) -> BaseException:
    """An OSError that speaks of no file (a full disk), or of the temporary name, is made to speak of `path`."""
    if isinstance(error, OSError) and error.errno is not None and error.filename in (None, temporary):
        return OSError(error.errno, error.strerror, str(path))
    return error


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, else what a plain open() would have given."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
