import bz2
import gzip
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.compressed import KINDS, Decompressed
from fastbpe.corpus.report import Damaged

try:
    from compression import zstd
except ImportError:
    from backports import zstd

COMPRESS = {"gzip": gzip.compress, "zstd": zstd.compress, "xz": lzma.compress, "bzip2": bz2.compress}
PADDING = {"gzip": [0, 1, 512], "xz": [0, 4, 8], "zstd": [0], "bzip2": [0]}


def read_all(data, kind, n=1 << 20):
    """All bytes, and the damage that was met after them."""
    file, parts = Decompressed(io.BytesIO(data), kind, "a.x"), []
    try:
        while part := file.read(n):
            parts.append(part)
    except Damaged as error:
        with pytest.raises(Damaged):  # it stays damaged
            file.read(n)
        return b"".join(parts), str(error)
    assert file.read(1) == b""
    return b"".join(parts), None


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4), st.integers(1, 60), st.data())
def test_members_one_after_the_other(kind, members, n, data):
    packed = b"".join(COMPRESS[kind](member) + bytes(data.draw(st.sampled_from(PADDING[kind]))) for member in members)
    assert read_all(packed, kind, n) == (b"".join(members), None)


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(min_size=1, max_size=300), st.binary(max_size=50), st.data())
def test_a_cut_is_never_an_end(kind, first, second, data):
    whole = COMPRESS[kind](first)
    packed = whole + COMPRESS[kind](second)
    cut = data.draw(st.integers(0, len(packed) - 1))
    got, damage = read_all(packed[:cut], kind)
    if cut == len(whole):
        assert (got, damage) == (first, None)
    else:
        assert damage.startswith("a.x: is cut short") or "follows" in damage
        assert (first + second).startswith(got)
        assert cut < len(whole) or got.startswith(first)


@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_is_told(kind):
    data = COMPRESS[kind](b"text")
    got, damage = read_all(data + b"something", kind)
    assert got == b"text"
    assert "follows" in damage
    if kind == "zstd":
        return  # frames need not have a checksum
    changed = bytearray(COMPRESS[kind](bytes(range(256)) * 20))
    changed[len(changed) // 2] ^= 0xFF
    assert read_all(bytes(changed), kind)[1] is not None


def test_padding_of_a_wrong_size():
    got, damage = read_all(lzma.compress(b"text") + b"\0" * 3, "xz")
    assert got == b"text"
    assert "3 bytes of padding" in damage


def test_skippable_frames():
    frame = b"\x50\x2a\x4d\x18\x04\0\0\0skip"
    assert read_all(frame + zstd.compress(b"a") + frame + zstd.compress(b"b") + frame, "zstd") == (b"ab", None)


def test_little_is_held():
    """A bomb is given as it is asked for."""
    file = Decompressed(io.BytesIO(gzip.compress(bytes(1 << 24))), "gzip", "a.gz")
    assert len(file.read(1000)) == 1000
    assert len(file._input) < 1 << 20
