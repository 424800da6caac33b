"""The bytes of every id, special tokens included: what decoding looks ids up in."""

from collections.abc import Iterable
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastbpe.errors import DataError
from fastbpe.kernels.idlist import ID_LIMIT
from fastbpe.kernels.tokens import TokenBytes
from fastbpe.model import Model


class Vocabulary:
    """All tokens of a model in rows, ordinary ones first; ids are found by an index, or searched if holes are wide."""

    def __init__(self, model: Model) -> None:
        names = [name.encode() for name in model.special_tokens]
        ends = np.cumsum([len(name) for name in names], dtype=np.int64)
        self._ids = np.concatenate((model.ids, np.fromiter(model.special_tokens.values(), np.uint32, len(names))))
        self._data = np.concatenate((model.data, np.frombuffer(b"".join(names), np.uint8)))
        self._starts = np.concatenate((model.starts, model.starts[-1] + ends))
        kept = set(model.kept_tokens)
        self._skipped_rows = [len(model.ids) + i for i, name in enumerate(model.special_tokens) if name not in kept]
        self._index: NDArray[np.int32] | None = None  # row of each id, -1 for holes
        if model.id_limit <= 8 * len(self._ids) + 65536:
            self._index = np.full(model.id_limit, -1, np.int32)
            self._index[self._ids] = np.arange(len(self._ids))

    def join(self, ids: ArrayLike, skip_special_tokens: bool = False) -> bytes:
        """The bytes of the ids, one after the other. Raises DataError for what is no id of the vocabulary."""
        array = _id_array(ids)
        if self._index is None:
            rows = self._searched(array)
            unknown = self._ids[rows] != array
            if unknown.any():
                raise _unknown(array, int(np.argmax(unknown)))
            array = rows.astype(np.uint32)
        tokens = self._ordinary_tokens if skip_special_tokens else self._tokens
        return tokens.join(np.ascontiguousarray(array))

    def lengths(self, ids: NDArray[np.uint32]) -> NDArray[np.int64]:
        """How many bytes each of the ids has; all must be known."""
        rows = self._searched(ids) if self._index is None else self._index[ids]
        return self._lengths[rows]

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.diff(self._starts)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self._ids)

    def _searched(self, ids: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Rows of ids, if they are in the vocabulary."""
        rows = np.searchsorted(self._ids, ids, sorter=self._order)
        return self._order[np.minimum(rows, len(self._order) - 1)]

    @cached_property
    def _rows(self) -> NDArray[np.int32]:
        """What TokenBytes is asked for, ids or searched rows, as rows."""
        return np.arange(len(self._ids), dtype=np.int32) if self._index is None else self._index

    @cached_property
    def _tokens(self) -> TokenBytes:
        return TokenBytes(self._rows, self._data, self._starts)

    @cached_property
    def _ordinary_tokens(self) -> TokenBytes:
        """As _tokens, special ones being empty, but for those that are kept."""
        skipped = np.isin(self._rows, self._skipped_rows)
        rows = np.where(skipped, np.int32(-2), self._rows)
        return TokenBytes(rows, self._data, self._starts)


def _id_array(ids: ArrayLike) -> NDArray[np.uint32]:
    """Integers that may be ids. Raises DataError for others."""
    array = np.asarray(ids)
    if array.dtype.kind in "Of" and array.ndim == 1:  # integers of any size, or what is no id at all
        for at, id in enumerate(cast(Iterable[object], ids)):
            if isinstance(id, int) and not 0 <= id < ID_LIMIT:
                raise DataError(f"id {id} at position {at} is not in the vocabulary")
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise DataError(f"ids must be a flat sequence of integers, not {array.dtype} of {array.ndim} dimensions")
    if array.dtype == np.uint32:
        return array
    if array.dtype == np.int64:
        # Without its sign a negative number is a large one: one look at the largest, which short lists feel.
        fits = array.view(np.uint64).max(initial=0) < ID_LIMIT
    else:
        fits = array.dtype in (np.uint8, np.uint16) or bool(((array >= 0) & (array < ID_LIMIT)).all())
    if not fits:
        raise _unknown(array, int(np.argmax((array < 0) | (array >= ID_LIMIT))))
    return array.astype(np.uint32)


def _unknown(array: NDArray[np.integer], at: int) -> DataError:
    return DataError(f"id {array[at]} at position {at} is not in the vocabulary")
