"""GGUF, llama.cpp's files: the vocabulary and merges of gpt2-type models, out of any file and into one without tensors.

    header      "GGUF", version u4 (2 or 3), tensors u8, pairs u8, little-endian; then pairs of key, type u4 and value
    string      length u8, UTF-8; array: type u4, length u8, values

The file names a pattern (`tokenizer.ggml.pre`) instead of holding one, so only those that llama.cpp knows can be
written. Its own spelling of llama3's and qwen2's has '[sS] for (?i:'s): a text with 'ſ it cuts otherwise. Its
spellings of o200k's and tekken's differ for all letters beyond ASCII, so those are refused. Where no token has a role,
llama.cpp takes one of its own, which changes no ids as long as it is not told to add it.
"""

import mmap
import struct
from pathlib import Path
from typing import Any, BinaryIO

from fastbpe.alphabet import from_characters, to_characters
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import holding
from fastbpe.formats.reading import MAX_BYTES, MAX_ENTRIES, Given, Pattern, naming, shown, tokenizer_of
from fastbpe.pattern.named import NAMED
from fastbpe.tokenizer import Tokenizer

WHAT = "a GGUF file"
MAGIC = b"GGUF"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
UNUSED_NAME = "[UNUSED{}]"

DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
# Name in llama.cpp: our pattern, whether chunks that are tokens are taken whole, and an architecture that has it.
PRESETS: dict[str, tuple[str | tuple[str, ...], bool, str]] = {
    "gpt-2": ("gpt2", False, "gpt2"),
    "llama-bpe": ("llama3", True, "llama"),
    "qwen2": ("qwen2", False, "qwen2"),
    "deepseek-v3": (DEEPSEEK_V3, False, "deepseek2"),
}
_ALIASES = {
    "llama3": "llama-bpe", "llama-v3": "llama-bpe", "phi-2": "gpt-2", "deepseek-r1-qwen": "qwen2",
}  # fmt: skip
_OTHER_MODELS = {"llama": "SentencePiece", "bert": "WordPiece", "t5": "Unigram (SentencePiece)", "rwkv": "RWKV"}
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_PAIRS = 1 << 16
_ROLE_KEYS = {"bos": "bos_token_id", "eos": "eos_token_id", "pad": "padding_token_id"}


def read(path: Path, given: Given) -> Tokenizer:
    """The tokenizer of a file, of which only the header is read. Raises FormatError, naming the place."""
    given.refuse(WHAT, "special_tokens", "id_offset")
    with path.open("rb") as file:
        pairs = metadata(file)
    model = pairs.get("tokenizer.ggml.model")
    if model is None:
        raise FormatError("it has no tokenizer.ggml.model, so no vocabulary: a file with one is needed")
    if model != "gpt2":
        raise FormatError(f"tokenizer.ggml.model: {_OTHER_MODELS.get(str(model), shown(model))}, which is no byte BPE")
    pattern, whole_first = _pattern(pairs.get("tokenizer.ggml.pre"), given)
    names = _strings(pairs, "tokenizer.ggml.tokens")
    kinds = pairs.get("tokenizer.ggml.token_type", [NORMAL] * len(names))
    if not isinstance(kinds, list) or len(kinds) != len(names):
        raise FormatError("tokenizer.ggml.token_type: not a type for each token")
    tokens: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    kept: list[str] = []
    ids: dict[str, int] = {}
    for id, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if kind == NORMAL:
            with naming(f"tokenizer.ggml.tokens[{id}]"):
                token = from_characters(name)
            if tokens.setdefault(token, id) != id:
                raise FormatError(f"tokenizer.ggml.tokens[{id}]: {shown(name)} is token {tokens[token]} too")
            ids[name] = id
        elif kind in (UNKNOWN, CONTROL, USER_DEFINED):
            if specials.setdefault(name, id) != id:
                raise FormatError(f"tokenizer.ggml.tokens[{id}]: {shown(name)} is token {specials[name]} too")
            if kind == USER_DEFINED:
                kept.append(name)
        elif kind != UNUSED:
            raise FormatError(f"tokenizer.ggml.token_type[{id}]: {shown(kind)} is no type of a gpt2 model's token")
    rows = []
    for i, merge in enumerate(_strings(pairs, "tokenizer.ggml.merges")):
        sides = merge.split(" ")
        row = [ids.get(token, -1) for token in (*sides, "".join(sides))]
        if len(sides) != 2 or min(row) < 0:
            raise FormatError(f"tokenizer.ggml.merges[{i}]: {shown(merge)} is not two tokens that give a third")
        rows.append(row)
    by_id = {id: name for name, id in specials.items()}
    roles = {}
    for role, key in _ROLE_KEYS.items():
        role_id = pairs.get(f"tokenizer.ggml.{key}")
        if isinstance(role_id, int) and role_id in by_id:
            roles[role] = by_id[role_id]
    return tokenizer_of(
        tokens,
        rows,
        given,
        pattern,
        special_tokens=specials,
        kept_tokens=tuple(kept),
        roles=roles,
        whole_chunk_first=whole_first,
    )


