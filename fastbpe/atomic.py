"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


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
