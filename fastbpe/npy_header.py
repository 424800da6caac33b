"""The header of one-dimensional NPY files, for writers that do not have the whole array at hand."""

import io
from typing import Any

import numpy as np


def npy_header(dtype: np.dtype[Any], n: int) -> bytes:
    """NPY 1.0 header of an array (n,). Its size is the same for every n, so it can be overwritten."""
    out = io.BytesIO()
    description = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n,)}
    np.lib.format.write_array_header_1_0(out, description)
    return out.getvalue()
