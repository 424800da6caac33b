"""The `#bpe v1` text file: a version line, `special NAME` lines, one `left right` line of ids for each merge.

Ids follow from the order: bytes 0..255, merge k is 256 + k, special tokens after the merges. The file holds no
pattern, no roles and no counts, so a reader has to be told the pattern.
"""

import os
import re
from pathlib import Path

from fastbpe.atomic import atomic_write
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import holding
from fastbpe.formats.reading import Given, Pattern, as_text, check_lines, naming, read_bytes, tokenizer_of_pairs
from fastbpe.model import list_names
from fastbpe.tokenizer import Tokenizer

WHAT = "a #bpe v1 file"
VERSION_LINE = "#bpe v1"
_SPECIAL = "special "
_MERGE = re.compile(r"(\d{1,10}) (\d{1,10})", re.ASCII)


def is_one(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    return head.startswith(b"#bpe v")


def read(content: bytes, path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of a file's content; the pattern must be given."""
    given.refuse(WHAT, "special_tokens", "id_offset")
    check_lines(content)
    text = as_text(content)
    _check_version(text)
    return loads(text, given.needed_pattern(WHAT), given)


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file. Raises ParameterError for what it cannot hold."""
    return {name: dumps(tokenizer).encode()}


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Writes the file whole or not at all. Raises ParameterError for what the format cannot hold."""
    text = dumps(tokenizer)
    with atomic_write(path) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str], pattern: Pattern) -> Tokenizer:
    """The tokenizer of a file, with the pattern it was trained with (a name, a text, or None for none).

    Raises FormatError, naming file and line, when the content is wrong.
    """
    with naming(path):
        return loads(as_text(read_bytes(Path(path))), pattern)


def dumps(tokenizer: Tokenizer) -> str:
    """The file's content; raises ParameterError for ids in another layout and names that a line cannot hold."""
    model = tokenizer.model
    holding.no_normalizer(model, WHAT)
    pairs = holding.trained_pairs(model, WHAT)
    n = len(model.ids)
    if list(model.special_tokens.values()) != list(range(n, n + len(model.special_tokens))):
        raise ParameterError(f"{VERSION_LINE} holds only ids in the order bytes, merges, special tokens")
    for name in model.special_tokens:
        if name.startswith(" ") or "\n" in name or "\r" in name:
            raise ParameterError(f"{VERSION_LINE} cannot hold the special token {name!r}: newline or leading space")
    lines = [VERSION_LINE, *(f"{_SPECIAL}{name}" for name in model.special_tokens)]
    lines += [f"{left} {right}" for left, right in pairs.tolist()]
    return "".join(f"{line}\n" for line in lines)


def loads(text: str, pattern: Pattern, given: Given | None = None) -> Tokenizer:
    """The tokenizer of a file's content. Raises FormatError, naming the line, when it is wrong."""
    _check_version(text)
    lines = text.removesuffix("\n").split("\n")
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
    names = list_names(specials, "special")
    ids = {name: 256 + len(merges) + i for i, name in enumerate(names)}
    return tokenizer_of_pairs(merges, "merge", given or Given(), pattern, ids)


def _check_version(text: str) -> None:
    line = text.split("\n", 1)[0]
    if line != VERSION_LINE:
        raise FormatError(f"line 1: {line[:40]!r} is not the version line {VERSION_LINE!r}")
