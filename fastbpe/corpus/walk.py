"""From what a user names (files, directories, globs) to files, in an order that the names alone decide."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from fastbpe.errors import DataError

Skip = Callable[[str, str], None]  # (path, reason)
Reject = Callable[[str, str, str], None]  # (path, reason, what to do)

_GLOB = re.compile(r"[*?\[]")


def expand(pattern: str, skip: Skip, exclude: str | None = None, reject: Reject | None = None) -> Iterator[str]:
    """Files that `pattern` names: itself, or all below a directory, or what a glob (`*`, `?`, `[...]`, `**`) matches.

    Each directory's entries come sorted by the bytes of their names. Hidden entries, links to what the walk meets
    anyway, broken links, things that are no files, and `exclude` (a directory) are passed over by `skip`. `reject` is
    told of a directory that cannot be read: where, why and what to do; without it that is an error.
    Raises DataError when there is nothing, or what is named cannot be read.
    """
    if os.path.lexists(pattern):
        try:
            mode = os.stat(pattern).st_mode
        except OSError as error:
            raise unreadable(pattern, error) from error
        if stat.S_ISDIR(mode):
            yield from _Walk(pattern, skip, exclude, reject).files()
        else:
            yield pattern
    elif is_glob(pattern):
        found = False
        for path in _Walk.glob(pattern, skip, exclude, reject).files():
            found = True
            yield path
        if not found:
            raise DataError(f"{printable(pattern)}: no file matches; check the pattern, and quote it from the shell")
    else:
        raise DataError(f"{printable(pattern)}: no such file or directory; check the name")


def literal_root(pattern: str) -> str:
    """The part of a pattern before its first globbed name; all of it without one."""
    return pattern if os.path.lexists(pattern) or not is_glob(pattern) else glob_root(pattern)


def is_glob(pattern: str) -> bool:
    """Whether it is a glob, where no file has it for its name."""
    return _GLOB.search(pattern) is not None


def glob_root(pattern: str) -> str:
    """The part of a glob before its first globbed name."""
    slash = pattern.rfind("/", 0, len(_GLOB.split(pattern, maxsplit=1)[0]))
    return "" if slash < 0 else pattern[:slash] or "/"


def names_hidden(path: str) -> bool:
    """Whether a name in the path, or in a glob, begins with a dot."""
    return any(part.startswith(".") for part in path.split("/"))


def unreadable(path: str, error: OSError) -> DataError:
    """The error for a path the system would not give: what, where, and what to do."""
    return DataError(f"{printable(path)}: {'; '.join(why_unreadable(error))}")


def why_unreadable(error: OSError) -> tuple[str, str]:
    """Why the system would not give something, and what to do."""
    why = (error.strerror or str(error)).lower()
    if isinstance(error, PermissionError):
        what_to_do = "give yourself the right to read it, or leave it out"
    elif isinstance(error, FileNotFoundError):
        what_to_do = "check the name, or whether a link leads nowhere"
    else:
        what_to_do = "check the disk or leave it out"
    return f"cannot be read ({why})", what_to_do


def printable(path: str) -> str:
    """A path as UTF-8 can hold it; bytes of a name that are not UTF-8 are shown as \\xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class _Walk:
    """One walk from a root. With a glob only files that match it are given, and only as deep as it can reach."""

    def __init__(self, root: str, skip: Skip, exclude: str | None, reject: Reject | None) -> None:
        self.root = root
        self.skip = skip
        self.reject = reject
        self.exclude = os.path.realpath(exclude) if exclude is not None else None
        self.match: re.Pattern[str] | None = None
        self.depth: int | None = None
        self.hidden = False
        self.real_root = os.path.realpath(root)
        self.seen: set[tuple[int, int]] = set()  # targets of links that lead outside the root

    @classmethod
    def glob(cls, pattern: str, skip: Skip, exclude: str | None, reject: Reject | None) -> "_Walk":
        root = glob_root(pattern)
        below = pattern[len(root) :]
        names = [part for part in below.split("/") if part]
        walk = cls(root or ".", skip, exclude, reject)
        walk.root = root
        walk.match = re.compile(glob_regex(names), re.DOTALL)
        walk.depth = None if "**" in names else len(names)
        walk.hidden = names_hidden(below)
        return walk

    def files(self) -> Iterator[str]:
        if self.match is not None and not os.path.isdir(self.root or "."):
            return
        yield from self._below(self.root, "", 1, self.match is None)

    def _below(self, directory: str, relative: str, depth: int, take_all: bool) -> Iterator[str]:
        try:
            with os.scandir(directory or ".") as entries:
                listed = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            if self.reject is None:
                raise unreadable(directory or ".", error) from error
            self.reject(directory or ".", *why_unreadable(error))
            return
        for entry in listed:
            path = os.path.join(directory, entry.name)
            name = relative + entry.name
            matches = take_all or self.match.fullmatch(name) is not None  # type: ignore[union-attr]
            is_directory = self._is_directory(entry)
            if not matches and (not is_directory or (self.depth is not None and depth >= self.depth)):
                continue
            if entry.name.startswith(".") and not self.hidden:
                self.skip(path, "hidden")
            elif entry.is_symlink() and not self._follows(path):
                continue
            elif is_directory:
                if self.exclude is not None and os.path.realpath(path) == self.exclude:
                    self.skip(path, "the output directory")
                else:
                    # With ** the files below match by themselves; without, a directory that matches means all of it.
                    below = take_all or (matches and self.depth is not None)
                    yield from self._below(path, name + "/", depth + 1, below)
            elif not entry.is_file():
                self.skip(path, "not a regular file")
            else:
                yield path

    @staticmethod
    def _is_directory(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:  # a link in a ring of links
            return False

    def _follows(self, path: str) -> bool:
        """Whether a link is to be followed: it leads to something that no other way in this walk leads to."""
        try:
            target = os.stat(path)
        except OSError:
            self.skip(path, "a link that leads nowhere")
            return False
        real = os.path.realpath(path)
        inside = Path(real).is_relative_to(self.real_root)
        if inside or Path(self.real_root).is_relative_to(real):
            met = Path(real).relative_to(self.real_root).parts if inside else ()
            if self.match is None and not any(part.startswith(".") for part in met):
                self.skip(path, "a link to what is read anyway")
                return False
            if stat.S_ISDIR(target.st_mode):
                self.skip(path, "a link back into the directory")
                return False
        key = (target.st_dev, target.st_ino)
        if key in self.seen:
            self.skip(path, "a link to what is read anyway")
            return False
        self.seen.add(key)
        return True


def glob_regex(parts: list[str]) -> str:
    """The regular expression that a glob's parts stand for, over names joined by '/'."""
    regex = ""
    for i, part in enumerate(parts):
        if part == "**":
            regex += ".+" if i == len(parts) - 1 else "(?:[^/]+/)*"
            continue
        at = 0
        while at < len(part):
            char = part[at]
            close = part.find("]", at + 2) if char == "[" else -1
            if char == "*":
                regex += "[^/]*"
            elif char == "?":
                regex += "[^/]"
            elif close > 0:
                inside = part[at + 1 : close].replace("\\", "\\\\").replace("[", "\\[")
                regex += f"[{'^/' + inside[1:] if inside[0] == '!' else inside}]"
                at = close
            else:
                regex += re.escape(char)
            at += 1
        regex += "/" if i < len(parts) - 1 else ""
    return regex
