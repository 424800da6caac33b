"""The `#bpe v1` text file: a version line, `special NAME` lines, one `left right` line of ids for each merge.

Ids follow from the order: bytes 0..255, merge k is 256 + k, special tokens after the merges. The file holds no
pattern, no roles and no counts, so a reader has to be told the pattern.
"""

import os
import re
from pathlib import Path

from fastbpe.atomic import atomic_write
from fastbpe.errors import DataError, FormatError, ParameterError
from fastbpe.tokenizer import Tokenizer

VERSION_LINE = "#bpe v1"
_SPECIAL = "special "
_MERGE = re.compile(r"(\d{1,10}) (\d{1,10})", re.ASCII)


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Writes the file whole or not at all. Raises ParameterError for what the format cannot hold."""
    text = dumps(tokenizer)
    with atomic_write(path) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str], pattern: str | None) -> Tokenizer:
    """The tokenizer of a file, with the pattern it was trained with (a name, a text, or None for none).

    Raises FormatError, naming file and line, when the content is wrong.
    """
    content = Path(path).read_bytes()
    try:
        return loads(content.decode(), pattern)
    except UnicodeDecodeError as error:
        raise FormatError(f"{os.fspath(path)}: not UTF-8 at byte {error.start}") from None
    except DataError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None


def dumps(tokenizer: Tokenizer) -> str:
    """The file's content; raises ParameterError for ids in another layout and names that a line cannot hold."""
    model = tokenizer.model
    if model.special_placement != "last":
        raise ParameterError(f"{VERSION_LINE} holds only ids in the order bytes, merges, special tokens")
    for name in model.special_tokens:
        if name.startswith(" ") or "\n" in name or "\r" in name:
            raise ParameterError(f"{VERSION_LINE} cannot hold the special token {name!r}: newline or leading space")
    lines = [VERSION_LINE, *(f"{_SPECIAL}{name}" for name in model.special_tokens)]
    lines += [f"{left} {right}" for left, right in tokenizer.merges.tolist()]
    return "".join(f"{line}\n" for line in lines)


def loads(text: str, pattern: str | None) -> Tokenizer:
    """The tokenizer of a file's content. Raises FormatError, naming the line, when it is wrong."""
    lines = text.removesuffix("\n").split("\n")
    if lines[0] != VERSION_LINE:
        raise FormatError(f"line 1: {lines[0][:40]!r} is not the version line {VERSION_LINE!r}")
    specials: list[str] = []
    merges: list[tuple[int, int]] = []
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(_SPECIAL) and not merges:
            specials.append(line.removeprefix(_SPECIAL))
            continue
        match = _MERGE.fullmatch(line)
        if not match:
            raise FormatError(f"line {number}: {line[:40]!r} is neither 'special NAME' nor two ids")
        pair = int(match[1]), int(match[2])
        if max(pair) >= 256 + len(merges):
            raise FormatError(f"line {number}: id {max(pair)} is not known before this merge")
        merges.append(pair)
    return Tokenizer.from_merges(merges, pattern=pattern, special_tokens=specials)
