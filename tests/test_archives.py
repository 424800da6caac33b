import gzip
import io
import os
import tarfile

import pytest

from fastbpe.corpus.archives import members
from fastbpe.corpus.report import Damaged, SourceReport


def packed(files, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            if not name.endswith(("/", "@")):
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            else:
                info.type, info.linkname = data, "a"
                archive.addfile(info)
    return out.getvalue()


FILES = [
    ("d/", tarfile.DIRTYPE),
    ("d/b.txt", b"x" * 1000),
    ("./a.py", b"a"),
    ("d/.hidden/c.txt", b"h"),
    ("l@", tarfile.SYMTYPE),
    ("文" * 60 + ".txt", b""),
]


def read(data, pattern=None, report=None):
    report = report or SourceReport("s")
    return [(name, file.read()) for file, name in members(io.BytesIO(data), pattern, report, "t.tar")]


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_members(form):
    report = SourceReport("s")
    found = read(packed(FILES, form), None, report)
    assert found == [("t.tar/d/b.txt", b"x" * 1000), ("t.tar/./a.py", b"a"), ("t.tar/" + "文" * 60 + ".txt", b"")]
    assert report.skipped == {"hidden": 1, "not a regular file": 1}
    report = SourceReport("s")
    assert [name for name, _ in read(packed(FILES), "*.py", report)] == ["t.tar/./a.py"]
    assert report.skipped["a member that does not match"] == 4


def test_every_cut_is_seen():
    data = packed([("a.txt", b"a" * 600), ("b.txt", os.urandom(100))])
    end = data.rstrip(b"\0")
    whole = read(data)
    for cut in [*range(0, len(end), 97), 512, 512 * 3, 512 * 4, 512 * 5]:
        found = []
        with pytest.raises(Damaged, match=r"t\.tar: is cut short"):
            for file, name in members(io.BytesIO(data[:cut]), None, SourceReport("s"), "t.tar"):
                found.append((name, file.read()))
        assert found == whole[: len(found)]


def test_archives_one_after_the_other():
    one, two = packed([("a.txt", b"a" * 3000)]), packed([("b.txt", b"b")])
    expected = read(one) + read(two)
    short = one.rstrip(b"\0")
    short += bytes(-len(short) % 512)
    for between in (one, short + bytes(512), short + bytes(1024), one + bytes(512 * 200)):
        assert read(between + two) == expected
        assert read(between + two + one) == expected + read(one)
    for more in (b"x" * 9000, b"x", gzip.compress(two)):
        found = []
        with pytest.raises(Damaged, match=r"t\.tar: something that is no archive follows its end"):
            for file, name in members(io.BytesIO(one + more), None, SourceReport("s"), "t.tar"):
                found.append((name, file.read()))
        assert found == read(one)
    with pytest.raises(Damaged, match=r"t\.tar: is cut short"):
        read(one + packed([("b.txt", b"b" * 3000)])[:2000])
