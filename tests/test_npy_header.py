import io

import numpy as np
import pytest

from fastbpe.npy_header import npy_header


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<u4", "<i8"])
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_header_is_numpys_own(dtype, n):
    array = np.arange(n).astype(dtype)
    file = io.BytesIO()
    np.save(file, array)
    assert file.getvalue() == npy_header(array.dtype, n) + array.tobytes()


def test_header_has_one_size():
    assert len({len(npy_header(np.dtype("<u2"), n)) for n in (0, 9, 10**8, 10**12)}) == 1
