import bz2
import gzip
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.compressed import HELD_BYTES, KINDS, Decompressed
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


def checksum_at(kind, member):
    """Where a checksum of the data stands in a member."""
    if kind == "xz":  # before the index, whose size is in the footer
        index = (int.from_bytes(member[-8:-4], "little") + 1) * 4
        return len(member) - 12 - index - 8
    return {"gzip": len(member) - 8, "zstd": len(member) - 4, "bzip2": 10}[kind]


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=4), st.integers(1, 400), st.data())
def test_a_member_with_a_wrong_checksum_is_not_whole(kind, members, n, data):
    checked = {zstd.CompressionParameter.checksum_flag: 1}
    packed = [zstd.compress(m, options=checked) if kind == "zstd" else COMPRESS[kind](m) for m in members]
    wrong = data.draw(st.integers(0, len(members) - 1))
    at = checksum_at(kind, packed[wrong])
    packed[wrong] = packed[wrong][:at] + bytes([packed[wrong][at] ^ 1]) + packed[wrong][at + 1 :]
    got, damage = read_all(b"".join(packed), kind, n)
    assert got == b"".join(members[:wrong])
    assert "data are damaged" in damage


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_long_member_that_is_wrong_the_last_part_is_not_given(kind):
    text = b"".join(b"%d\n" % i for i in range(400_000))
    member = zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: 1}) if kind == "zstd" else None
    member = bytearray(member or COMPRESS[kind](text))
    member[checksum_at(kind, member)] ^= 1
    got, damage = read_all(COMPRESS[kind](b"first") + member, kind, 1 << 16)
    assert got == read_all(COMPRESS[kind](b"first") + member, kind, 77_777)[0]
    assert (b"first" + text).startswith(got) and len(got) <= 5 + len(text) - HELD_BYTES
    assert "data are damaged" in damage


def test_a_file_that_cannot_be_read_to_its_end():
    class Broken(io.BytesIO):
        def read(self, n):
            data = super().read(n)
            if not data:
                raise Damaged("a.x: cannot be read to its end")
            return data

    file = Decompressed(Broken(gzip.compress(b"text" * 9)[:-3]), "gzip", "a.x")
    assert file.read(100) == b"text" * 9
    for _ in range(2):
        with pytest.raises(Damaged, match="to its end"):
            file.read(100)


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
