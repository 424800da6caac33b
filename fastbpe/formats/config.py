"""transformers' files beside a tokenizer: tokenizer_config.json, special_tokens_map.json, added_tokens.json.

They are read for the names of special tokens and for their roles, and for nothing else.
"""

import json
from pathlib import Path
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.reading import naming, parse_json, read_bytes, whole
from fastbpe.model import ROLES
from fastbpe.tokenizer import Tokenizer

CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"


def beside(path: Path) -> dict[str, Any]:
    """What the files beside `path` say, empty without them.

    special_tokens: {name: id} of those with an id; names: of all that are named; kept: of those that are text and not
    skipped; roles: {"bos": name, ..}.
    """
    found: dict[str, Any] = {}
    for file in (CONFIG, MAP, ADDED):
        other = path.with_name(file)
        if other.is_file():
            with naming(other):
                root = parse_json(read_bytes(other))
                if not isinstance(root, dict):
                    raise FormatError("not an object")
                _take(file, root, found)
    return found


def _take(file: str, root: dict[str, Any], found: dict[str, Any]) -> None:
    specials = found.setdefault("special_tokens", {})
    names = found.setdefault("names", [])
    roles = found.setdefault("roles", {})
    if file == ADDED:
        specials |= {name: whole(id, f"the id of {name!r}") for name, id in root.items()}
        return
    rows = root.get("added_tokens_decoder", {})
    for id, row in rows.items() if isinstance(rows, dict) else ():
        if (name := _name(row)) is not None and id.isdecimal():
            specials[name] = whole(int(id), f"added_tokens_decoder: the id of {name!r}")
            if isinstance(row, dict) and row.get("special") is False:
                found.setdefault("kept", []).append(name)
    for role in ROLES:
        if (name := _name(root.get(f"{role}_token"))) is not None:
            roles[role] = name
            names.append(name)
    more = root.get("additional_special_tokens", root.get("extra_special_tokens", []))
    names += [name for row in (more if isinstance(more, list) else ()) if (name := _name(row)) is not None]


def _name(value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def config_files(tokenizer: Tokenizer, tokenizer_class: str, **more: Any) -> dict[str, bytes]:
    """tokenizer_config.json and special_tokens_map.json.

    Every role is written, null where no token has it: a class of transformers may have a name of its own for it.
    """
    model = tokenizer.model
    roles = {f"{role}_token": model.roles.get(role) for role in ROLES}
    others = [name for name in model.special_tokens if name not in (*model.roles.values(), *model.kept_tokens)]
    config = {
        "tokenizer_class": tokenizer_class,
        **roles,
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {
            str(id): added(name, name not in model.kept_tokens) for name, id in model.special_tokens.items()
        },
        **more,
    }
    named: dict[str, Any] = {role: name for role, name in roles.items() if name is not None}
    if others:
        named["additional_special_tokens"] = others
    return {CONFIG: as_json(config), MAP: as_json(named)}


def added(name: str, special: bool) -> dict[str, Any]:
    """A special token as Hugging Face writes one; `special`: it is skipped when special tokens are."""
    return {
        "content": name,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def as_json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
