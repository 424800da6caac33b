"""tiktoken's rank files: `BASE64 RANK` a line; a token's rank is its id.

Such a file has no pattern and no special tokens. `files` writes them beside it, in `NAME.json`, with the names that
tiktoken.Encoding has for them, and `read` takes them from there when the caller names no pattern.
"""

import base64
import binascii
import json
import re
from itertools import repeat
from pathlib import Path

from fastbpe.errors import FormatError
from fastbpe.formats import holding
from fastbpe.formats.reading import Given, check_lines, parse_json, read_bytes, shown, tokenizer_of, whole
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.pattern.spelling import fancy_regex
from fastbpe.tokenizer import Tokenizer

WHAT = "a tiktoken file"
ANYTHING = r"[\s\S]+"
"""The pattern for those that must have one."""

_LINE = re.compile(rb"([A-Za-z0-9+/]+=*) (\d{1,10})")


def is_one(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    return _LINE.fullmatch(head.split(b"\n", 1)[0].rstrip(b"\r")) is not None


def read(content: bytes, path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of a file's content; the pattern must be given, or stand beside the file."""
    ranks = loads(content)
    beside = None if path is None else path.with_name(f"{path.name}.json")
    if given.pattern is None and beside is not None and beside.is_file():
        given = _beside(beside, given)
    tokens = {token: rank + given.id_offset for token, rank in ranks.items()}
    specials = given.special_ids(max(tokens.values(), default=-1) + 1)
    return tokenizer_of(
        tokens,
        [],
        given,
        given.needed_pattern(WHAT),
        priority="rank table",
        special_tokens=specials,
        whole_chunk_first=True,
    )


def loads(content: bytes) -> dict[bytes, int]:
    """The rank table of a file's content. Raises FormatError, naming the line, when it is wrong."""
    check_lines(content)
    return _table(content.replace(b"\r\n", b"\n").split(b"\n")) or _line_by_line(content)


def _table(lines: list[bytes]) -> dict[bytes, int] | None:
    """The rank table of lines, all at a time; None when something about them is unusual, or wrong."""
    lines = [line for line in lines if line]
    if set(map(bytes.count, lines, repeat(b" "))) != {1}:
        return None
    parts = b" ".join(lines).split(b" ")
    codes, digits = parts[::2], parts[1::2]
    try:
        tokens = list(map(binascii.a2b_base64, codes))
    except binascii.Error:
        return None
    if not b"".join(digits).isdigit() or not 1 <= min(map(len, digits)) <= max(map(len, digits)) <= 10:
        return None
    ranks = list(map(int, digits))
    table = dict(zip(tokens, ranks, strict=True))
    unique = len(table) == len(ranks) == len(set(ranks))
    if not unique or b"" in table or max(ranks) >= ID_LIMIT or list(map(_coded, tokens)) != codes:
        return None
    return table


def _coded(token: bytes) -> bytes:
    return binascii.b2a_base64(token, newline=False)


def _line_by_line(content: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    lines: dict[int, int] = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        line = line.rstrip(b"\r")
        if not line:
            continue
        match = _LINE.fullmatch(line)
        try:
            token = base64.b64decode(match[1], validate=True) if match else b""
        except binascii.Error:
            token = b""
        if match is None or not token:
            raise FormatError(f"line {number}: {shown(line)} is not a token in base64 and its rank")
        rank = whole(int(match[2]), f"line {number}: the rank")
        if lines.setdefault(rank, number) != number:
            raise FormatError(f"line {number}: the rank {rank} is that of line {lines[rank]} too")
        if ranks.setdefault(token, rank) != rank:
            raise FormatError(f"line {number}: the token {shown(token)} stands there twice, with rank {ranks[token]}")
    return ranks


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The rank file, and beside it the pattern and the special tokens."""
    model = tokenizer.model
    holding.no_normalizer(model, WHAT)
    holding.no_beginning_of_another(model.special_tokens, "tiktoken")
    pattern = holding.one_pattern(model, "tiktoken")
    encoding = {
        "name": name.removesuffix(".tiktoken"),
        "pat_str": ANYTHING if pattern is None else holding.spelled(fancy_regex(pattern), "tiktoken"),
        "special_tokens": model.special_tokens,
        "roles": model.roles,
    }
    return {name: dumps(holding.ranks_in(model, WHAT)), f"{name}.json": _json(encoding)}


def dumps(ranks: dict[bytes, int]) -> bytes:
    """The file of a rank table."""
    ordered = sorted(ranks.items(), key=lambda token: token[1])
    return b"".join([b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ordered])


def _beside(path: Path, given: Given) -> Given:
    """What stands in the file beside, with what the caller said before it."""
    root = parse_json(read_bytes(path))
    specials = root.get("special_tokens") if isinstance(root, dict) else None
    roles = root.get("roles", {}) if isinstance(root, dict) else None
    if (
        not isinstance(root, dict)
        or not isinstance(root.get("pat_str"), str)
        or not isinstance(specials, dict)
        or not isinstance(roles, dict)
        or not all(isinstance(name, str) for name in roles.values())
    ):
        raise FormatError(f"{path.name} beside it has no pat_str, special_tokens and roles: say pattern yourself")
    for name, id in specials.items():
        whole(id, f"{path.name}: the id of {name!r}")
    text = root["pat_str"]
    pattern = "none" if text == ANYTHING else holding.named_spellings(fancy_regex).get(text, text)
    if given.special_tokens is not None:
        specials, roles = given.special_tokens, {}
    return Given(pattern, specials, given.normalizer, given.id_offset, {**roles, **given.roles})


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
