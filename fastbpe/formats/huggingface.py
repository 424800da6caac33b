"""Hugging Face's tokenizer.json of byte-level BPE models, with the files that transformers wants beside it.

Whatever a file asks for is either computed exactly or refused by its name. Hugging Face always takes added tokens out
of a text, which is `allowed_special="all"` here; they are our special tokens, and those that are not marked special are
kept when special tokens are skipped, as they are there.
A post-processor is not applied: it adds tokens, which `add_bos` and `add_eos` do here.
"""

import json
import re
from collections.abc import Sequence
from itertools import repeat
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastbpe.alphabet import CHARACTER_BYTES, all_from_characters, from_characters, to_characters
from fastbpe.errors import DataError, FormatError, ParameterError, PatternError
from fastbpe.formats import holding
from fastbpe.formats.config import added, beside, config_files
from fastbpe.formats.reading import Given, shown, tokenizer_of, whole
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.spelling import oniguruma
from fastbpe.pattern.splitter import Splitter
from fastbpe.tokenizer import Tokenizer

WHAT = "tokenizer.json"

_KEYS = {
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder",
    "model",
}  # fmt: skip
_MODEL_KEYS = {
    "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "vocab", "merges",
}  # fmt: skip
_FAMILIES = {"Unigram": "Unigram (SentencePiece)", "WordPiece": "WordPiece", "WordLevel": "WordLevel"}
_MAX_OVERLAP = 1 << 24
"""Of the squared lengths of names added up, where each part of a name is looked up."""
_META = re.compile(r"[\\.+*?()|\[\]{}^$\-&~#]")


def is_one(root: object) -> bool:
    """Whether the value of a JSON file is one."""
    return isinstance(root, dict) and isinstance(root.get("model"), dict)


def read(root: dict[str, Any], path: Path | None, given: Given) -> Tokenizer:
    """The tokenizer of a file's value; roles from tokenizer_config.json beside it, else from its post-processor.

    Raises FormatError, naming the place, for what is wrong and for what is not computed exactly.
    """
    given.refuse(WHAT, "pattern", "special_tokens", "normalizer", "id_offset")
    _check_keys(root, _KEYS, "")
    for key in ("truncation", "padding"):
        if root.get(key) is not None:
            _refuse(key, "set, which changes the ids of a text: write the file without it")
    if root.get("version", "1.0") != "1.0":
        _refuse("version", shown(root["version"]))
    model = root["model"]
    _check_model(model)
    normalizer = _normalizer(root.get("normalizer"))
    pattern, unmatched = _pattern(root.get("pre_tokenizer"))
    _check_decoder(root.get("decoder"))
    roles = _template_roles(root.get("post_processor"))
    vocabulary: dict[str, int] = model["vocab"]
    specials = _added(root.get("added_tokens") or [], vocabulary, normalizer)
    tokens = _tokens(vocabulary, specials, bool(model.get("ignore_merges")))
    rows = _merges(model["merges"], vocabulary, specials)
    if path is not None:
        told = beside(path).get("roles", {})
        roles = told or roles
    return tokenizer_of(
        tokens,
        rows,
        given,
        pattern,
        unmatched=unmatched,
        normalizer=normalizer,
        special_tokens=specials,
        kept_tokens=tuple(row["content"] for row in root.get("added_tokens") or () if row.get("special") is False),
        roles={role: name for role, name in roles.items() if name in specials},
        whole_chunk_first=bool(model.get("ignore_merges")),
    )


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """tokenizer.json, tokenizer_config.json and special_tokens_map.json.

    Raises ParameterError for what Hugging Face would read otherwise.
    """
    model = tokenizer.model
    characters = dict(zip(model.ids.tolist(), map(to_characters, model.tokens), strict=True))
    vocabulary = {token: id for id, token in characters.items()}
    for special in model.special_tokens:
        if special in vocabulary:
            raise ParameterError(
                f"{WHAT} writes the token {tokenizer.token_bytes(vocabulary[special])!r} as {special!r}, "
                "which is also a special token"
            )
        if model.whole_chunk_first and _spells_another(special):
            raise ParameterError(f"{WHAT} would take {from_characters(special)!r} for the special token {special!r}")
    vocabulary |= {special: model.special_tokens[special] for special in _kept_ids(vocabulary, model.special_tokens)}
    patterns = model.pattern if isinstance(model.pattern, tuple) else (model.pattern,) if model.pattern else ()
    splits = [_split(pattern) for pattern in patterns]
    whole_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    root = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, **added(special, special not in model.kept_tokens)}
            for special, id in model.special_tokens.items()
        ],
        "normalizer": None if model.normalizer is None else {"type": model.normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, whole_bytes]} if splits else whole_bytes,
        "post_processor": whole_bytes,
        "decoder": whole_bytes,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.whole_chunk_first,
            "vocab": dict(sorted(vocabulary.items(), key=lambda item: item[1])),
            "merges": [[characters[left], characters[right]] for left, right in model.last_merges[:, :2].tolist()],
        },
    }
    return {
        "tokenizer.json": (json.dumps(root, ensure_ascii=False) + "\n").encode(),
        **config_files(tokenizer, "PreTrainedTokenizerFast"),
    }


