import io
import os
import pathlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_documents import documents_of

from fastbpe.corpus.sources import Corpus, documents, files
from fastbpe.errors import DataError, ParameterError
from fastbpe.text import to_bytes


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30) | st.text(max_size=20)), st.integers(1, 40))
def test_iterables(documents, block_bytes):
    corpus = Corpus(iter(documents))
    blocks = list(corpus.blocks(block_bytes))
    expected = [to_bytes(document) for document in documents]
    assert documents_of(blocks) == expected
    assert corpus.reports[0].documents == len(documents)
    assert corpus.reports[0].bytes == sum(map(len, expected))
    for block in blocks:
        for at in range(len(block.data)):
            address = block.address_at(at)
            assert expected[address.document][address.offset] == block.data[at]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: os.truncate(path, 70_000),
        lambda path: os.truncate(path, 160_000),
        lambda path: os.utime(path, (0, 0)),
    ],
    ids=["shorter", "longer", "touched"],
)
@pytest.mark.parametrize("options", [{}, {"lines": True}, {"separator": "\n"}])
def test_a_file_that_changes_while_it_is_read(tmp_path, change, options):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a line of text\n" * 10_000)
    for on_error in ("report", "stop"):
        corpus = Corpus(files(path, on_error=on_error, **options))
        blocks = corpus.blocks(1000)
        next(blocks)
        change(path)
        if on_error == "stop":
            with pytest.raises(DataError, match=r"a\.txt: was changed while it was read"):
                list(blocks)
        else:
            list(blocks)
            ((where, why),) = corpus.damaged
            assert where == str(path) and why.startswith("was changed while it was read")
        path.write_bytes(b"a line of text\n" * 10_000)


def test_a_generator_is_read_as_blocks_are_asked_for():
    taken = []

    def documents():
        for i in range(100):
            taken.append(i)
            yield "x" * 10

    next(Corpus(documents()).blocks(20))
    assert len(taken) < 10


def test_files_and_directories(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/b.txt").write_bytes(b"\xef\xbb\xbfb\r\n")
    (tmp_path / "d/a.txt").write_bytes(b"a" * 50)
    (tmp_path / "d/.x").write_bytes(b"hidden")
    (tmp_path / "e.txt").write_bytes(b"")
    corpus = Corpus(files(tmp_path / "d", tmp_path / "e.txt", str(tmp_path / "d/*.txt")))
    expected = [b"a" * 50, b"\xef\xbb\xbfb\r\n"]
    blocks = list(corpus.blocks(16))
    assert documents_of(blocks) == [*expected, b"", *expected]
    first, second, third = corpus.reports
    assert (first.files, first.documents, first.bytes, first.skipped) == (2, 2, 56, {"hidden": 1})
    assert first.skipped_examples == [(str(tmp_path / "d/.x"), "hidden")]
    assert (second.documents, second.bytes, third.documents) == (1, 0, 2)
    survey = corpus.survey()
    assert (survey.files, survey.bytes) == (5, 112)
    assert documents_of(Corpus(tmp_path / "d").blocks()) == expected
    assert str(blocks[1].address_at(3)) == f"{tmp_path}/d/a.txt, document 0, byte 19"


def test_separator_and_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a。b。。".encode())
    corpus = Corpus(files(path, path, separator="。"))
    assert documents_of(corpus.blocks()) == [b"a", b"b", b"", b""] * 2
    assert corpus.reports[0].documents_per_file == [4]
    path.write_bytes(b"a\r\nb\n\nc")
    assert documents_of(Corpus(files(path, lines=True)).blocks()) == [b"a\r\n", b"b\n", b"\n", b"c"]


def test_survey_sees_a_change(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    before = Corpus(path).survey()
    assert before == Corpus(path).survey()
    path.write_bytes(b"abcd")
    assert before.digest != Corpus(path).survey().digest
    assert Corpus(["a"]).survey() is None
    assert Corpus(files("-")).survey() is None


def test_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo")))
    blocks = list(Corpus(files("-", lines=True)).blocks())
    assert documents_of(blocks) == [b"one\n", b"two"]
    assert str(blocks[0].address_at(5)) == "standard input, document 1, byte 5"


def test_refused_sources(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    for source in ("text", b"text", str(path)):
        with pytest.raises(ParameterError, match="a path or a text"):
            Corpus(source)
    for source in ([str(path)], [path, str(path)], (str(path),)):
        with pytest.raises(ParameterError, match=r"names an existing file; give fastbpe\.files"):
            Corpus(source)
    for source in (3, None, {"train": ["a"]}, {}):
        with pytest.raises(ParameterError, match="no source"):
            Corpus(source)
    with pytest.raises(ParameterError, match="document 1: a text must be str or bytes, not int"):
        list(Corpus(["a", 3]).blocks())
    assert documents_of(Corpus([str(path), "not a file"]).blocks()) == [str(path).encode(), b"not a file"]
    assert documents_of(Corpus([]).blocks()) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: files(),
        lambda: files(b"a"),
        lambda: files(["a", "b"]),
        lambda: files(5),
        lambda: files(""),
        lambda: files("-", "-"),
        lambda: files("a", separator=""),
        lambda: files("a", separator="x", lines=True),
        lambda: files("a", text_field="a..b"),
        lambda: files("a", text_field="b", lines=True),
        lambda: files("a", where={"b": 3}),
        lambda: files("a", on_error="ignore"),
        lambda: documents([], text_field=""),
        lambda: Corpus(["a"]).blocks(0),
    ],
)
def test_refused_parameters(call):
    with pytest.raises(ParameterError):
        call()


def test_what_is_no_text_is_skipped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("text".encode("utf-16"))
    corpus = Corpus(tmp_path)
    assert documents_of(corpus.blocks()) == []
    assert (corpus.rejected, corpus.reports[0].skipped) == (1, {"UTF-16 text": 1})
    assert corpus.reports[0].skipped_examples == [(str(path), "UTF-16 text")]
    with pytest.raises(DataError, match=r"a\.txt: UTF-16 text; convert"):
        list(Corpus(files(path, on_error="stop")).blocks())
    rows = tmp_path / "a.jsonl"
    rows.write_bytes(b'{"text": "a"}\n')
    assert documents_of(Corpus(rows).blocks()) == [b"a"]
    assert documents_of(Corpus(files(rows, lines=True)).blocks()) == [b'{"text": "a"}\n']


def test_unreadable_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("x")
    os_open = io.open

    def refuse(name, *args, **kwargs):
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return os_open(name, *args, **kwargs)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"a\.txt: cannot be read \(permission denied\); give yourself"):
        list(Corpus(files(path, on_error="stop")).blocks())
    (tmp_path / "b.txt").write_text("y")
    corpus = Corpus(tmp_path)
    assert documents_of(corpus.blocks()) == [b"y"]
    (report,) = corpus.reports
    assert (report.rejected, report.files) == (1, 1)
    assert report.skipped_examples == [(str(path), "cannot be read (permission denied)")]


