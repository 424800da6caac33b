"""Whether a written file gives the same ids: read back by fastbpe, and by the libraries it is written for.

The texts are awkward ones, those that hold the tokenizer's own tokens and special tokens, and the caller's. A library
that takes only str is asked for those that are UTF-8.
"""

import importlib.util
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastbpe.alphabet import from_characters
from fastbpe.errors import FormatError
from fastbpe.formats import bpe_v1, gguf, gpt2, huggingface, minbpe, tekken, tiktoken
from fastbpe.formats.reading import Given, parse_json, shown
from fastbpe.text import to_bytes
from fastbpe.tokenizer import Tokenizer

AWKWARD: tuple[str | bytes, ...] = (
    "",
    " ",
    "  ",
    "   ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    " \n \n",
    "a",
    " a",
    "a ",
    "  a  ",
    "\n\n\na",
    "a\n",
    "a \n",
    "a\r\nb\r",
    "Hello, world!",
    "hello   world",
    "don't DON'T I'll we've 'S 'ſ it'sa 'ſtop",
    "1 12 123 1234 12345 3.14 1e-9",
    "٣٤٥ Ⅷ ½ ²³",
    "def f(x):\n    return x  # comment\n\n\nclass A:\n\tpass\n",
    "if (a&&b) {\r\n\treturn -1;\r\n}",
    "####### ---- ==== ....",
    "#version: 0.2",
    "# not a comment",
    "a#b #c",
    "https://example.org/a?b=c&d=%20#e",
    "ÀÉÎ straße ǅ ﬁ ſ K",
    "Ünïcödé",
    "床前明月光，疑是地上霜。",
    "日本語テキスト カタカナ ひらがな",
    "한국어 텍스트",
    "العربية ١٢٣",
    "हिन्दी पाठ",
    "ภาษาไทย",
    "е\u0301 e\u0301 é \u1100\u1161\u11a8 각",
    "👍🏽 👩\u200d👩\u200d👧\u200d👦 🇩🇪 😀😀",
    "\u200b\u200d\ufeff\u00a0\u3000\u2028\u2029\u0085",
    "x\u00a0y\u3000z",
    "\x1c\x1d\x1e\x1f\x7f\x80",
    "\ue000\U000f0000\U0010ffff",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ab" * 40,
    " " * 100,
    "\n" * 50,
    " \t" * 20,
    "a" * 300 + "b",
    "!?" * 60,
    "…—“”‘’",
    "<|endoftext|>",
    "<s></s>",
    "[INST] [/INST]",
    "Ġ Ċ ▁ ##",
    "A\u0300\u0301\u0302\u0303",
    "\u0301leading mark",
    "CamelCaseAndSNAKE_CASE",
    "x=1;y=2",
    "\\n\\t",
    "'",
    "''",
    "' s",
    b"\xff",
    b"\x80abc",
    b"abc\xe5\xba",
    b"\xf0\x9f\x98",
    b"\xc0\xaf \xed\xa0\x80",
    b"\r\n\xfe\xff\0",
)


@dataclass(frozen=True)
class Check:
    """One engine's answer."""

    engine: str
    """Its name and version."""
    texts: int
    """How many were encoded to identical ids; 0 when it was not asked."""
    skipped: str = ""
    """Why it was not asked."""


Encode = Callable[[Any], list[int]]


def compare(tokenizer: Tokenizer, to: str, folder: Path, name: str, sample: Iterable[str | bytes] = ()) -> list[Check]:
    """The checks of every engine that reads the format. Raises FormatError, naming engine and text, for other ids."""
    texts = [*map(to_bytes, (*AWKWARD, *_own_texts(tokenizer), *sample))]
    back = _read_back(tokenizer, to, folder, name)
    checks = [_compare(tokenizer, "fastbpe", texts, back.encode, lambda text: text, ordinary=True)]
    if back.special_tokens:
        _compare(tokenizer, "fastbpe", texts, lambda text: back.encode(text, allowed_special="all"), lambda text: text)
    for library, engine in _ENGINES.get(to, {}).items():
        if importlib.util.find_spec(library) is None:
            checks.append(Check(library, 0, "not installed"))
            continue
        told = f"{library} {version(library)}"
        encode, ordinary = engine(tokenizer, folder, name)
        checks.append(_compare(tokenizer, told, texts, encode, _decoded, ordinary))
    return checks


def _own_texts(tokenizer: Tokenizer) -> list[bytes]:
    """Texts of tokens: first, last and longest ones; special tokens alone, beside text, and one after the other."""
    model = tokenizer.model
    tokens = [*model.tokens[:20], *model.tokens[-50:], *sorted(model.tokens, key=len)[-20:], *model.tokens[256:276]]
    names = [name.encode() for name in list(model.special_tokens)[:20]]
    texts = [*tokens, *(b"a" + token + b" b" for token in tokens[-20:])]
    for name in names:
        texts += [name, b"a " + name + b" b", name + name, name[:-1], b" " + name + b"\n"]
    return [*texts, b"".join(names)]


