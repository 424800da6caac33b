"""Tokenizer files: one module for each format, `load`, which tells them apart by content, and `export`."""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import bpe_v1, gguf, gpt2, huggingface, minbpe, own, tekken, tiktoken
from fastbpe.formats.exporting import FORMATS, export
from fastbpe.formats.reading import Given, naming, parse_json, read_bytes
from fastbpe.model import ROLES
from fastbpe.normalizing import NORMALIZERS
from fastbpe.tokenizer import Tokenizer

__all__ = ["FORMATS", "export", "load"]

_IN_A_DIRECTORY = ("tokenizer.json", "tekken.json", "vocab.json", "encoder.json")


def load(
    path: str | os.PathLike[str],
    pattern: str | Sequence[str] | None = None,
    special_tokens: Mapping[str, int] | Iterable[str] | None = None,
    normalizer: str | None = None,
    id_offset: int = 0,
    bos_token: str | None = None,
    eos_token: str | None = None,
    pad_token: str | None = None,
) -> Tokenizer:
    """The tokenizer of a file, told by its content, or of a directory with one.

    Read are our own files, Hugging Face's tokenizer.json, GPT-2's vocab.json with merges.txt, tiktoken's rank files,
    tekken.json, GGUF of gpt2-type models, `#bpe v1` and minbpe. The other parameters say what a file does not hold
    (`pattern`: a name, a text, several in a row, or "none"; special_tokens: {name: id}, or names that get the ids after
    the largest; id_offset: what is added to the ranks of a rank file); for what it holds itself they are refused, but
    for the roles. Raises FormatError, naming file and place, for a file that is wrong, of another kind, or asks for
    what is not computed exactly.
    """
    if normalizer not in NORMALIZERS:
        raise ParameterError(f"normalizer: {normalizer!r} is not NFC, NFKC or None")
    roles = dict(zip(ROLES, (bos_token, eos_token, pad_token), strict=True))
    named = {role: name for role, name in roles.items() if name is not None}
    given = Given(pattern, special_tokens, normalizer, id_offset, named)
    path = Path(path)
    if path.is_dir():
        path = _inside(path)
    with naming(path):
        return _read(path, given)


def _inside(directory: Path) -> Path:
    for name in _IN_A_DIRECTORY:
        if (directory / name).is_file():
            return directory / name
    raise IsADirectoryError(errno.EISDIR, f"is a directory without any of {', '.join(_IN_A_DIRECTORY)}", str(directory))


def _read(path: Path, given: Given) -> Tokenizer:
    if path.exists() and not path.is_file():
        raise FormatError("a pipe or a device, and not a file: save what it gives as a file first")
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(gguf.MAGIC):
        return gguf.read(path, given)
    if f'"{own.FORMAT}"'.encode() in head:
        _refuse_for_own(given)
        return own.loads(read_bytes(path, own.MAX_BYTES))
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return _read_json(read_bytes(path), path, given)
    if gpt2.is_merges(head):
        return gpt2.read_merges(read_bytes(path), path, given)
    for module in (bpe_v1, minbpe, tiktoken):
        if module.is_one(head):
            return module.read(read_bytes(path), path, given)
    raise FormatError(f"{_guess(head)}; read are {', '.join(FORMATS)} and our own files")


def _read_json(content: bytes, path: Path, given: Given) -> Tokenizer:
    root: Any = parse_json(content)
    if isinstance(root, dict) and root.get("format") == own.FORMAT:
        _refuse_for_own(given)
        return own.of_value(root)
    if huggingface.is_one(root):
        return huggingface.read(root, path, given)
    if tekken.is_one(root):
        return tekken.read(root, path, given)
    if gpt2.is_vocabulary(root):
        return gpt2.read_vocabulary(root, path, given)
    raise FormatError("JSON, but not a fastbpe tokenizer, nor Hugging Face's, tekken's or GPT-2's")


def _refuse_for_own(given: Given) -> None:
    given.refuse("a file of ours", "pattern", "special_tokens", "normalizer", "id_offset", "roles")


def _guess(head: bytes) -> str:
    """What a file that is none of ours seems to be."""
    if not head:
        return "it is empty"
    if head[:1] == b"\x80" and head[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        return "a pickle, which can run anything when it is loaded: never read"
    if head.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\3\4", b"BZh")):
        return "a compressed file: unpack it first"
    if head[:1] == b"\n" and b"<unk>" in head[:64]:
        return "a SentencePiece model, which is not a byte-level BPE"
    if b"[UNK]" in head or b"[CLS]" in head:
        return "a WordPiece vocabulary, which is not a byte-level BPE"
    return "not a tokenizer file that is known here"
