import numpy as np
import pytest

from fastbpe.errors import FormatError
from fastbpe.shards.npy import open_tokens


@pytest.mark.parametrize("dtype", ["<u2", "<u4", "<i8"])
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_opening_what_numpy_saved(tmp_path, dtype, n):
    array = np.arange(n, dtype=dtype)
    np.save(tmp_path / "a.npy", array)
    opened = open_tokens(tmp_path / "a.npy")
    assert opened.dtype == dtype and np.array_equal(opened, array)
    assert not n or not opened.flags.writeable


def test_raw_and_real_are_told_apart_by_content(tmp_path):
    array = np.arange(10, dtype="<u2")
    array.tofile(tmp_path / "raw.npy")
    assert np.array_equal(open_tokens(tmp_path / "raw.npy", np.dtype("<u2")), array)
    with pytest.raises(FormatError, match="say their dtype"):
        open_tokens(tmp_path / "raw.npy")
    np.save(tmp_path / "real.bin.npy", array)
    assert np.array_equal(open_tokens(tmp_path / "real.bin.npy", np.dtype("<u2")), array)
    (tmp_path / "empty").write_bytes(b"")
    assert len(open_tokens(tmp_path / "empty", np.dtype("<u2"))) == 0


def test_damaged_files(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(10, dtype="<u2"))
    whole = path.read_bytes()
    for data, what in (
        (whole[:-1], "its header promises"),
        (whole + b"\0\0", "its header promises"),
        (whole[:20], "header is damaged"),
        (whole[:6] + b"\x02" + whole[7:], "header is damaged"),
        (whole.replace(b"'shape'", b"('shape"), "header is damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=what):
            open_tokens(path)
    for array in (np.zeros((2, 2), "<u2"), np.zeros(3)):
        np.save(path, array)
        with pytest.raises(FormatError, match="not one row of integers"):
            open_tokens(path)
    path.write_bytes(b"abc")
    with pytest.raises(FormatError, match="no whole number"):
        open_tokens(path, np.dtype("<u2"))
