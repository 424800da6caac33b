import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest

from fastbpe.corpus.sniff import HEAD_BYTES, advice, inner_name, kind_by_content, kind_of, not_text


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
        (lzma.compress(b"text", lzma.FORMAT_ALONE), "an lzma archive"),
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "an lz4 archive"),
        (b"Rar!\x1a\x07\x01\x00", "a RAR archive"),
        (b"Obj\x01\x04\x16avro.schema", "an Avro file"),
        (b"GGUF\x03\x00\x00\x00", "a GGUF model"),
        (codecs.BOM_UTF16_BE + b"\0a", "UTF-16 text"),
        ("a".encode("utf-32"), "UTF-32 text"),
        (zipped(), "a zip archive"),
        (npy(), "a NumPy array"),
    ],
)
def test_known(data, what):
    assert not_text(data[:HEAD_BYTES]) == what
    assert advice(what)


@pytest.mark.parametrize("data", [b"", b"BZh", b"BZhaha, text", b"PK", b"\xef\xbb\xbftext", b"\xff\xff", b"\0a"])
def test_text(data):
    assert not_text(data) is None
    assert kind_by_content(data) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"a"), "gzip"),
        (bz2.compress(b"a"), "bzip2"),
        (bz2.compress(b""), "bzip2"),
        (lzma.compress(b"a"), "xz"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd"),
        (b"\x50\x2a\x4d\x18\x04\0\0\0skip", "zstd"),
        (tarred(), "tar"),
        (b"PAR1", "parquet"),
        (b"ARROW1", "arrow file"),
        (b"\xff\xff\xff\xff\x10", "arrow stream"),
    ],
)
def test_kinds_by_content(data, kind):
    assert kind_by_content(data[:HEAD_BYTES]) == kind
    assert kind_of(lambda n: data[:n], "a.jsonl", True, False) == kind


@pytest.mark.parametrize(
    ("data", "name", "fields", "plain", "kind"),
    [
        (b"x", "a.JSONL", False, False, "jsonl"),
        (b"x", "a.jsonl", False, True, "text"),
        (b"x", "a.csv", False, False, "csv"),
        (b"x", "a.tsv", False, False, "tsv"),
        (b"", "a.gz", False, True, "gzip"),
        (b"", "a.tar", False, False, "tar"),
        (b"x", "a.py", False, False, "text"),
        (b'{"a":', "a.txt", True, False, "jsonl"),
        (b"x", "a.txt", True, False, "text"),
        (b'{"a": 1}\n{"a": 2}\n', "a.json", False, False, "jsonl"),
        (b'{"a": 1}\n', "package.json", False, False, "jsonl"),
        (b'{\n "a": 1}\n', "package.json", False, False, "text"),
        (b"[1]", "a.json", False, False, "text"),
        (b'{"a": 1}\nx', "a.json", False, False, "text"),
        (b'{"id": 1, "text": "x"}\n{"id": 2', "-", False, False, "jsonl"),
        (b'\xef\xbb\xbf{"content": "x"}\n', "a.txt", False, False, "jsonl"),
        (b'{"text": "x"}\n{"text": "y"}\n', "a.txt", False, True, "text"),
        (b'{"text": "x"}\nx', "-", False, False, "text"),
        (b'{"text": "x"}', "-", False, False, "text"),
        (b'{"text": 1}\n{"text": 2}\n', "-", False, False, "text"),
        (b'{"a": 1}\n{"a": 2}\n', "-", False, False, "text"),
        (b"[1]", "a.json", True, False, "jsonl"),
    ],
)
def test_kinds_by_name(data, name, fields, plain, kind):
    assert kind_of(lambda n: data[:n], name, fields, plain) == kind


def test_names_inside():
    assert inner_name("d/a.jsonl.GZ") == "d/a.jsonl"
    assert inner_name("a.tgz") == "a.tar"
    assert inner_name("a.txt") == "a.txt"
