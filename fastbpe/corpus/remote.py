"""Files at addresses (s3://, https://, memory:// ...) through fsspec."""

import re
from collections.abc import Iterator
from typing import Any

from fastbpe.corpus.walk import Skip, glob_root, is_glob, names_hidden
from fastbpe.errors import DataError, FastbpeError, ParameterError

_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*(?:::[A-Za-z][A-Za-z0-9+.-]*)*://")
_PASSWORD = re.compile(r"(?<=://)[^/@]*@")
_MISSING = (404, 410)
"""What http says of a file that is not there."""
READ_BYTES = 1 << 20


def is_address(pattern: str) -> bool:
    return _ADDRESS.match(pattern) is not None


def shown(address: str) -> str:
    """An address without a user's name and password, for messages and manifests."""
    return _PASSWORD.sub("", address)


def expand_address(address: str, skip: Skip) -> Iterator[str]:
    """Addresses of the files that one stands for: itself, all below a directory, sorted, or what a glob matches."""
    with _told(address):
        system, path = _system(address)
        if _is_http(address):
            yield address
            return
        base = path.rstrip("/")
        if is_glob(path) and not system.exists(path):
            base = glob_root(path)
            found = sorted(system.glob(path))
            paths = [name for name in found if not system.isdir(name)]
            if not paths:
                raise DataError(f"{shown(address)}: no file matches; check the pattern")
        elif system.isdir(path):
            paths = sorted(system.find(path))
        elif system.exists(path):
            paths = [path]
        else:
            raise DataError(f"{shown(address)}: no such file or directory; check the name")
        hidden = names_hidden(path[len(base) :])
        for name in paths:
            inside = name[len(base) :] if name.startswith(base) else ""
            if not hidden and names_hidden(inside):
                skip(shown(system.unstrip_protocol(name)), "hidden")
            else:
                yield system.unstrip_protocol(name)


def open_address(address: str, seek: bool = False) -> Any:
    """An opened file, one that can seek when that is asked for. Close it."""
    with _told(address):
        system, path = _system(address)
        # Over http a file is one stream, or else needs a server that gives ranges.
        streamed = _is_http(address) and not seek
        return system.open(path, "rb", block_size=0 if streamed else READ_BYTES)


class _told:
    """Errors of the many file systems as ours, with the address and what to do."""

    def __init__(self, address: str) -> None:
        self._address = shown(address)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, FastbpeError | GeneratorExit) or not isinstance(error, Exception):
            return
        if isinstance(error, FileNotFoundError):
            cause = error.__cause__
            # Over http whatever goes wrong when a file is looked at is told of as that it is not there.
            if _is_http(self._address) and cause is not None and getattr(cause, "status", None) not in _MISSING:
                raise unreachable(self._address, cause) from error
            raise DataError(f"{self._address}: no such file; check the address") from error
        if isinstance(error, ImportError):
            install = "; pip install 'fastbpe-engine[http]'" if _is_http(self._address) else ""
            raise ParameterError(f"{self._address}: {str(error).rstrip('.')}{install}") from error
        raise unreachable(self._address, error) from error


def unreachable(address: str, error: BaseException) -> DataError:
    why = str(error).split("\n")[0] or type(error).__name__
    return DataError(f"{shown(address)}: cannot be read ({why}); check the address and the connection")


def _system(address: str) -> tuple[Any, str]:
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(address)
    except ValueError as error:
        raise ParameterError(f"{shown(address)}: {error}; is it a path? then write ./ before it") from None
    return system, path


def _is_http(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))