def test_a_file_that_cannot_be_read_to_its_end(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_bytes(b"%s one\n two" % name.encode() * 2000)

    class Broken(io.FileIO):
        def read(self, n=-1):
            if self.tell() >= 10_000 and self.name.endswith("a.txt"):
                raise OSError(5, "Input/output error")
            return super().read(min(n, 1000))

    monkeypatch.setattr("builtins.open", lambda name, *args, **kwargs: Broken(name))
    for options, first in (({}, (b"a one\n two" * 2000)[:10_000]), ({"lines": True}, b"a one\n")):
        corpus = Corpus(files(tmp_path, **options))
        found = documents_of(corpus.blocks(1000))
        assert found[0] == first and b"".join(found).endswith(b"b one\n two")
        ((where, why),) = corpus.damaged
        assert where.endswith("a.txt") and "input/output error) to its end" in why and "last document ends there" in why
        with pytest.raises(DataError, match=r"a\.txt: cannot be read \(input/output error\) to its end"):
            documents_of(Corpus(files(tmp_path, on_error="stop", **options)).blocks(1000))


def test_binary_files_that_nobody_named(tmp_path):
    binary, text = b"\xa7\r\r\n\0\0\0\0\xe3", b"a\0b"
    (tmp_path / "a.pyc").write_bytes(binary)
    (tmp_path / "b.txt").write_bytes(text)
    for pattern in (tmp_path, tmp_path / "*"):
        corpus = Corpus(files(pattern))
        assert documents_of(corpus.blocks()) == [text]
        assert corpus.reports[0].skipped == {"binary data (NUL bytes, and not UTF-8)": 1}
    assert documents_of(Corpus(tmp_path / "a.pyc").blocks()) == [binary]


def test_a_directory_that_may_not_be_listed(tmp_path, unlisted_a):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.txt").write_text("y")
    corpus = Corpus(tmp_path)
    assert documents_of(corpus.blocks()) == [b"y"]
    assert corpus.reports[0].skipped == {"cannot be read (permission denied)": 1}
    with pytest.raises(DataError, match="/a: cannot be read"):
        list(Corpus(files(tmp_path, on_error="stop")).blocks())


def test_missing_file():
    with pytest.raises(DataError, match="no such file"):
        list(Corpus(pathlib.Path("/nonexistent/a.txt")).blocks())


def test_a_big_file_is_streamed(tmp_path):
    path = tmp_path / "big.txt"
    path.write_bytes(os.urandom(1000) * 100)
    blocks = list(Corpus(path).blocks(30_000))
    assert [len(block.data) for block in blocks] == [30_000, 30_000, 30_000, 10_000]
    assert [block.open for block in blocks] == [True, True, True, False]
    assert np.concatenate([block.data for block in blocks]).tobytes() == path.read_bytes()


@pytest.mark.parametrize("segment_bytes", [1, 25, 60, 10**6])
def test_segments_are_the_blocks_and_go_on_anywhere(tmp_path, segment_bytes):
    for i in range(9):
        (tmp_path / f"{i}.txt").write_bytes(b"%d line\n" % i * (i + 1))
        (tmp_path / f".{i}").touch()
        (tmp_path / f"{i}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    source = files(tmp_path, tmp_path / "*.txt", lines=True)
    whole = Corpus(source)
    expected = documents_of(whole.blocks())
    parts, states = [], []
    corpus = Corpus(source)
    for blocks in corpus.segments(segment_bytes):
        parts.append(documents_of(blocks))
        states.append(corpus.read)
    assert [document for part in parts for document in part] == expected
    assert corpus.reports == whole.reports
    for k, state in enumerate(states, 1):
        corpus = Corpus(source)
        more = [documents_of(blocks) for blocks in corpus.segments(segment_bytes, state)]
        assert more == parts[k:]
        assert corpus.reports == whole.reports
