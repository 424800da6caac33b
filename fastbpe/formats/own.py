"""Our own tokenizer file: one JSON object, one token or merge a line.

    format, version     "fastbpe tokenizer", 1
    priority            "merge list": the pair of the lowest rank first; "rank table": two tokens whose joined bytes are
                        the token of the lowest id; then the leftmost; "characters": each token is a character
    whole_chunk_first   whether a chunk that is a token is that token, whatever the merges say
    fingerprint         SHA-256 of what encoding and decoding depend on, checked at load
    pattern             a text, several in a list when they split in a row, or null
    pattern_name        for people: it follows from the pattern
    unmatched, normalizer
    roles               {"bos": name, "eos": name, "pad": name}, those that are named
    special_tokens      [[id, name], ..], ascending
    kept_tokens         [name, ..] of those that decoding keeps when it skips special tokens; not there for none
    record              what training wrote down, or null
    tokens              [[id, bytes], ..] for every id, special tokens included, ascending
    merges              [[left, right, id, count], ..], lowest rank first; count null when unknown; [] for a rank table

The bytes of a token are a string where they are UTF-8 (the string's UTF-8 is the token), else a list of numbers.
Equal tokenizers with equal records give equal files: no clock, path or rate is in it.
"""

import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from fastbpe.atomic import atomic_write
from fastbpe.characters import CharTokenizer
from fastbpe.errors import FormatError
from fastbpe.formats.reading import naming, parse_json, read_bytes
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.model import CHARACTERS, Model
from fastbpe.tokenizer import Tokenizer

FORMAT = "fastbpe tokenizer"
VERSION = 1
MAX_VALUES, MAX_BYTES = 1 << 27, 1 << 31
"""What a file of ours may hold, in all and in bytes: it is not bound to what others can read."""

_rows = msgspec.json.Encoder().encode_lines
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Writes the tokenizer under a temporary name, then gives it its own."""
    text = dumps(tokenizer)
    with atomic_write(path) as file:
        file.write(text)


def load(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of a file. Raises FormatError, naming file and place, when its content is wrong."""
    with naming(path):
        return loads(read_bytes(Path(path), MAX_BYTES))


def dumps(tokenizer: Tokenizer) -> bytes:
    """The file's content."""
    model = tokenizer.model
    head = {
        "format": FORMAT,
        "version": VERSION,
        "priority": model.priority,
        "whole_chunk_first": model.whole_chunk_first,
        "normalizer": model.normalizer,
        "fingerprint": model.fingerprint,
        "pattern": model.pattern,
        "pattern_name": model.pattern_name,
        "unmatched": model.unmatched,
        "roles": model.roles,
        "special_tokens": [[id, name] for name, id in model.special_tokens.items()],
        **({"kept_tokens": list(model.kept_tokens)} if model.kept_tokens else {}),
        "record": model.record,
    }
    counts = [None] * len(model.merges) if model.counts is None else model.counts.tolist()
    merges = ((*merge, count) for merge, count in zip(model.merges.tolist(), counts, strict=True))
    lines = [f"{_compact(key)}: {json.dumps(value, ensure_ascii=False)}".encode() for key, value in head.items()]
    for key, rows in ((b"tokens", chain.from_iterable(_ascending(model))), (b"merges", merges)):
        # A line for each row; a newline inside of one would stand there as \n.
        lines.append(b'"%s": [\n%s]' % (key, _rows(rows)[:-1].replace(b"\n", b",\n")))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def loads(content: bytes) -> Tokenizer:
    """The tokenizer of a file's content. Raises FormatError, naming the place, when it is wrong."""
    return of_value(parse_json(content, MAX_VALUES))


def of_value(root: Any) -> Tokenizer:
    """The tokenizer of a file's JSON value. Raises FormatError, naming the place, when it is wrong."""
    if not isinstance(root, dict) or root.get("format") != FORMAT:
        raise FormatError(f'not a fastbpe tokenizer file: it has no "format": "{FORMAT}"')
    if root.get("version") != VERSION:
        raise FormatError(f"version {root.get('version')!r} is not known here, only {VERSION}: use a newer fastbpe")
    model = _model(root)
    tokenizer = CharTokenizer(model) if model.priority == CHARACTERS else Tokenizer(model)
    if root.get("fingerprint") != tokenizer.fingerprint:
        raise FormatError(
            f"fingerprint: {root.get('fingerprint')!r}, but the content's is {tokenizer.fingerprint}: it was changed"
        )
    return tokenizer


