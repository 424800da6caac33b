"""Tokenizers into other programs' files, which are read back and compared before they take their names."""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fastbpe.atomic import atomic_write
from fastbpe.errors import ParameterError
from fastbpe.formats import bpe_v1, checking, gguf, gpt2, huggingface, minbpe, tekken, tiktoken
from fastbpe.model import CHARACTERS
from fastbpe.tokenizer import Tokenizer

_WRITERS: Mapping[str, Callable[[Tokenizer, str], dict[str, bytes]]] = {
    "huggingface": huggingface.files,
    "tiktoken": tiktoken.files,
    "gpt2": gpt2.files,
    "gguf": gguf.files,
    "tekken": tekken.files,
    "bpe-v1": bpe_v1.files,
    "minbpe": minbpe.files,
}
FORMATS = tuple(_WRITERS)
DIRECTORIES = ("huggingface", "gpt2")
"""Formats of several files, which go into a directory."""
_WITHOUT_ROLES = ("tekken", "bpe-v1", "minbpe")
_WITHOUT_KEPT = ("tiktoken", *_WITHOUT_ROLES)


@dataclass(frozen=True)
class Report:
    """What was written and how it was checked."""

    format: str
    files: list[str]
    """Paths, the one to load first."""
    checks: list[checking.Check] = field(default_factory=list)
    """One for each engine; none when nothing was checked."""
    left_out: list[str] = field(default_factory=list)
    """What the format has no place for though it changes no ids: who loads the files has to say it."""


def export(
    tokenizer: Tokenizer,
    path: str | os.PathLike[str],
    to: str,
    check: bool = True,
    sample: Iterable[str | bytes] = (),
) -> Report:
    """Writes the tokenizer for another program: a file, or for huggingface and gpt2 a directory of files.

    Raises ParameterError, with the reason, for a tokenizer that the format cannot hold so that ids stay the same. With
    `check` the files are read back, by fastbpe and by those of tokenizers, transformers, tiktoken and gguf that read
    the format and are installed, and must give the same ids on awkward texts and on `sample`; else FormatError is
    raised and nothing is written.
    """
    if to not in _WRITERS:
        raise ParameterError(f"to: {to!r} is none of {', '.join(FORMATS)}")
    if tokenizer.model.priority == CHARACTERS:
        raise ParameterError(f"{to}: its files hold byte-level tokenizers, and this one's tokens are characters")
    path = Path(path)
    folder = path if to in DIRECTORIES else path.parent
    contents = _WRITERS[to](tokenizer, path.name)
    checks: list[checking.Check] = []
    if check:
        with tempfile.TemporaryDirectory(prefix="fastbpe-") as temporary:
            for name, content in contents.items():
                (Path(temporary) / name).write_bytes(content)
            checks = checking.compare(tokenizer, to, Path(temporary), next(iter(contents)), sample)
    if to in DIRECTORIES:
        folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        with atomic_write(folder / name) as file:
            file.write(content)
    return Report(to, [str(folder / name) for name in contents], checks, _left_out(tokenizer, to))


def _left_out(tokenizer: Tokenizer, to: str) -> list[str]:
    model = tokenizer.model
    found = []
    if to == "bpe-v1":
        found.append(f"pattern {tokenizer.pattern_name or repr(tokenizer.pattern)}")
    if to in _WITHOUT_ROLES:
        found += [f"{role} {name}" for role, name in model.roles.items()]
    if to in _WITHOUT_KEPT and model.kept_tokens:
        found.append(f"that {', '.join(model.kept_tokens)} are text where special tokens are skipped")
    return found
