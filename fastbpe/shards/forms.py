"""The forms of token shards: names, headers, types of the ids, and what lies beside the tokens.

`npy` is ours and what build-nanogpt's loader reads; the others are those of nanoGPT, llm.c, Megatron-LM and Dolma, as
their own loaders open them.
"""

import csv
import gzip
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.errors import FastbpeError, FormatError, ParameterError, check_choice
from fastbpe.npy_header import npy_header
from fastbpe.shards.ends import HELD, Ends
from fastbpe.shards.naming import shard_name
from fastbpe.shards.npy import open_tokens

UNLIMITED = 1 << 62

Files = dict[str, Iterable[bytes]]  # by their names


class Origin(NamedTuple):
    """Where a document came from: its source, and the number there of its line, row or document, from 1."""

    source: str
    place: int


class Form:
    """What the forms have in common.

    one_file: a split is one file, however long. whole_documents: no document goes on in the next file. splits: train
    and val can be told apart. prefixed: names begin as the user wants. origins: documents must say where they came
    from. rows: documents can be packed into rows.
    """

    name: str
    one_file = False
    whole_documents = False
    splits = True
    prefixed = True
    origins = False
    rows = True
    longest = UNLIMITED

    def dtype(self, id_limit: int) -> np.dtype[Any]:
        """Type of the ids below `id_limit`. Raises ParameterError when the form cannot hold them."""
        return np.dtype("<u2") if id_limit <= 1 << 16 else np.dtype("<u4")

    def header(self, dtype: np.dtype[Any], n: int) -> bytes:
        """What stands before n tokens; its size does not depend on n."""
        return b""

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        """Name of a shard; split_given: documents were dealt to splits."""
        raise NotImplementedError

    def beside(self, file: str, dtype: np.dtype[Any], ends: Ends, origins: Sequence[Origin]) -> Files:
        """Other files that belong to a shard, in parts, given the ends of its documents."""
        return {}

    def open(self, path: str | os.PathLike[str], dtype: np.dtype[Any], n: int) -> np.ndarray:
        """The n tokens of a shard, memory-mapped. Raises FormatError when it is not of this form and length."""
        path = Path(path)
        before = self.header(dtype, n)
        size = os.path.getsize(path)
        if size != len(before) + n * dtype.itemsize:
            raise FormatError(f"{path}: {size} bytes, not the {len(before) + n * dtype.itemsize} of {n} tokens")
        with path.open("rb") as file:
            if file.read(len(before)) != before:
                raise FormatError(f"{path}: its header is not that of {n} tokens of {self.name}; write it again")
        return np.memmap(path, dtype, "r", len(before), (n,)) if n else np.empty(0, dtype)


class Npy(Form):
    name = "npy"

    def header(self, dtype: np.dtype[Any], n: int) -> bytes:
        return npy_header(dtype, n)

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        return shard_name(prefix, split, number)

    def open(self, path: str | os.PathLike[str], dtype: np.dtype[Any], n: int) -> np.ndarray:
        return open_tokens(path, dtype)


class NanoGpt(Form):
    """train.bin and val.bin: raw uint16."""

    name = "nanogpt"
    one_file = True
    prefixed = False

    def dtype(self, id_limit: int) -> np.dtype[Any]:
        if id_limit > 1 << 16:
            raise ParameterError(
                f"nanogpt holds ids below 65536, and this tokenizer has ids up to {id_limit - 1}; choose another format"
            )
        return np.dtype("<u2")

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        return f"{split}.bin"


class LlmC(Form):
    """256 int32 of header, then uint16; with more than 65,536 ids the header and uint32 of its Llama 3 form."""

    name = "llmc"
    longest = (1 << 31) - 1

    def header(self, dtype: np.dtype[Any], n: int) -> bytes:
        head = np.zeros(256, "<i4")
        head[:3] = (20240520, 1, min(n, self.longest)) if dtype.itemsize == 2 else (20240801, 7, min(n, self.longest))
        return head.tobytes()

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        return f"{shard_name(prefix, split, number).removesuffix('.npy')}.bin"


class Megatron(Form):
    """Raw tokens in .bin; in .idx the length and place of every document."""

    name = "megatron"
    one_file = True
    rows = False
    DTYPES = (("<u2", 8), ("<i4", 4))

    def dtype(self, id_limit: int) -> np.dtype[Any]:
        return np.dtype("<u2") if id_limit < 65_500 else np.dtype("<i4")

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        return f"{prefix}_{split}_text_document.bin" if split_given else f"{prefix}_text_document.bin"

    def beside(self, file: str, dtype: np.dtype[Any], ends: Ends, origins: Sequence[Origin]) -> Files:
        return {f"{file.removesuffix('.bin')}.idx": self._index(dtype, ends)}

    def _index(self, dtype: np.dtype[Any], ends: Ends) -> Iterator[bytes]:
        n = len(ends)
        code = dict(self.DTYPES)[dtype.str]
        yield b"MMIDIDX\0\0" + np.uint64(1).tobytes() + bytes([code]) + np.array([n, n + 1], "<u8").tobytes()
        for _, lengths in self._documents(ends):
            if len(lengths) and int(lengths.max()) >= 1 << 31:
                raise FastbpeError(f"a document of {int(lengths.max())} tokens is too long for megatron; cut it first")
            yield lengths.astype("<i4").tobytes()
        for starts, _ in self._documents(ends):
            yield (starts * dtype.itemsize).astype("<i8").tobytes()
        for at in range(0, n + 1, HELD):
            yield np.arange(at, min(at + HELD, n + 1), dtype="<i8").tobytes()

    @staticmethod
    def _documents(ends: Ends) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Where documents start, in tokens, and how long they are."""
        before = 0
        for array in ends.arrays():
            lengths = np.diff(array, prepend=before)
            yield array - lengths, lengths
            before = int(array[-1])


class Dolma(Form):
    """Raw tokens, in spite of the name .npy, of the smallest type; and a line of CSV for every document."""

    name = "dolma"
    whole_documents = True
    splits = False
    prefixed = False
    origins = True
    rows = False

    def dtype(self, id_limit: int) -> np.dtype[Any]:
        return np.dtype(np.min_scalar_type(id_limit - 1)).newbyteorder("<")

    def file(self, prefix: str, split: str, number: int, split_given: bool) -> str:
        return f"part-0-{number:05d}.npy"

    def beside(self, file: str, dtype: np.dtype[Any], ends: Ends, origins: Sequence[Origin]) -> Files:
        out = io.StringIO(newline="")
        lines = csv.writer(out, lineterminator="\n")
        start = 0
        every = (end for array in ends.arrays() for end in array.tolist())
        for end, (source, place) in zip(every, origins, strict=True):
            lines.writerow((start, end, f"{source}:{place}", source, place))
            start = end
        # No clock in the file: equal inputs give equal bytes.
        return {f"{file.removesuffix('.npy')}.csv.gz": [gzip.compress(out.getvalue().encode(), 6, mtime=0)]}


FORMS: dict[str, Form] = {form.name: form for form in (Npy(), NanoGpt(), LlmC(), Megatron(), Dolma())}


def form_named(name: str) -> Form:
    """Raises ParameterError for a name that no form has."""
    check_choice("format", name, FORMS)
    return FORMS[name]
