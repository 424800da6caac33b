"""A tokenizer in the shape of Hugging Face's: called on texts, it gives input_ids and attention_mask, padded or not.

As there, special tokens in a text are recognised unless `split_special_tokens` says otherwise.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastbpe.alphabet import from_characters, to_characters
from fastbpe.errors import DataError, ParameterError
from fastbpe.tokenizer import Tokenizer as Engine

NAMES = ("input_ids", "attention_mask")
SIDES = ("right", "left")
PADDINGS = (False, True, "longest", "max_length", "do_not_pad")


class BatchEncoding(dict[str, Any]):
    """A dict whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Tokenizer:
    """The view. add_bos and add_eos say what `add_special_tokens` adds; padding takes the token with the role pad."""

    def __init__(
        self,
        tokenizer: Engine,
        model_max_length: int | None = None,
        padding_side: str = "right",
        truncation_side: str = "right",
        add_bos: bool = False,
        add_eos: bool = False,
        split_special_tokens: bool = False,
    ) -> None:
        for name, side in (("padding_side", padding_side), ("truncation_side", truncation_side)):
            if side not in SIDES:
                raise ParameterError(f"{name} must be right or left, not {side!r}")
        #: The tokenizer that does the work.
        self.tokenizer = tokenizer
        self.model_max_length = model_max_length
        self.padding_side = padding_side
        self.truncation_side = truncation_side
        self.split_special_tokens = split_special_tokens
        self.add_bos, self.add_eos = add_bos, add_eos
        tokenizer.encode("", add_bos=add_bos, add_eos=add_eos)  # raises without the role

    def __call__(
        self,
        text: str | Iterable[str],
        *,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool = False,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        return_attention_mask: bool = True,
        return_tensors: str | None = None,
    ) -> BatchEncoding:
        """input_ids and attention_mask of a text, or of several.

        padding: True or "longest" fills up to the longest, "max_length" to max_length. truncation cuts to max_length
        (model_max_length when not given), bos and eos kept. Lists, or with return_tensors "np" or "pt" int64 arrays of
        one row for each text.
        """
        if return_tensors not in (None, "np", "pt"):
            raise ParameterError(f'return_tensors must be "np", "pt" or None, not {return_tensors!r}')
        if padding not in PADDINGS:
            raise ParameterError(f"padding={padding!r}: choose one of {', '.join(map(repr, PADDINGS))}")
        bos, eos = self._around(add_special_tokens)
        limit = self.model_max_length if max_length is None else max_length
        if limit is None and (truncation or padding == "max_length"):
            raise ParameterError("give max_length, which the tokenizer itself (model_max_length) does not have")
        texts = [text] if isinstance(text, str) else text
        ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, self._allowed)
        if truncation and limit is not None:
            ids, offsets = _truncated(ids, offsets, limit - len(bos) - len(eos), self.truncation_side)
        pads = padding not in (False, "do_not_pad")
        if pads or return_tensors:
            lengths = np.diff(offsets) + len(bos) + len(eos)
            width = int(lengths.max(initial=0))
            if padding == "max_length" and limit is not None:
                width = limit
            if pads and pad_to_multiple_of:
                width += -width % pad_to_multiple_of
            if return_tensors and ((lengths > width).any() or (not pads and (lengths != width).any())):
                raise ParameterError("texts of different lengths make no array: ask for padding=True or truncation")
            found: dict[str, Any] = dict(zip(NAMES, self._filled(ids, lengths, width, bos, eos), strict=True))
        else:
            bounds = offsets.tolist()
            rows = [[*bos, *ids[i:j].tolist(), *eos] for i, j in zip(bounds, bounds[1:], strict=False)]
            found = {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}
        if not return_attention_mask:
            del found["attention_mask"]
        if return_tensors == "pt":
            import torch

            found = {name: torch.from_numpy(array) for name, array in found.items()}
        elif not return_tensors:
            found = {name: rows if isinstance(rows, list) else rows.tolist() for name, rows in found.items()}
            if isinstance(text, str):
                found = {name: rows[0] for name, rows in found.items()}
        return BatchEncoding(found)

    def _around(self, add_special_tokens: bool) -> tuple[list[int], list[int]]:
        """Ids before and after each text."""
        bos, eos = self.bos_token_id, self.eos_token_id
        return (
            [bos] if bos is not None and self.add_bos and add_special_tokens else [],
            [eos] if eos is not None and self.add_eos and add_special_tokens else [],
        )

    def _filled(
        self, ids: NDArray[np.uint32], lengths: NDArray[np.int64], width: int, bos: list[int], eos: list[int]
    ) -> tuple[Any, ...]:
        """A row for each text, filled up to the width if it is shorter, and 1 where it is not padding."""
        pad = self.pad_token_id
        longest = max(width, int(lengths.max(initial=0)))
        if longest > width:
            rows = np.maximum(lengths, width)
            cut = slice(None) if self.padding_side == "right" else slice(None, None, -1)
            whole = self._filled(ids, lengths, longest, bos, eos)
            return tuple([row[cut][:n][cut].tolist() for row, n in zip(part, rows, strict=True)] for part in whole)
        if pad is None and (lengths != width).any():
            raise ParameterError("padding: no special token has the role pad; name one as pad_token")
        columns = np.arange(width)
        starts = (np.zeros_like(lengths) if self.padding_side == "right" else width - lengths)[:, None]
        stops = starts + lengths[:, None]
        matrix = np.full((len(lengths), width), 0 if pad is None else pad, np.int64)
        matrix[(columns >= starts + len(bos)) & (columns < stops - len(eos))] = ids
        for mark, places in ((bos, starts), (eos, stops - 1)):
            if mark:
                np.put_along_axis(matrix, places, mark[0], axis=1)
        return matrix, ((columns >= starts) & (columns < stops)).astype(np.int64)

    @property
    def _allowed(self) -> str | tuple[str, ...]:
        return () if self.split_special_tokens else "all"

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The ids of a text."""
        bos, eos = self._around(add_special_tokens)
        return [*bos, *self.tokenizer.encode(text, self._allowed), *eos]

    def encode_batch(self, texts: Iterable[str], *, add_special_tokens: bool = True) -> list[list[int]]:
        """The ids of each text."""
        bos, eos = self._around(add_special_tokens)
        return [[*bos, *ids, *eos] for ids in self.tokenizer.encode_batch(texts, self._allowed)]

    def decode(self, token_ids: int | ArrayLike, skip_special_tokens: bool = False) -> str:
        """The text of ids, or of one."""
        return self.tokenizer.decode(np.atleast_1d(np.asarray(token_ids)), skip_special_tokens)

    def batch_decode(self, sequences: Iterable[ArrayLike], skip_special_tokens: bool = False) -> list[str]:
        """As `decode`, for each of the lists or rows."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # Tokens by name: bytes in the alphabet of GPT-2, special tokens as they are

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, by name."""
        return self.convert_ids_to_tokens(self.tokenizer.encode(text, self._allowed))

    def convert_ids_to_tokens(self, ids: int | Sequence[int], skip_special_tokens: bool = False) -> Any:
        """The name of an id, or of each. Raises DataError for unknown ones."""
        if isinstance(ids, int | np.integer):
            return self._name(int(ids))
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        return [self._name(int(id)) for id in ids if int(id) not in skipped]

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """The id of a name, or of each; None for what is no token."""
        if isinstance(tokens, str):
            return self._id(tokens)
        return [self._id(token) for token in tokens]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of tokens given by name."""
        specials = self.tokenizer.special_tokens
        parts = [token.encode() if token in specials else from_characters(token) for token in tokens]
        return b"".join(parts).decode("utf-8", "replace")

    def get_vocab(self) -> dict[str, int]:
        """All ids by name."""
        model = self.tokenizer.model
        names = map(to_characters, model.tokens)
        return dict(zip(names, model.ids.tolist(), strict=True)) | dict(model.special_tokens)

    def _name(self, id: int) -> str:
        special = self._special_names.get(id)
        return to_characters(self.tokenizer.token_bytes(id)) if special is None else special

    def _id(self, token: str) -> int | None:
        id = self.tokenizer.special_tokens.get(token)
        if id is not None:
            return id
        try:
            return self.tokenizer.model.token_ids.get(from_characters(token))
        except DataError:
            return None

    # What it is

    @cached_property
    def _special_names(self) -> dict[int, str]:
        return {id: name for name, id in self.tokenizer.special_tokens.items()}

    def __len__(self) -> int:
        return self.tokenizer.vocab_size

    @property
    def vocab_size(self) -> int:
        """Number of ids, special tokens included."""
        return self.tokenizer.vocab_size

    @property
    def all_special_tokens(self) -> list[str]:
        """Names of the special tokens, without those that are text and kept by skip_special_tokens."""
        kept = self.tokenizer.model.kept_tokens
        return [name for name in self.tokenizer.special_tokens if name not in kept]

    @property
    def all_special_ids(self) -> list[int]:
        """Ids of all_special_tokens."""
        return [self.tokenizer.special_tokens[name] for name in self.all_special_tokens]

    @property
    def bos_token(self) -> str | None:
        """The token with the role bos."""
        return self.tokenizer.model.roles.get("bos")

    @property
    def eos_token(self) -> str | None:
        """The token with the role eos."""
        return self.tokenizer.model.roles.get("eos")

    @property
    def pad_token(self) -> str | None:
        """The token with the role pad."""
        return self.tokenizer.model.roles.get("pad")

    @property
    def bos_token_id(self) -> int | None:
        """Its id."""
        return self.tokenizer.bos_id

    @property
    def eos_token_id(self) -> int | None:
        """Its id."""
        return self.tokenizer.eos_id

    @property
    def pad_token_id(self) -> int | None:
        """Its id."""
        return self.tokenizer.pad_id


def _truncated(
    ids: NDArray[np.uint32], offsets: NDArray[np.int64], limit: int, side: str
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """At most `limit` ids of each row."""
    if limit < 0:
        raise ParameterError("max_length leaves no room for bos and eos")
    lengths = np.diff(offsets)
    place = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
    dropped = np.repeat(lengths - limit, lengths)
    kept = ids[place < limit if side == "right" else place >= dropped]
    return kept, np.concatenate((np.zeros(1, np.int64), np.cumsum(np.minimum(lengths, limit))))
