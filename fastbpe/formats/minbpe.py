"""minbpe's `.model` files: a version line, the pattern, special tokens with their ids, then merges, two ids a line.

The pattern is a line of its own, empty for none. Bytes are the ids 0 .. 255, merge k is 256 + k.
"""

import re
from pathlib import Path

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import holding
from fastbpe.formats.reading import Given, as_text, check_lines, shown, tokenizer_of_pairs, whole
from fastbpe.tokenizer import Tokenizer

WHAT = "a minbpe file"
VERSION_LINE = "minbpe v1"

_PAIR = re.compile(r"(\d{1,10}) (\d{1,10})", re.ASCII)
_SPECIAL = re.compile(r"(\S+) (\d{1,10})", re.ASCII)


def is_one(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    return head.startswith(b"minbpe v")


def read(content: bytes, path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of a file's content. Raises FormatError, naming the line, when it is wrong."""
    given.refuse(WHAT, "pattern", "special_tokens", "id_offset")
    check_lines(content)
    lines = as_text(content).removesuffix("\n").split("\n")
    if lines[0] != VERSION_LINE:
        raise FormatError(f"line 1: {shown(lines[0])} is not the version line {VERSION_LINE!r}")
    if len(lines) < 3 or not re.fullmatch(r"\d{1,7}", lines[2], re.ASCII):
        raise FormatError("line 3: not the number of special tokens")
    n = int(lines[2])
    if n > len(lines) - 3:
        raise FormatError(f"line 3: {n} special tokens, but {len(lines) - 3} lines are left")
    specials: dict[str, int] = {}
    for number, line in enumerate(lines[3 : 3 + n], 4):
        match = _SPECIAL.fullmatch(line)
        if match is None or match[1] in specials:
            raise FormatError(f"line {number}: {shown(line)} is not a new special token and its id")
        specials[match[1]] = whole(int(match[2]), f"line {number}: the id")
    pairs = []
    for number, line in enumerate(lines[3 + n :], 4 + n):
        match = _PAIR.fullmatch(line)
        if match is None:
            raise FormatError(f"line {number}: {shown(line)} is not two ids")
        pairs.append((int(match[1]), int(match[2])))
    return tokenizer_of_pairs(pairs, "merge", given, lines[1] or None, specials)


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file. Raises ParameterError for what it cannot hold."""
    model = tokenizer.model
    holding.no_normalizer(model, WHAT)
    pattern = holding.one_pattern(model, "minbpe") or ""
    if pattern != pattern.strip() or "\n" in pattern or "\r" in pattern:
        raise ParameterError(f"{WHAT} has the pattern in a line and strips it: this one would change")
    lines = [VERSION_LINE, pattern, str(len(model.special_tokens))]
    # Of two special tokens that begin alike minbpe takes the one that is listed first.
    for special, id in sorted(model.special_tokens.items(), key=lambda item: (-len(item[0]), item[1])):
        if any(character.isspace() for character in special):
            raise ParameterError(f"{WHAT} cannot hold the special token {special!r}: it has white space")
        lines.append(f"{special} {id}")
    lines += [f"{left} {right}" for left, right in holding.trained_pairs(model, WHAT).tolist()]
    return {name: "".join(f"{line}\n" for line in lines).encode()}