def _model(root: dict[str, Any]) -> Model:
    specials: dict[str, int] = {}
    for i, entry in enumerate(_list(root, "special_tokens")):
        place = f"special_tokens[{i}]"
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], str)):
            raise FormatError(f"{place}: not [id, name]")
        if entry[1] in specials:
            raise FormatError(f"{place}: {entry[1]!r} is listed twice")
        specials[entry[1]] = _id(entry[0], place)
    ids, tokens = _tokens(root, specials)
    merges, counts = _merges(root)
    roles, record = root.get("roles"), root.get("record")
    if not isinstance(roles, dict) or not all(isinstance(name, str) for name in roles.values()):
        raise FormatError("roles: not an object of names")
    kept = root.get("kept_tokens", [])
    if not isinstance(kept, list) or not all(isinstance(name, str) for name in kept):
        raise FormatError("kept_tokens: not a list of names")
    if record is not None and not isinstance(record, dict):
        raise FormatError("record: not an object")
    pattern = root.get("pattern")
    if isinstance(pattern, list) and all(isinstance(one, str) for one in pattern):
        pattern = tuple(pattern)
    if pattern is not None and not isinstance(pattern, str | tuple):
        raise FormatError("pattern: not a string, several in a list, or null")
    if not isinstance(root.get("priority"), str) or not isinstance(root.get("whole_chunk_first"), bool):
        raise FormatError("priority, whole_chunk_first: not a string and true or false")
    if root.get("normalizer") is not None and not isinstance(root["normalizer"], str):
        raise FormatError("normalizer: not a string or null")
    if root.get("unmatched") not in ("refuse", "isolate"):
        raise FormatError(f"unmatched: {root.get('unmatched')!r} is neither 'refuse' nor 'isolate'")
    lengths = np.array([len(token) for token in tokens], np.int64)
    return Model(
        ids=np.array(ids, np.uint32),
        data=np.frombuffer(b"".join(tokens), np.uint8),
        starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
        merges=merges,
        counts=counts,
        special_tokens=specials,
        roles=roles,
        kept_tokens=tuple(kept),
        pattern=pattern,
        unmatched=root["unmatched"],
        priority=root["priority"],
        whole_chunk_first=root["whole_chunk_first"],
        normalizer=root.get("normalizer"),
        record=record,
    )


def _tokens(root: dict[str, Any], specials: dict[str, int]) -> tuple[list[int], list[bytes]]:
    """Ids and bytes of the ordinary tokens; the special ones are checked against their own list."""
    names = {id: name for name, id in specials.items()}
    ids, tokens, last = [], [], -1
    for i, entry in enumerate(_list(root, "tokens")):
        place = f"tokens[{i}]"
        if not (isinstance(entry, list) and len(entry) == 2):
            raise FormatError(f"{place}: not [id, bytes]")
        id = _id(entry[0], place)
        if id <= last:
            raise FormatError(f"{place}: id {id} after id {last}: ids must ascend")
        last = id
        if id in names:
            if entry[1] != names.pop(id):
                raise FormatError(f"{place}: {entry[1]!r} is not what special_tokens says of id {id}")
            continue
        ids.append(id)
        tokens.append(_token(entry[1], place))
    if names:
        raise FormatError(f"tokens: none has the id {min(names)} of special token {names[min(names)]!r}")
    return ids, tokens


def _merges(root: dict[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
    rows, counts = [], []
    for i, entry in enumerate(_list(root, "merges")):
        place = f"merges[{i}]"
        if not (isinstance(entry, list) and len(entry) == 4):
            raise FormatError(f"{place}: not [left, right, id, count]")
        rows.append([_id(id, place) for id in entry[:3]])
        if entry[3] is not None and not (type(entry[3]) is int and 0 <= entry[3] < 2**63):
            raise FormatError(f"{place}: the count {entry[3]!r} is not a whole number")
        counts.append(entry[3])
    known = [count is not None for count in counts]
    if any(known) and not all(known):
        raise FormatError(f"merges[{known.index(False)}]: has no count, but others have")
    return np.array(rows, np.int64).reshape(-1, 3), np.array(counts, np.int64) if all(known) and counts else None


def _list(root: dict[str, Any], key: str) -> list[Any]:
    value = root.get(key)
    if not isinstance(value, list):
        raise FormatError(f"{key}: not a list")
    return value


def _id(value: Any, place: str) -> int:
    if type(value) is not int or not 0 <= value < ID_LIMIT:
        raise FormatError(f"{place}: {value!r} is not an id (0 .. {ID_LIMIT - 1})")
    return value


def _token(value: Any, place: str) -> bytes:
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, list):
            return bytes(value)
    except (ValueError, TypeError):
        pass
    raise FormatError(f"{place}: {value!r} is neither a text nor a list of byte values")


def _ascending(model: Model) -> Iterator[Iterable[tuple[int, str | list[int]]]]:
    """Stretches of (id, token), special tokens in their places among the ordinary ones; to be taken in order."""
    ids, tokens, start = model.ids.tolist(), _readable(model.tokens), 0
    for name, id in sorted(model.special_tokens.items(), key=itemgetter(1)):
        stop = bisect_left(ids, id)
        yield zip(ids[start:stop], tokens, strict=False)
        yield ((id, name),)
        start = stop
    yield zip(ids[start:], tokens, strict=True)


def _readable(tokens: Iterable[bytes]) -> Iterator[str | list[int]]:
    for token in tokens:
        try:
            yield token.decode()
        except UnicodeDecodeError:
            yield list(token)
