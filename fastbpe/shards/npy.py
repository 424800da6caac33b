"""Safe opening of one-dimensional NPY files, and of raw tokens."""

import os
import tokenize
from pathlib import Path
from typing import Any

import numpy as np

from fastbpe.errors import FormatError

MAGIC = b"\x93NUMPY"


def open_tokens(path: str | os.PathLike[str], raw_dtype: np.dtype[Any] | None = None) -> np.ndarray:
    """A file of tokens as a read-only array (n,), memory-mapped: real NPY, or raw when `raw_dtype` is given.

    The first bytes decide which it is, not the name. Raises FormatError for anything else; OSError passes.
    """
    path = Path(path)
    with path.open("rb") as file:
        is_npy = file.read(len(MAGIC)) == MAGIC
        size = os.fstat(file.fileno()).st_size
    if not is_npy:
        return _open_raw(path, size, raw_dtype)
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError(f"version {version}")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        except (ValueError, SyntaxError, tokenize.TokenError) as error:
            raise FormatError(f"{path}: its NPY header is damaged ({error}); write it again") from None
        start = file.tell()
    if len(shape) != 1 or dtype.kind not in "iu":
        raise FormatError(f"{path}: holds {dtype} of shape {shape}, not one row of integers; is it a shard?")
    if size != start + shape[0] * dtype.itemsize:
        raise FormatError(
            f"{path}: {size} bytes, but its header promises {start + shape[0] * dtype.itemsize}; write it again"
        )
    if shape[0] == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r", start, shape)


def _open_raw(path: Path, size: int, dtype: np.dtype[Any] | None) -> np.ndarray:
    if dtype is None:
        raise FormatError(f"{path}: does not begin as an NPY file does; is it raw tokens? then say their dtype")
    if size % dtype.itemsize:
        raise FormatError(f"{path}: {size} bytes are no whole number of {dtype} tokens; it is cut or of another dtype")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
