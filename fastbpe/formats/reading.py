"""What readers of tokenizer files share: bounded reading, JSON with its faults told by place, models put together.

A file is not trusted: its size and the number of its entries are bounded before anything is built from it, a key that
stands twice is an error, and whatever is wrong becomes a FormatError that names the place in the file.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import DataError, FormatError, ParameterError, PatternError
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.model import Model, list_names
from fastbpe.pattern.splitter import Splitter
from fastbpe.tokenizer import Tokenizer

MAX_BYTES = 1 << 28
"""Of a file: several times the largest in use."""
MAX_ENTRIES = 1 << 22
"""Of values in a JSON file, of lines in a text: they bound the memory that parsing takes."""
MAX_TOKEN_BYTES = 1 << 27
"""Of all tokens together: a few dozen merges can double a token's length each."""
MAX_WORK = 1 << 31
"""Of the squared lengths of all tokens added up: cutting a token in each way takes the square of its length."""

_MESSAGE = 500

Pattern = str | Sequence[str] | None


@dataclass(frozen=True)
class Given:
    """What the caller says about a file; None where nothing is said."""

    pattern: Pattern = None
    special_tokens: Mapping[str, int] | Iterable[str] | None = None
    normalizer: str | None = None
    id_offset: int = 0
    roles: dict[str, str] = field(default_factory=dict)

    def refuse(self, what: str, *names: str) -> None:
        """Raises ParameterError when one of the names was given, though the file itself has the say in it."""
        for name in names:
            if getattr(self, name) not in (None, 0, {}):
                raise ParameterError(f"{name}: {what} has its own; leave it out")

    def needed_pattern(self, what: str) -> Pattern:
        """The pattern that was given. Raises ParameterError without one; "none" is given for none."""
        if self.pattern is None:
            raise ParameterError(
                f"pattern: {what} holds none, and it is not guessed: say (--pattern) which it was trained with, as "
                "cl100k, or none for none"
            )
        return self.pattern

    def special_ids(self, after: int, known: Mapping[str, int] | None = None) -> dict[str, int]:
        """Ids of the special tokens by name: as given, else those of `known`, else one after the other from `after`."""
        known = known or {}
        if isinstance(self.special_tokens, Mapping):
            return dict(self.special_tokens)
        names = list_names(self.special_tokens or (), "special_tokens")
        new = [name for name in names if name not in known]
        return {name: known[name] if name in known else after + new.index(name) for name in names}


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever is wrong with the content inside becomes a FormatError that begins with the file's name."""
    try:
        yield
    except (DataError, PatternError) as error:
        text = str(error)
        text = text if len(text) <= _MESSAGE else f"{text[:_MESSAGE]}..."  # it may quote the file
        raise FormatError(f"{os.fspath(path)}: {text}") from None


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The file's content. Raises FormatError when it is too large to be a tokenizer file."""
    with path.open("rb") as file:
        known = os.fstat(file.fileno()).st_size > limit  # before it is read; a pipe's size is not known
        content = b"" if known else file.read(limit + 1)
    if known or len(content) > limit:
        raise FormatError(f"it is larger than {limit >> 20} MiB, which no tokenizer file is")
    return content


def as_text(content: bytes) -> str:
    """The content as text. Raises FormatError, naming the byte, when it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None


def check_lines(content: bytes) -> None:
    """Raises FormatError for more lines than a vocabulary may have tokens."""
    lines = content.count(b"\n")
    if lines > MAX_ENTRIES:
        raise FormatError(f"{lines} lines: no tokenizer file has more than {MAX_ENTRIES}")


def parse_json(content: bytes, limit: int = MAX_ENTRIES) -> Any:
    """The value of a JSON text. Raises FormatError, naming the place, for what is none and for repeated keys."""
    values = content.count(b",") + content.count(b"[") + content.count(b"{")
    if values > limit:
        raise FormatError(f"about {values} values: no tokenizer file has more than {limit}")
    try:
        return json.loads(
            as_text(content.removeprefix(b"\xef\xbb\xbf")),
            object_pairs_hook=_unrepeated,
            parse_constant=_refuse_constant,
        )
    except FormatError:
        raise
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise FormatError(f"not JSON that can be read: {error}") from None
    except RecursionError:
        raise FormatError("nested too deeply to be a tokenizer file") from None


def shown(value: object) -> str:
    """A value in an error, at most 60 characters of it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole(value: object, place: str, limit: int = ID_LIMIT) -> int:
    """The value, an id. Raises FormatError, naming the place, when it is none."""
    if type(value) is not int or not 0 <= value < limit:
        raise FormatError(f"{place}: {shown(value)} is not a whole number in 0 .. {limit - 1}")
    return value


def tokenizer_of(
    tokens: Mapping[bytes, int],
    merges: Sequence[Sequence[int]] | NDArray[np.int64],
    given: Given,
    pattern: Pattern,
    **fields: Any,
) -> Tokenizer:
    """The tokenizer of tokens with their ids and of merges (left, right and product), lowest rank first.

    The pattern may leave text unmatched, which then is kept as chunks, only where `unmatched` says so or several stand
    in a row. Raises DataError, naming the place, when the parts contradict.
    """
    ordered = sorted(tokens.items(), key=lambda token: token[1])
    lengths = np.array([len(token) for token, _ in ordered], np.int64)
    if (work := int((lengths * lengths).sum())) > MAX_WORK:
        longest = int(lengths.max())
        raise FormatError(f"its tokens, of up to {longest} bytes, are too long: the squares add up to {work}")
    for token, id in ordered[:1] + ordered[-1:]:
        whole(id, f"the token {shown(token)}")
    splitter = Splitter(pattern, fields.pop("unmatched", "refuse"))
    roles = {**fields.pop("roles", {}), **given.roles}
    return Tokenizer(
        Model(
            ids=np.array([id for _, id in ordered], np.uint32),
            data=np.frombuffer(b"".join([token for token, _ in ordered]), np.uint8),
            starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
            merges=np.array(merges, np.int64).reshape(-1, 3),
            pattern=splitter.pattern,
            unmatched=splitter.unmatched,
            roles=roles,
            **{"normalizer": given.normalizer, **fields},
        )
    )


def tokenizer_of_pairs(
    pairs: Sequence[tuple[int, int]], place: str, given: Given, pattern: Pattern, special_tokens: dict[str, int]
) -> Tokenizer:
    """The tokenizer of merges in byte/merge space (0 .. 255 are bytes, 256 + k is merge k), which are the ids too.

    Raises FormatError for a merge of what comes later, and for tokens too long to be built.
    """
    tokens = [bytes([byte]) for byte in range(256)]
    total = 256
    for k, pair in enumerate(pairs):
        if max(pair) >= len(tokens):
            raise FormatError(f"{place} {k}: id {max(pair)} is not known before this merge")
        total += len(tokens[pair[0]]) + len(tokens[pair[1]])
        if total > MAX_TOKEN_BYTES:
            raise FormatError(f"{place} {k}: the tokens are longer than {MAX_TOKEN_BYTES >> 20} MiB together")
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
    ids: dict[bytes, int] = {}
    for id, token in enumerate(tokens):
        if ids.setdefault(token, id) != id:
            raise FormatError(f"{place} {id - 256}: its token {shown(token)} is made already, with id {ids[token]}")
    rows = [(left, right, 256 + k) for k, (left, right) in enumerate(pairs)]
    return tokenizer_of(ids, rows, given, pattern, special_tokens=special_tokens)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FormatError(f"the key {shown(key)} stands twice in one object")
            seen.add(key)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise FormatError(f"{name} is not JSON")
