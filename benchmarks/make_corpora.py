"""Makes the corpora that the benchmarks read, in a directory of your choice.

    python benchmarks/make_corpora.py DIRECTORY [code] [chinese]

code     code_100m.txt, code_1g.txt: 100 MB and 1 GB of source code, whole files in a seeded random order, from Debian's
         linux-source package (fetched and unpacked by apt-get and dpkg, in DIRECTORY/raw) and this machine's Python
         libraries. Without Debian, or with --python-only, Python libraries alone, as many as there are.
chinese  zh_tang.txt, zh_all.txt: the poems of the npm package chinese-poetry 2.0.1 (fetched by npm), one a line.

The code differs a little from machine to machine: compare programs within one run, not figures between machines.
"""

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

SEED = 42
SIZES = {"code_100m.txt": 100_000_000, "code_1g.txt": 1_000_000_000}
LINUX = "linux-source-6.1"
LINUX_SUFFIXES = {".c", ".h", ".S", ".py", ".rst", ".txt", ".sh", ".dts", ".dtsi", ".pl", ".rs", ".yaml", ".awk"}
PYTHON_SUFFIXES = {".py", ".pyi", ".pyx"}
POEMS = "chinese-poetry"
POEMS_VERSION = "2.0.1"
TEXT_KEYS = ("paragraphs", "content", "para", "rhythmic_content")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("corpora", nargs="*", choices=["code", "chinese"], default=["code", "chinese"])
    parser.add_argument("--python-only", action="store_true", help="no linux-source package")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    if "code" in arguments.corpora:
        make_code(arguments.directory, arguments.python_only)
    if "chinese" in arguments.corpora:
        make_chinese(arguments.directory)


def make_code(directory: Path, python_only: bool) -> None:
    files = [] if python_only or not shutil.which("apt-get") else linux_files(directory / "raw")
    for folder in sorted({sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"]}):
        files += (path for path in Path(folder).rglob("*") if path.suffix in PYTHON_SUFFIXES)
    texts = distinct_texts(sorted(files))
    random.Random(SEED).shuffle(texts)
    for name, size in SIZES.items():
        write_up_to(directory / name, texts, size)


def linux_files(raw: Path) -> list[Path]:
    """The package's sources, fetched when they are not there yet."""
    raw.mkdir(exist_ok=True)
    tree = raw / LINUX
    if not tree.exists():
        subprocess.run(["apt-get", "-q", "download", LINUX], cwd=raw, check=True)
        (package,) = raw.glob(f"{LINUX}_*.deb")
        subprocess.run(["dpkg", "-x", package.name, "."], cwd=raw, check=True)
        subprocess.run(["tar", "xf", f"usr/src/{LINUX}.tar.xz"], cwd=raw, check=True)
    names = ("Makefile", "Kconfig")
    return [path for path in tree.rglob("*") if path.suffix in LINUX_SUFFIXES or path.name.startswith(names)]


def distinct_texts(files: Iterable[Path]) -> list[bytes]:
    """Contents that are UTF-8, each once."""
    texts: dict[bytes, bytes] = {}
    for path in files:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = path.read_bytes()
            content.decode()
        except (OSError, UnicodeDecodeError):
            continue
        if content:
            texts.setdefault(hashlib.sha256(content).digest(), content)
    return list(texts.values())


def write_up_to(path: Path, texts: Iterable[bytes], size: int) -> None:
    """Whole texts while they fit; the one that does not is cut at a character."""
    written = 0
    with path.open("wb") as file:
        for text in texts:
            part = text if written + len(text) <= size else text[: size - written].decode("utf-8", "ignore").encode()
            written += file.write(part)
            if len(part) < len(text):
                break
    print(f"{path}: {written:,} bytes")


def make_chinese(directory: Path) -> None:
    archive = directory / f"{POEMS}-{POEMS_VERSION}.tgz"
    if not archive.exists():
        subprocess.run(["npm", "pack", f"{POEMS}@{POEMS_VERSION}", "--silent"], cwd=directory, check=True)
    tang: list[str] = []
    every: list[str] = []
    with tarfile.open(archive) as opened:
        for member in sorted(opened.getmembers(), key=lambda member: member.name):
            content = opened.extractfile(member) if member.name.endswith(".json") else None
            try:
                poems = [poem.replace("\n", "") for poem in poems_in(json.load(content))] if content else []
            except ValueError:
                continue
            every += poems
            tang += poems if "poet.tang." in member.name else []
    for name, poems in (("zh_tang.txt", tang), ("zh_all.txt", every)):
        text = "".join(f"{poem}\n" for poem in poems)
        (directory / name).write_text(text, encoding="utf-8")
        print(f"{directory / name}: {len(text.encode()):,} bytes")


def poems_in(value: object) -> Iterator[str]:
    """The poems in one of the package's JSON files: whatever nesting, each has its lines under one of a few keys."""
    if isinstance(value, list):
        for item in value:
            yield from poems_in(item)
    elif isinstance(value, dict):
        for key in TEXT_KEYS:
            lines = value.get(key)
            if isinstance(lines, str):
                yield lines
                return
            if isinstance(lines, list) and lines:
                if all(isinstance(line, str) for line in lines):
                    yield "".join(lines)
                else:
                    yield from poems_in(lines)
                return


if __name__ == "__main__":
    main()
