"""The npm package chinese-poetry: fetching it, its poems by collection, simplified characters.

JackeyGao and contributors, MIT licence; version 2.0.1 has 85 MB. The texts themselves are centuries old.
"""

import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ARCHIVE = "chinese-poetry-2.0.1.tgz"


@dataclass(frozen=True)
class Poem:
    title: str
    author: str
    lines: list[str]


def fetched(directory: Path) -> Path:
    """The package's archive in the directory, where npm puts it if it is not there yet."""
    archive = directory / ARCHIVE
    if not archive.exists():
        name, _, version = ARCHIVE.removesuffix(".tgz").rpartition("-")
        if not shutil.which("npm"):
            raise SystemExit(f"npm is missing: install it, or put {ARCHIVE} into {directory}")
        print(f"fetching {name} {version} (85 MB) with npm")
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", f"{name}@{version}", "--silent"], cwd=directory, check=True)
    return archive


def files_of(archive: Path, *globs: str) -> list[dict[str, list[Poem]]]:
    """For each glob the package's files below dist/ that it names, {name: poems} in the order of their names."""
    found: list[dict[str, list[Poem]]] = [{} for _ in globs]
    with tarfile.open(archive) as package:  # read from start to end: going back in it means reading it anew
        for member in package:
            name = member.name.removeprefix("package/dist/")
            for files, glob in zip(found, globs, strict=True):
                if fnmatch(name, glob) and name.count("/") == glob.count("/"):
                    content = package.extractfile(member)
                    assert content is not None
                    files[name] = [poem_of(entry) for entry in json.load(content)]
    return [dict(sorted(files.items())) for files in found]


def poem_of(entry: dict) -> Poem:
    """The collections name the same things differently."""
    lines = next((entry[key] for key in ("paragraphs", "content", "para") if entry.get(key)), [])
    return Poem(entry.get("title") or entry.get("rhythmic") or "", entry.get("author") or "", lines)


def simplified(texts: list[str]) -> list[str]:
    """The texts, none of which holds a newline, in simplified characters: OpenCC's t2s."""
    try:
        from opencc import OpenCC
    except ModuleNotFoundError:
        raise SystemExit("the characters are simplified by OpenCC, which is missing: pip install opencc") from None
    return OpenCC("t2s").convert("\n".join(texts)).split("\n")
