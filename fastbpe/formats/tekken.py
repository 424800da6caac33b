"""Mistral's tekken.json: a rank table whose special tokens have the lowest ids.

    config          pattern, num_vocab_tokens (entries in vocab), default_vocab_size (ids in all),
                    default_num_special_tokens (how far ids lie above ranks), version
    vocab           [{rank, token_bytes (base64), token_str or null}, ..], ranks 0, 1, ..; those that do not fit under
                    default_vocab_size are not used
    special_tokens  [{rank, token_str, is_control}, ..], ranks are ids; older files have none, newer ones some: the
                    other ids below default_num_special_tokens are holes

Roles are not in the file.
"""

import base64
import binascii
import json
from pathlib import Path
from typing import Any

import numpy as np

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import holding
from fastbpe.formats.reading import Given, shown, tokenizer_of, whole
from fastbpe.formats.tiktoken import ANYTHING
from fastbpe.pattern.spelling import fancy_regex
from fastbpe.tokenizer import Tokenizer

WHAT = "tekken.json"


def is_one(root: object) -> bool:
    """Whether the value of a JSON file is one."""
    return isinstance(root, dict) and isinstance(root.get("config"), dict) and isinstance(root.get("vocab"), list)


def read(root: dict[str, Any], path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of a file's value. Raises FormatError, naming the place, when it is wrong."""
    given.refuse(WHAT, "pattern", "id_offset")
    config = root["config"]
    pattern = config.get("pattern")
    if not isinstance(pattern, str):
        raise FormatError("config.pattern: not a string")
    if pattern != ANYTHING and fancy_regex(pattern).text is None:
        raise FormatError(f"config.pattern: {fancy_regex(pattern).reason}")
    n_special = whole(config.get("default_num_special_tokens"), "config.default_num_special_tokens")
    size = whole(config.get("default_vocab_size"), "config.default_vocab_size")
    n = size - n_special
    if not 256 <= n <= len(root["vocab"]):
        raise FormatError(f"vocab: {len(root['vocab'])} entries, but the sizes in config ask for {n}")
    tokens: dict[bytes, int] = {}
    for i, entry in enumerate(root["vocab"][:n]):
        token = _token(entry, f"vocab[{i}]")
        if entry.get("rank") != i:
            raise FormatError(f"vocab[{i}].rank: {shown(entry.get('rank'))}, but ranks go up by one")
        if tokens.setdefault(token, n_special + i) != n_special + i:
            raise FormatError(f"vocab[{i}]: {shown(token)} is vocab[{tokens[token] - n_special}] too")
    specials = _specials(root.get("special_tokens"), n_special)
    if specials:
        given.refuse(WHAT, "special_tokens")
    return tokenizer_of(
        tokens,
        [],
        given,
        "none" if pattern == ANYTHING else holding.named_spellings(fancy_regex).get(pattern, pattern),
        priority="rank table",
        whole_chunk_first=True,
        special_tokens=specials or given.special_ids(0),
    )


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file. Raises ParameterError for what it cannot hold."""
    model = tokenizer.model
    holding.no_normalizer(model, WHAT)
    n_special, n = int(model.ids[0]), len(model.ids)
    if (
        list(model.special_tokens.values()) != list(range(len(model.special_tokens)))
        or len(model.special_tokens) > n_special
        or not np.array_equal(model.ids, np.arange(n_special, n_special + n))
    ):
        raise ParameterError(
            f"{WHAT} has its special tokens first, then the others without gaps: ids would change (train with "
            "--special-placement first)"
        )
    if model.tokens[:256] != [bytes([byte]) for byte in range(256)]:
        raise ParameterError(f"{WHAT} has the bytes in order before all other tokens: ids would change")
    holding.ranks_in(model, WHAT)
    pattern = holding.one_pattern(model, "tiktoken, which reads it,")
    rows = ",\n".join(
        json.dumps({"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": _text(token)})
        for i, token in enumerate(model.tokens)
    )
    special_rows = ",\n".join(
        json.dumps({"rank": id, "token_str": special, "is_control": True})
        for special, id in model.special_tokens.items()
    )
    config = {
        "pattern": ANYTHING if pattern is None else holding.spelled(fancy_regex(pattern), "tiktoken"),
        "num_vocab_tokens": n,
        "default_vocab_size": n + n_special,
        "default_num_special_tokens": n_special,
        "version": "v7",
    }
    text = f'{{"config": {json.dumps(config)},\n"vocab": [\n{rows}],\n"special_tokens": [\n{special_rows}]}}\n'
    return {name: text.encode()}


def _token(entry: object, place: str) -> bytes:
    try:
        if isinstance(entry, dict) and isinstance(entry.get("token_bytes"), str):
            token = base64.b64decode(entry["token_bytes"], validate=True)
            if token:
                return token
    except (binascii.Error, ValueError):
        pass
    raise FormatError(f"{place}.token_bytes: not the bytes of a token in base64")


def _specials(rows: object, n_special: int) -> dict[str, int]:
    if rows is None:
        return {}
    if not isinstance(rows, list):
        raise FormatError("special_tokens: not a list")
    found: dict[str, int] = {}
    for i, row in enumerate(rows):
        name = row.get("token_str") if isinstance(row, dict) else None
        if not isinstance(name, str) or name in found:
            raise FormatError(f"special_tokens[{i}].token_str: {shown(name)} is not a new name")
        found[name] = whole(row.get("rank"), f"special_tokens[{i}].rank", max(n_special, 1))
    return found


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