# Reading, part by part


def _refuse(feature: str, why: str) -> None:
    raise FormatError(f"{feature}: {why}; it is not computed exactly here, so the file is refused")


def _check_keys(root: dict[str, Any], known: set[str], place: str) -> None:
    for key in root:
        if key not in known:
            _refuse(f"{place}{key}", "not known")


def _typed(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise FormatError(f"{place}: {shown(value)} is not an object with a type")
    return value


def _items(value: dict[str, Any], key: str, place: str) -> list[Any]:
    if not isinstance(value.get(key), list):
        raise FormatError(f"{place}.{key}: not a list")
    return value[key]


def _check_model(model: dict[str, Any]) -> None:
    kind = model.get("type", "BPE")
    if kind != "BPE":
        _refuse("model.type", _FAMILIES.get(kind, shown(kind)) if isinstance(kind, str) else shown(kind))
    _check_keys(model, _MODEL_KEYS, "model.")
    if model.get("dropout"):
        _refuse("model.dropout", shown(model["dropout"]))
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            _refuse(f"model.{key}", shown(model[key]))
    if not isinstance(model.get("vocab"), dict):
        raise FormatError("model.vocab: not an object of tokens and ids")
    _items(model, "merges", "model")


def _normalizer(value: object) -> str | None:
    if value is None:
        return None
    found = []
    rows = [_typed(value, "normalizer")]
    if rows[0]["type"] == "Sequence":
        rows = [_typed(row, "normalizer") for row in _items(rows[0], "normalizers", "normalizer")]
    for row in rows:
        if row["type"] not in ("NFC", "NFKC"):
            _refuse("normalizer", shown(row["type"]))
        found.append(row["type"])
    if len(found) > 1:
        _refuse("normalizer", " and ".join(found))
    return found[0] if found else None


def _pattern(value: object) -> tuple[str | Sequence[str] | None, str]:
    """The pattern, or several in a row, and what is done with text that it leaves unmatched."""
    place = "pre_tokenizer"
    rows = [_typed(value, place)]
    if rows[0]["type"] == "Sequence":
        rows = [_typed(row, f"{place}.pretokenizers") for row in _items(rows[0], "pretokenizers", place)]
    patterns = []
    for row in rows[:-1]:
        if row["type"] == "Split":
            patterns.append(_split_pattern(row))
        elif row["type"] == "Digits":
            patterns.append(r"\p{N}" if row.get("individual_digits") else r"\p{N}+")
        else:
            _refuse(place, shown(row["type"]))
    last = rows[-1] if rows else {"type": "nothing"}
    if last["type"] != "ByteLevel":
        _refuse(place, f"{shown(last['type'])} at its end, where byte-level models have ByteLevel")
    if last.get("add_prefix_space") is not False:
        _refuse(f"{place}.add_prefix_space", "true")
    if last.get("use_regex", True):
        patterns.append(str(NAMED["gpt2"]))
    if not patterns:
        return "none", "refuse"
    if len(patterns) > 1:
        return tuple(patterns), "refuse"  # in a row they keep unmatched text whatever is said
    return patterns[0], "refuse" if _matches_all(patterns[0]) else "isolate"


def _split_pattern(row: dict[str, Any]) -> str:
    place = "pre_tokenizer.Split"
    given = row.get("pattern")
    if not isinstance(given, dict) or len(given) != 1:
        raise FormatError(f"{place}.pattern: not an object with one of Regex and String")
    ((kind, text),) = given.items()
    if kind not in ("Regex", "String") or not isinstance(text, str) or not text:
        raise FormatError(f"{place}.pattern: {shown(kind)} of {shown(text)}")
    if kind == "String":
        text = f"(?:{_META.sub(lambda match: chr(92) + match[0], text)})"
    elif text in (named := holding.named_spellings(oniguruma)):
        text = named[text]
    else:
        _check_spelling(text, place)
    behaviour = row.get("behavior")
    if behaviour == "Removed" and row.get("invert") is True and _matches_all(text):
        return text  # what is removed is what no match takes, and that is nothing
    if behaviour != "Isolated":
        _refuse(f"{place}.behavior", shown(behaviour))
    return text


def _check_spelling(pattern: str, place: str) -> None:
    """Raises FormatError for a pattern that Oniguruma, which runs it there, reads otherwise than we do."""
    spelling = oniguruma(pattern)
    if spelling.text is None:
        _refuse(f"{place}.pattern", f"{shown(pattern)}: {spelling.reason}")
    elif _plain(spelling.text) != _plain(pattern):
        _refuse(
            f"{place}.pattern",
            f"{shown(pattern)} Oniguruma reads otherwise; what it means here is {shown(spelling.text)} there",
        )


def _plain(pattern: str) -> str:
    """The pattern without what makes no difference: numbers for characters, escapes of } and of - beside a bracket."""

    def bare(match: re.Match[str]) -> str:
        if number := match[1] or match[2]:
            return chr(int(number, 16))
        return "}" if match[3] == "}" else match[0]

    text = re.sub(r"\\(?:x\{([0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\}|x([0-7][0-9A-Fa-f])|(.))", bare, pattern, flags=re.S)
    return re.sub(r"\\(.)|(?<=[^\\]\[)-|-(?=\])", lambda match: match[0] if match[1] else r"\-", text, flags=re.S)


def _matches_all(pattern: str) -> bool:
    try:
        Splitter(pattern, "refuse")
    except PatternError:
        return False
    return True


def _check_decoder(value: object) -> None:
    if value is None:
        _refuse("decoder", "none, so that tokens are joined by spaces")
    row = _typed(value, "decoder")
    if row["type"] == "Sequence":
        rows = _items(row, "decoders", "decoder")
        row = _typed(rows[0], "decoder") if len(rows) == 1 else {"type": "Sequence of several"}
    if row["type"] != "ByteLevel":
        _refuse("decoder", shown(row["type"]))


def _template_roles(value: object) -> dict[str, str]:
    """Roles out of a template that puts one special token before a text, or one behind it."""
    if value is None:
        return {}
    row = _typed(value, "post_processor")
    if row["type"] == "Sequence":
        found: dict[str, str] = {}
        for part in _items(row, "processors", "post_processor"):
            found |= _template_roles(part) if isinstance(part, dict) and part.get("type") != "Sequence" else {}
        return found
    if row["type"] == "ByteLevel":
        return {}
    if row["type"] != "TemplateProcessing":
        _refuse("post_processor", shown(row["type"]))
    names: list[str | None] = []
    for part in _items(row, "single", "post_processor"):
        special = part.get("SpecialToken") if isinstance(part, dict) else None
        names.append(special.get("id") if isinstance(special, dict) else None)
    if names.count(None) != 1:
        return {}
    at = names.index(None)
    roles = {"bos": names[:at], "eos": names[at + 1 :]}
    return {role: named[0] for role, named in roles.items() if len(named) == 1 and isinstance(named[0], str)}


def _added(rows: object, vocabulary: dict[str, int], normalizer: str | None) -> dict[str, int]:
    """Added tokens with their ids. Hugging Face gives ids anew to those that are not in model.vocab."""
    if not isinstance(rows, list):
        raise FormatError("added_tokens: not a list")
    found: dict[str, int] = {}
    sides: tuple[list[str], list[str]] = ([], [])
    largest = -1
    for i, row in enumerate(rows):
        place = f"added_tokens[{i}]"
        name = row.get("content") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name or name in found:
            raise FormatError(f"{place}.content: {shown(name)} is not a new token")
        for flag in ("single_word", "lstrip", "rstrip"):
            if row.get(flag):
                _refuse(f"{place}.{flag}", f"true for {name!r}")
        if row.get("normalized") and normalizer is not None:
            _refuse(f"{place}.normalized", f"true for {name!r}, where a normalizer runs")
        sides[bool(row.get("normalized"))].append(name)
        id = whole(row.get("id"), f"{place}.id")
        next_id = max(len(vocabulary), largest + 1)
        if (theirs := vocabulary.get(name, next_id)) != id:
            raise FormatError(f"{place}: {name!r} has the id {id}, but Hugging Face gives it {theirs}")
        found[name] = id
        largest = max(largest, id)
    if all(sides):
        # Those that are normalized are looked for in what the others leave, we look for all at once.
        if sum(len(name) ** 2 for name in found) > _MAX_OVERLAP:
            _refuse("added_tokens.normalized", "true for some, and too many to see whether others overlap them")
        if both := holding.overlap(*sides):
            _refuse("added_tokens.normalized", f"true for one of {shown(both[0])} and {shown(both[1])}, which overlap")
    return found


def _tokens(vocabulary: dict[str, int], specials: dict[str, int], ignores_merges: bool) -> dict[bytes, int]:
    """Ids of the ordinary tokens."""
    for key in vocabulary.keys() & specials.keys() if ignores_merges else ():
        if _spells_another(key):
            raise FormatError(f"model.vocab: the added token {key!r} would also be taken for {from_characters(key)!r}")
    ordinary = {key: id for key, id in vocabulary.items() if key not in specials}
    ids = ordinary.values()
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= ID_LIMIT:
        for key, id in ordinary.items():
            whole(id, f"model.vocab: the id of {shown(key)}")
    try:
        tokens = dict(zip(all_from_characters(list(ordinary)), ids, strict=True))
    except DataError:
        tokens = {}
    if not tokens or b"" in tokens:
        for key in ordinary:
            if not CHARACTER_BYTES.keys() >= set(key) or not key:
                raise FormatError(f"model.vocab: {shown(key)} is not in the byte alphabet, and is no added token")
    return tokens


def _merges(rows: list[Any], vocabulary: dict[str, int], specials: dict[str, int]) -> NDArray[np.int64]:
    """(n, 3): ids of left, right and product."""
    columns: list[list[str]] = []
    try:
        kinds = set(map(type, rows))
        if kinds == {str} and set(map(str.count, rows, repeat(" "))) == {1}:
            flat = " ".join(rows).split(" ")
            columns = [flat[::2], flat[1::2]]
        elif kinds <= {list}:
            columns = [[left for left, _ in rows], [right for _, right in rows]]
        if columns:
            columns.append(list(map(add, *columns)))
            ids = [list(map(vocabulary.__getitem__, column)) for column in columns]
            if all(map(specials.keys().isdisjoint, columns)):
                return np.ascontiguousarray(np.array(ids, np.int64).T)
    except (KeyError, TypeError, ValueError):
        pass
    return _row_by_row(rows, vocabulary, specials)


def _row_by_row(rows: list[Any], vocabulary: dict[str, int], specials: dict[str, int]) -> NDArray[np.int64]:
    """As `_merges`; names the row that is none."""
    found = []
    for i, row in enumerate(rows):
        pair = row.split(" ") if isinstance(row, str) else row
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise FormatError(f"model.merges[{i}]: {shown(row)} is not two tokens")
        tokens = (*pair, "".join(pair))
        for token in tokens:
            if token not in vocabulary:
                raise FormatError(f"model.merges[{i}]: {shown(token)} is not in model.vocab")
            if token in specials:
                _refuse(f"model.merges[{i}]", f"the added token {shown(token)} takes part in merges")
        found.append([vocabulary[token] for token in tokens])
    return np.array(found, np.int64).reshape(-1, 3)


# Writing


def _kept_ids(vocabulary: dict[str, int], specials: dict[str, int]) -> list[str]:
    """The special tokens that must stand in model.vocab too, or else Hugging Face gives them other ids."""
    kept: set[str] = set()
    while True:
        size, largest, moved = len(vocabulary) + len(kept), -1, set()
        for name, id in specials.items():
            if name not in kept and max(size, largest + 1) != id:
                moved.add(name)
            largest = max(largest, id)
        if not moved:
            return [name for name in specials if name in kept]
        kept |= moved


def _spells_another(name: str) -> bool:
    """Whether the name, read in the byte alphabet, is another text."""
    return CHARACTER_BYTES.keys() >= set(name) and from_characters(name) != name.encode()


def _split(pattern: str) -> dict[str, Any]:
    spelled = holding.spelled(oniguruma(pattern), "Oniguruma")
    text = pattern if _plain(pattern) == _plain(spelled) else spelled
    return {"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": False}