def metadata(file: BinaryIO) -> dict[str, Any]:
    """The pairs of a GGUF header; arrays of numbers or strings are lists. Raises FormatError, naming the place."""
    if file.seek(0, 2) == 0:
        raise FormatError("it is empty")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _Header(content).pairs()


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """A file with the vocabulary and no tensors. Raises ParameterError for what llama.cpp would read otherwise."""
    model = tokenizer.model
    holding.no_normalizer(model, "llama.cpp")
    preset = next((key for key, row in PRESETS.items() if _text(row[0]) == model.pattern), None)
    if preset is None:
        known = ", ".join(key if isinstance(row[0], tuple) else row[0] for key, row in PRESETS.items())
        raise ParameterError(
            f"llama.cpp takes no pattern, it has names for some it knows: {known}; this tokenizer's is another, so it "
            "cannot be used there: train one with a pattern of these"
        )
    if isinstance(model.pattern, str) and model.unmatched != "refuse":
        raise ParameterError("llama.cpp may drop text that its pattern leaves unmatched, this tokenizer keeps it")
    if both := holding.overlap(model.special_tokens, model.special_tokens, inside=False):
        raise ParameterError(
            f"llama.cpp looks for the longest special token first, and {both[0]!r} overlaps {both[1]!r}"
        )
    _, whole_first, architecture = PRESETS[preset]
    merges = model.last_merges
    if whole_first and not model.whole_chunk_first:
        there = holding.built(model)
        if not there.all():
            raise ParameterError(f"llama.cpp takes whole chunks first with {preset}, and this tokenizer does not")
    elif not whole_first:
        merges = holding.merges_in(model, f"llama.cpp has, with {preset},")
    if model.id_limit > MAX_ENTRIES:
        raise ParameterError(
            f"{WHAT} lists every id up to the largest, {model.id_limit - 1}, of which {model.vocab_size} are tokens: "
            f"more than {MAX_ENTRIES} are not written"
        )
    characters = dict(zip(model.ids.tolist(), map(to_characters, model.tokens), strict=True))
    tokens, kinds = [UNUSED_NAME.format(id) for id in range(model.id_limit)], [UNUSED] * model.id_limit
    for id, text in characters.items():
        tokens[id], kinds[id] = text, NORMAL
    texts, kept = set(characters.values()), set(model.kept_tokens)
    for special, id in model.special_tokens.items():
        if special in texts:
            raise ParameterError(f"{WHAT} writes an ordinary token as {special!r}, which is also a special token")
        tokens[id], kinds[id] = special, USER_DEFINED if special in kept else CONTROL
    if len(set(tokens)) != len(tokens):
        raise ParameterError(f"{WHAT} fills gaps with names like {UNUSED_NAME.format(7)}, and a token is called so")
    pairs: list[tuple[str, bytes]] = [
        ("general.architecture", _of_string(architecture)),
        ("general.name", _of_string("vocabulary")),
        ("tokenizer.ggml.model", _of_string("gpt2")),
        ("tokenizer.ggml.pre", _of_string(preset)),
        ("tokenizer.ggml.tokens", _of_strings(tokens)),
        (
            "tokenizer.ggml.token_type",
            struct.pack("<IIQ", _ARRAY, 5, len(kinds)) + struct.pack(f"<{len(kinds)}i", *kinds),
        ),
        ("tokenizer.ggml.merges", _of_strings([f"{characters[a]} {characters[b]}" for a, b in merges[:, :2].tolist()])),
    ]
    for role, key in _ROLE_KEYS.items():
        if role in model.roles:
            id = model.special_tokens[model.roles[role]]
            pairs.append((f"tokenizer.ggml.{key}", struct.pack("<II", 4, id)))
    for key in ("add_bos_token", "add_eos_token"):
        pairs.append((f"tokenizer.ggml.{key}", struct.pack("<I?", 7, False)))
    content = MAGIC + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(_counted(key) + value for key, value in pairs)
    return {name: content + bytes(-len(content) % 32)}


