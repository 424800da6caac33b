"""An Encoding in tiktoken's shape: its methods, its defaults for special tokens, its errors.

One difference is on purpose: of overlapping special tokens that are allowed the longest is taken, as everywhere here.
In tiktoken it is the one that its hash table happens to name first.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.special import SpecialTrie
from fastbpe.text import utf8
from fastbpe.tokenizer import Tokenizer

Names = str | Collection[str]


class Encoding:
    """A tokenizer with tiktoken's methods.

    Special tokens in a text raise unless they are in `allowed_special` (then they are one id) or `disallowed_special`
    leaves them out (then they are text). Unknown ids and tokens raise KeyError, ids beyond 32 bits OverflowError.
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self._set(name, Tokenizer.from_ranks(mergeable_ranks, pat_str, special_tokens))
        n = self.tokenizer.vocab_size
        if explicit_n_vocab and not n == self.n_vocab == explicit_n_vocab:
            raise ParameterError(f"explicit_n_vocab={explicit_n_vocab}, but there are {n} ids below {self.n_vocab}")

    @classmethod
    def from_tokenizer(cls, tokenizer: Tokenizer, name: str = "fastbpe") -> "Encoding":
        """The view of a tokenizer of any kind."""
        encoding = cls.__new__(cls)
        encoding._set(name, tokenizer)
        return encoding

    def _set(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        #: The tokenizer that does the work.
        self.tokenizer = tokenizer

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_tokenizer, (self.tokenizer, self.name)

    # Text to ids

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is special."""
        return self.tokenizer.encode(_text(text))

    def encode(
        self, text: str, *, allowed_special: Names = frozenset(), disallowed_special: Names = "all"
    ) -> list[int]:
        """The ids of a text. Raises ValueError at a special token that is not allowed."""
        return self.tokenizer.encode(text, self._checked([_text(text)], allowed_special, disallowed_special))

    def encode_to_numpy(
        self, text: str, *, allowed_special: Names = frozenset(), disallowed_special: Names = "all"
    ) -> NDArray[np.uint32]:
        """As `encode`, in a uint32 array."""
        return self.tokenizer.encode_to_numpy(text, self._checked([_text(text)], allowed_special, disallowed_special))

    def encode_ordinary_batch(self, text: Iterable[str], *, num_threads: int = 8) -> list[list[int]]:
        """As `encode_ordinary`, for each text."""
        return self.tokenizer.encode_batch(list(map(_text, text)), threads=num_threads)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: Names = frozenset(),
        disallowed_special: Names = "all",
    ) -> list[list[int]]:
        """As `encode`, for each text."""
        texts = list(map(_text, text))
        allowed = self._checked(texts, allowed_special, disallowed_special)
        return self.tokenizer.encode_batch(texts, allowed, threads=num_threads)

    def encode_with_unstable(self, *_: object, **__: object) -> NoReturn:
        """Is not there: tiktoken itself calls it unstable."""
        raise NotImplementedError("encode_with_unstable is not offered; use tiktoken for it")

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of the token with these bytes, special ones included. Raises KeyError without one."""
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(token, bytes):
            raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
        try:
            return self.tokenizer.token_to_id(token)
        except DataError:
            raise KeyError(token) from None

    # Ids to text

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of the ids."""
        return self._decoded(tokens, self.tokenizer.decode_bytes)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of the ids."""
        return self.decode_bytes(tokens).decode("utf-8", errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special tokens included."""
        return self.decode_bytes([token])

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each of the ids."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of the ids and, for each, the number of the character with its first byte.

        Raises UnicodeDecodeError when the bytes are not UTF-8.
        """
        offsets, characters = [], 0
        parts = self.decode_tokens_bytes(tokens)
        for part in parts:
            offsets.append(max(0, characters - (part[0] & 0xC0 == 0x80)))
            characters += sum(byte & 0xC0 != 0x80 for byte in part)
        return b"".join(parts).decode(), offsets

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """As `decode`, for each of the lists; on this thread, which is faster."""
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Iterable[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """As `decode_bytes`, for each of the lists; on this thread, which is faster."""
        return [self.decode_bytes(tokens) for tokens in batch]

    # What it is

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return sorted(self.tokenizer.model.tokens)

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """Names of the special tokens."""
        return set(self.tokenizer.special_tokens)

    @cached_property
    def _special_ids(self) -> set[int]:
        return set(self.tokenizer.special_tokens.values())

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token's."""
        assert isinstance(token, int)
        return token in self._special_ids

    @property
    def eot_token(self) -> int:
        """Id of <|endoftext|>, or of the token with the role eos. Raises KeyError without either."""
        id = self.tokenizer.special_tokens.get("<|endoftext|>", self.tokenizer.eos_id)
        if id is None:
            raise KeyError("<|endoftext|>")
        return id

    @property
    def max_token_value(self) -> int:
        """The largest id."""
        return self.tokenizer.id_limit - 1

    @property
    def n_vocab(self) -> int:
        """The largest id + 1."""
        return self.tokenizer.id_limit

    # tiktoken's own guide builds an encoding from the parts of another one by these names.

    @property
    def _pat_str(self) -> str | tuple[str, ...] | None:
        return self.tokenizer.pattern

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return dict(self.tokenizer.model.token_ids)

    @property
    def _special_tokens(self) -> dict[str, int]:
        return dict(self.tokenizer.special_tokens)

    # Inside

    def _checked(self, texts: list[str], allowed: Names, disallowed: Names) -> frozenset[str]:
        """The special tokens to recognise. Raises ValueError when a disallowed one stands in a text."""
        if not allowed and isinstance(disallowed, str) and disallowed == "all":
            _check_absent(self._every, texts)  # the shortest way, for short texts
            return frozenset()
        own = self.special_tokens_set
        taken = own if isinstance(allowed, str) and allowed == "all" else _names(allowed, "allowed_special")
        if isinstance(disallowed, str) and disallowed == "all":
            refused = frozenset(own - taken)
        else:
            refused = frozenset(_names(disallowed, "disallowed_special"))
        if refused:
            _check_absent(_trie_of(refused), texts)
        return frozenset(taken & own)

    @cached_property
    def _every(self) -> SpecialTrie:
        return _trie_of(frozenset(self.special_tokens_set))

    def _decoded(self, tokens: Sequence[int], decode: Callable[[Any], bytes]) -> bytes:
        try:
            return decode(tokens)
        except ValueError:
            pass  # told below as tiktoken tells it
        except TypeError:
            raise TypeError(f"ids are a sequence of int, not {type(tokens).__name__}") from None
        if not isinstance(tokens, Sequence | np.ndarray) or isinstance(tokens, str):
            raise TypeError(f"ids are a sequence of int, not {type(tokens).__name__}")
        ids = []
        for token in tokens:
            ids.append(operator.index(token))
            if not 0 <= ids[-1] < 2**32:
                raise OverflowError(f"the id {ids[-1]} is outside 0 .. 2**32 - 1")
        for id in ids:
            try:
                decode([id])
            except DataError:
                raise KeyError(f"Invalid token for decoding: {id}") from None
        return decode(ids)


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text must be str, not {type(text).__name__}")
    return text


def _names(names: Names, parameter: str) -> Set[str]:
    if isinstance(names, str):
        raise TypeError(f'{parameter} is "all" or a collection of names, not {names!r}')
    return frozenset(names)


@lru_cache(maxsize=128)
def _trie_of(names: frozenset[str]) -> SpecialTrie:
    return SpecialTrie([(utf8(name), id) for id, name in enumerate(sorted(names))])


def _check_absent(trie: SpecialTrie, texts: list[str]) -> None:
    for text in texts:
        data = utf8(text)
        found = trie.find(data)
        if found is not None:
            _raise_disallowed(data[found[0] : found[1]].decode())


def _raise_disallowed(token: str) -> NoReturn:
    raise DataError(
        f"Encountered text corresponding to disallowed special token {token!r}: to encode it as one id, pass it in "
        f"allowed_special={{{token!r}, ...}}; to encode it as text, leave it out of disallowed_special, which is "
        "() to allow all such text"
    )