def _compare(
    tokenizer: Tokenizer,
    engine: str,
    texts: list[bytes],
    encode: Encode,
    prepared: Callable[[bytes], Any],
    ordinary: bool = False,
) -> Check:
    allowed = () if ordinary else "all"
    n = 0
    for text in texts:
        given = prepared(text)
        if given is None:
            continue
        ours, theirs = tokenizer.encode(text, allowed_special=allowed), list(encode(given))
        if ours != theirs:
            at = next(
                (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
            )
            raise FormatError(
                f"check: {engine} gives other ids for {shown(given)}: from place {at} on {theirs[at : at + 5]}, "
                f"here {ours[at : at + 5]}; nothing was written"
            )
        n += 1
    return Check(engine, n)


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _read_back(tokenizer: Tokenizer, to: str, folder: Path, name: str) -> Tokenizer:
    path = folder / name
    model = tokenizer.model
    if to == "gguf":
        return gguf.read(path, Given())
    content = path.read_bytes()
    if to == "huggingface":
        return huggingface.read(parse_json(content), path, Given())
    if to == "gpt2":
        return gpt2.read_vocabulary(parse_json(content), path, Given())
    if to == "tekken":
        return tekken.read(parse_json(content), path, Given())
    if to == "tiktoken":
        return tiktoken.read(content, path, Given())
    if to == "minbpe":
        return minbpe.read(content, path, Given())
    return bpe_v1.read(content, path, Given(pattern=model.pattern or "none"))


# The libraries. Each gives a way to encode, and whether special tokens are ordinary text to it.


def _tokenizers(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    import tokenizers as library

    loaded = library.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda text: loaded.encode(text, add_special_tokens=False).ids, False


def _tokenizers_gpt2(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    import tokenizers as library

    loaded = library.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    return lambda text: loaded.encode(text).ids, True


def _transformers(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    kept = {key: os.environ.get(key) for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_VERBOSITY")}
    os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})  # a folder is all it needs
    try:
        import transformers as library

        loaded = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    finally:
        for key, value in kept.items():
            os.environ.pop(key, None) if value is None else os.environ.update({key: value})
    return lambda text: loaded.encode(text, add_special_tokens=False), False


def _tiktoken(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    import tiktoken as library

    told = parse_json((folder / f"{name}.json").read_bytes())
    ranks = tiktoken.loads((folder / name).read_bytes())
    encoding = library.Encoding(
        told["name"], pat_str=told["pat_str"], mergeable_ranks=ranks, special_tokens=told["special_tokens"]
    )
    return lambda text: encoding.encode(text, allowed_special="all"), False


def _tiktoken_of_tekken(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    """As mistral-common sets tiktoken up: ranks without the special tokens, whose number is added to the ids."""
    import tiktoken as library

    root = parse_json((folder / name).read_bytes())
    n = root["config"]["default_num_special_tokens"]
    ranks = {token: id - n for token, id in tokenizer.model.token_ids.items()}
    encoding = library.Encoding("tekken", pat_str=root["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    return lambda text: [id + n for id in encoding.encode_ordinary(text)], True


def _gguf(tokenizer: Tokenizer, folder: Path, name: str) -> tuple[Encode, bool]:
    """The package reads files and encodes nothing: its tokens, which must be ours, go into a tokenizer."""
    import gguf as library

    reader = library.GGUFReader(str(folder / name))
    model = tokenizer.model
    tokens = _field(reader, "tokens")
    kinds = _field(reader, "token_type")
    found = {
        from_characters(token): id for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind == 1
    }
    special = (gguf.CONTROL, gguf.USER_DEFINED)
    specials = {token: id for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind in special}
    if found != model.token_ids or specials != model.special_tokens:
        raise FormatError("check: the package gguf reads other tokens; nothing was written")
    back = gguf.read(folder / name, Given())
    return lambda text: back.encode(text, allowed_special="all"), False


def _field(reader: Any, name: str) -> list[Any]:
    return reader.get_field(f"tokenizer.ggml.{name}").contents()


_ENGINES: dict[str, dict[str, Callable[[Tokenizer, Path, str], tuple[Encode, bool]]]] = {
    "huggingface": {"tokenizers": _tokenizers, "transformers": _transformers},
    "gpt2": {"tokenizers": _tokenizers_gpt2, "transformers": _transformers},
    "tiktoken": {"tiktoken": _tiktoken},
    "tekken": {"tiktoken": _tiktoken_of_tekken},
    "gguf": {"gguf": _gguf},
}