class _Header:
    """Walks through a header; every length is held against what is left of the file before anything is made."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content, self.at, self.made, self.bytes = content, 4, 0, 0

    def pairs(self) -> dict[str, Any]:
        if self.content[:4] != MAGIC:
            raise FormatError("not a GGUF file")
        version = self.number("<I")
        if version not in (2, 3):
            raise FormatError(f"version {version} is not 2 or 3 (in little-endian order)")
        self.number("<Q")
        found: dict[str, Any] = {}
        n = self.number("<Q")
        for _ in range(n if n <= _MAX_PAIRS else self.fail(f"{n} pairs")):
            key = self.string()
            if key in found:
                self.fail(f"the key {shown(key)} again")
            found[key] = self.value(self.number("<I"))
        return found

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(_SCALARS[kind]) if kind in _SCALARS else self.fail(f"a value of type {kind}")
        inner, n = self.number("<I"), self.number("<Q")
        self.made += n
        if self.made > MAX_ENTRIES or depth > 2:
            self.fail(f"an array of {n} values")
        if inner in _SCALARS:
            form = f"<{n}{_SCALARS[inner][1]}"
            return list(struct.unpack(form, self.take(struct.calcsize(form))))
        return [self.value(inner, depth + 1) for _ in range(n)]

    def string(self) -> str:
        start = self.at
        n = self.number("<Q")
        self.bytes += n
        if self.bytes > MAX_BYTES:
            self.fail(f"a string of {n} bytes")
        try:
            return self.take(n).decode()
        except UnicodeDecodeError:
            raise FormatError(f"byte {start}: a string that is not UTF-8") from None

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def take(self, n: int) -> bytes:
        if n > len(self.content) - self.at:
            self.fail(f"{n} bytes wanted where the file ends")
        self.at += n
        return self.content[self.at - n : self.at]

    def fail(self, what: str) -> Any:
        raise FormatError(f"byte {self.at}: {what}: this is no sound GGUF header")


def _pattern(pre: object, given: Given) -> tuple[Pattern, bool]:
    preset = _ALIASES.get(str(pre), str(pre))
    if preset in PRESETS:
        given.refuse(WHAT, "pattern")
        pattern, whole_first, _ = PRESETS[preset]
        return pattern, whole_first
    if given.pattern is None:
        raise FormatError(
            f"tokenizer.ggml.pre: {shown(pre)} is no pattern that llama.cpp and we read alike: say which with pattern"
        )
    return given.pattern, False


def _text(pattern: str | tuple[str, ...]) -> str | tuple[str, ...] | None:
    return pattern if isinstance(pattern, tuple) else NAMED[pattern]


def _strings(pairs: dict[str, Any], key: str) -> list[str]:
    value = pairs.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FormatError(f"{key}: not a list of strings")
    return value


def _counted(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _of_string(text: str) -> bytes:
    return struct.pack("<I", _STRING) + _counted(text)


def _of_strings(texts: list[str]) -> bytes:
    return struct.pack("<IIQ", _ARRAY, _STRING, len(texts)) + b"".join(map(_counted, texts))
