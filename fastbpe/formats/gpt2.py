"""GPT-2's two files: vocab.json (token in GPT-2's byte alphabet: id) and merges.txt (`left right` a line).

They hold no pattern, because their readers know one, GPT-2's. Special tokens stand among the others in vocab.json;
which they are, and the roles, is told by tokenizer_config.json or special_tokens_map.json beside them.
"""

import json
from pathlib import Path

import numpy as np

from fastbpe.alphabet import from_characters, to_characters
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import holding
from fastbpe.formats.config import beside, config_files
from fastbpe.formats.reading import (
    Given,
    as_text,
    check_lines,
    naming,
    parse_json,
    read_bytes,
    shown,
    tokenizer_of,
    whole,
)
from fastbpe.tokenizer import Tokenizer

WHAT = "a GPT-2 vocabulary"
VERSION_LINE = "#version: 0.2"
_PARTNERS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def is_merges(head: bytes) -> bool:
    """Whether a file that begins so holds the merges."""
    return head.startswith(b"#version")


def is_vocabulary(root: object) -> bool:
    """Whether the value of a JSON file is the vocabulary: an object of ids."""
    return isinstance(root, dict) and len(root) >= 256 and all(type(id) is int for id in root.values())


def partner(path: Path) -> Path:
    """The other file of the two. Raises FormatError when it is not there."""
    names = []
    for pair in _PARTNERS:
        for own, other in (pair, pair[::-1]):
            if path.name.endswith(own):
                names.append(path.name.removesuffix(own) + other)
                if (found := path.with_name(names[-1])).is_file():
                    return found
    wanted = " or ".join(names) or "vocab.json and merges.txt, or encoder.json and vocab.bpe, by name"
    raise FormatError(f"it is one of the two files of a GPT-2 vocabulary, and the other is not beside it: {wanted}")


def read_merges(content: bytes, path: Path, given: Given) -> Tokenizer:
    """The tokenizer of the merges' content and of the vocabulary beside it."""
    other = partner(path)
    with naming(other):
        root = parse_json(read_bytes(other))
        if not is_vocabulary(root):
            raise FormatError("not an object of at least 256 tokens and their ids")
    return loads(root, content, other, given)


def read_vocabulary(root: dict[str, int], path: Path, given: Given) -> Tokenizer:
    """The tokenizer of the vocabulary's value and of the merges beside it."""
    other = partner(path)
    with naming(other):
        content = read_bytes(other)
    return loads(root, content, path, given)


def loads(vocabulary: dict[str, int], merges: bytes, path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of both contents. Raises FormatError, naming the place, when they are wrong."""
    given.refuse(WHAT, "id_offset")
    told = {} if path is None else beside(path)
    last = max((whole(id, f"the id of {shown(key)}") for key, id in vocabulary.items()), default=0)
    if given.special_tokens is not None:
        specials = given.special_ids(last + 1, vocabulary)
    else:
        specials = {name: vocabulary.get(name, id) for name, id in told.get("special_tokens", {}).items()}
        specials |= {name: vocabulary[name] for name in told.get("names", ()) if name in vocabulary}
    for name, id in specials.items():
        if vocabulary.get(name, id) != id:
            raise ParameterError(f"special_tokens: {name!r} has the id {vocabulary[name]} in the vocabulary, not {id}")
    tokens: dict[bytes, int] = {}
    for key, id in vocabulary.items():
        if key not in specials:
            with naming("the vocabulary"):
                tokens[from_characters(key)] = id
    rows = _rows(as_text(merges), vocabulary, specials)
    if given.special_tokens is None and "special_tokens" not in told:
        _refuse_unbuilt(tokens, rows)
    roles = {role: name for role, name in told.get("roles", {}).items() if name in specials}
    pattern = "gpt2" if given.pattern is None else given.pattern
    kept = tuple(name for name in told.get("kept", ()) if name in specials)
    return tokenizer_of(tokens, rows, given, pattern, special_tokens=specials, roles=roles, kept_tokens=kept)


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The two files, and what tells of the special tokens. Raises ParameterError for what they cannot hold."""
    model = tokenizer.model
    holding.no_normalizer(model, WHAT)
    if model.pattern_name != "gpt2":
        raise ParameterError(
            f"{WHAT} has no pattern, its readers split by gpt2's, and this tokenizer by another: write huggingface, "
            "whose files hold it"
        )
    merges = holding.merges_in(model, "a GPT-2 vocabulary has")
    characters = dict(zip(model.ids.tolist(), map(to_characters, model.tokens), strict=True))
    vocabulary = {token: id for id, token in characters.items()}
    for special, id in model.special_tokens.items():
        if vocabulary.setdefault(special, id) != id:
            raise ParameterError(f"{WHAT} has the special tokens among the others, and {special!r} is one of those")
    lines = [VERSION_LINE]
    for left, right in merges[:, :2].tolist():
        lines.append(f"{characters[left]} {characters[right]}")
        if lines[-1].startswith("#version"):
            raise ParameterError(f"readers of merges.txt take the merge {lines[-1]!r} for a version line")
    ordered = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
    return {
        "vocab.json": (json.dumps(ordered, ensure_ascii=False) + "\n").encode(),
        "merges.txt": "".join(f"{line}\n" for line in lines).encode(),
        **config_files(tokenizer, "GPT2Tokenizer", add_prefix_space=False),
    }


def _rows(text: str, vocabulary: dict[str, int], specials: dict[str, int]) -> list[tuple[int, int, int]]:
    """The merges by their ids; lines end with a newline and nothing else: tokens may look like other line ends."""
    check_lines(text.encode())
    lines = text.split("\n")
    rows = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if (number == 1 and line.startswith("#version")) or (not line and number == len(lines)):
            continue
        sides = line.split(" ")
        if len(sides) != 2:
            raise FormatError(f"merges, line {number}: {shown(line)} is not two tokens")
        row = []
        for token in (*sides, sides[0] + sides[1]):
            if token not in vocabulary or token in specials:
                raise FormatError(f"merges, line {number}: {shown(token)} is not in the vocabulary, or is special")
            row.append(vocabulary[token])
        rows.append((row[0], row[1], row[2]))
    return rows


def _refuse_unbuilt(tokens: dict[bytes, int], rows: list[tuple[int, int, int]]) -> None:
    made = np.unique(np.array([row[2] for row in rows], np.int64))
    ids = np.fromiter(tokens.values(), np.int64, len(tokens))
    lost = dict(zip(ids.tolist(), np.isin(ids, made).tolist(), strict=True))
    names = [token for token, id in tokens.items() if len(token) > 1 and not lost[id]]
    if names:
        raise FormatError(
            f"no merge builds {shown(names[0].decode(errors='replace'))} ({len(names)} tokens are of this kind): "
            "say with special_tokens which of them are special tokens ([] for none)"
        )
