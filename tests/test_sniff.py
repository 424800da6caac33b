import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest

from fastbpe.corpus.sniff import HEAD_BYTES, advice, not_text


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", "text")
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return out.getvalue()


def npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("a".encode("utf-16"), "UTF-16 text"),
        (codecs.BOM_UTF16_BE + b"\0a", "UTF-16 text"),
        ("a".encode("utf-32"), "UTF-32 text"),
        (gzip.compress(b"a"), "a gzip archive"),
        (bz2.compress(b"a"), "a bzip2 archive"),
        (lzma.compress(b"a"), "an xz archive"),
        (b"\x28\xb5\x2f\xfd\x04", "a zstd archive"),
        (b"\x50\x2a\x4d\x18\x04\0\0\0skip", "a zstd archive"),
        (zipped(), "a zip archive"),
        (tarred(), "a tar archive"),
        (npy(), "a NumPy array"),
    ],
)
def test_known(data, what):
    assert not_text(data[:HEAD_BYTES]) == what
    assert advice(what)


@pytest.mark.parametrize("data", [b"", b"BZh", b"BZhaha, text", b"PK", b"\xef\xbb\xbftext", b"\xff\xff", b"\0a"])
def test_text(data):
    assert not_text(data) is None
