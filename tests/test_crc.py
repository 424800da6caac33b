"""CRC-32 of files and of what is put together."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from fastbpe.shards import crc


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_two_stretches_joined(first, second):
    joined = crc.crc32_joined(zlib.crc32(first), zlib.crc32(second), len(second))
    assert joined == zlib.crc32(first + second)


@given(st.integers(0, 2**31))
def test_a_long_second_stretch(n):
    halves = crc.crc32_joined(crc.crc32_joined(123, 0, n // 2), 0, n - n // 2)
    assert crc.crc32_joined(123, 0, n) == halves


def test_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(crc, "READ_BYTES", 7)
    for n in (0, 6, 7, 8, 100):
        (tmp_path / "file").write_bytes(bytes(range(n)))
        with open(tmp_path / "file", "rb", buffering=0) as file:
            assert crc.crc32_of_file(file) == zlib.crc32(bytes(range(n)))


def test_shown():
    assert crc.shown(0xAB) == "000000ab"
