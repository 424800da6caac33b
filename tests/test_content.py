import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus import content
from fastbpe.corpus.content import Peeked, read_content
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import Damaged, SourceReport


def collect(pieces):
    """(source, documents) in order."""
    found, current = [], b""
    for piece, source, number in pieces:
        start = 0
        for i, end in enumerate(piece.ends.tolist()):
            found.append((source, number + i, current + bytes(piece.data[start:end])))
            current, start = b"", end
        current += bytes(piece.data[start:])
    assert not current
    return found


def read(data, name, block_bytes=1 << 20, **options):
    report = SourceReport("s")
    pieces, damage = [], None
    try:
        for piece in read_content(io.BytesIO(data), name, ReaderOptions(**options), block_bytes, report):
            pieces.append(piece)
    except Damaged as error:
        damage = str(error)
    return collect(pieces), report, damage


def tarred(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


@given(st.binary(max_size=40), st.integers(0, 50), st.lists(st.integers(1, 20), max_size=5))
def test_peeking_takes_nothing(data, n, sizes):
    file = Peeked(io.BytesIO(data))
    assert file.peek(n) == data[:n]
    got = b"".join(file.read(size) for size in sizes)
    assert got + file.read(100) == data


def test_archives_in_archives():
    files = {
        "a.jsonl": b'{"text": "one"}\n{"text": "two"}\n',
        "b.txt": b"three",
        "c.jsonl.gz": gzip.compress(b'{"text": "four"}'),
        "d.png": b"\x89PNG\r\n\x1a\n",
    }
    for data, name in ((tarred(files), "t.tar"), (gzip.compress(tarred(files)), "t.tgz")):
        found, report, damage = read(data, name)
        expected = [("a.jsonl", 0, b"one"), ("a.jsonl", 1, b"two"), ("b.txt", 0, b"three"), ("c.jsonl.gz", 0, b"four")]
        assert found == [(f"{name}/{member}", i, text) for member, i, text in expected]
        assert report.skipped == {"a PNG image": 1}
        assert damage is None
        assert [text for _, _, text in read(data, name, members="*.txt")[0]] == [b"three"]


def test_tables_in_a_stream():
    _, report, _ = read(gzip.compress(b"PAR1...."), "a.parquet.gz")
    assert report.rejected == 1
    assert "cannot be read backwards" in next(iter(report.skipped))


@given(
    st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), min_size=1), st.integers(1, 30), st.data()
)
def test_of_a_cut_archive_whole_documents_are_kept(lines, block_bytes, data):
    text = b"\n".join(lines)
    packed = gzip.compress(b"text" + text, 0)
    cut = data.draw(st.integers(20, len(packed) - 1))
    found, _, damage = read(packed[:cut], "a.txt.gz", block_bytes, lines=True)
    whole = (b"text" + text).split(b"\n")
    assert damage
    assert [document for _, _, document in found] == [line + b"\n" for line in whole[: len(found)]]
    # The file itself is a document, and it is not whole.
    assert read(packed[:cut], "a.txt.gz", block_bytes)[0] == []


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.txt.gz", "a.tar.gz"])
@pytest.mark.parametrize("wrong", ["cut", "checksum"])
def test_what_little_is_whole_before_the_damage_is_kept(name, wrong):
    lines = {"a.jsonl.gz": b'{"text": "a"}\n{"text": "b"}\n', "a.csv.gz": b"text\na\nb\nc\n", "a.txt.gz": b"a\nb\n"}
    first = lines.get(name) or tarred({"a": b"a", "b": b"b"})[:2048]
    second = bytearray(gzip.compress(b"{" * 50))
    if wrong == "cut":
        del second[-9:]
    else:
        second[-8] ^= 1
    found, _, damage = read(gzip.compress(first) + second, name, lines=name == "a.txt.gz")
    assert [document.strip() for _, _, document in found][:2] == [b"a", b"b"]
    assert {document.strip() for _, _, document in found} <= {b"a", b"b", b"c"}
    assert damage


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.txt.gz", "a.tar.gz", "a.bin.gz", "a.json.gz"])
@pytest.mark.parametrize("options", [{}, {"text_field": "text"}, {"separator": b"|"}, {"lines": True}])
@pytest.mark.parametrize("text", [b"", b"[1]"])
def test_damage_is_told_whatever_is_before_it(name, options, text):
    found, _, damage = read(gzip.compress(text + b"x")[:-9], name, **options)
    assert found == []
    assert "is cut short" in damage


class Broken(io.BytesIO):
    """A file that cannot be read any further at its end."""

    def read(self, n=-1):
        data = super().read(n)
        if not data:
            raise Damaged("a: cannot be read")
        return data


@given(st.text("ab\n", max_size=700).map(str.encode), st.sampled_from([b"a", b"ab", b"\n\n", b"abab"]), st.data())
def test_a_file_that_breaks_off_is_kept_to_the_last_byte(text, separator, data):
    """And its last document ends there; a line of JSON must be whole."""
    block_bytes = data.draw(st.integers(1, 800))
    cuts = {"separator": separator}, {"lines": True}, {}
    wholes = text.split(separator), text.splitlines(keepends=True), [text]
    for options, whole in zip(cuts, wholes, strict=True):
        report = SourceReport("s")
        pieces = []
        with pytest.raises(Damaged, match="cannot be read") as told:
            for piece in read_content(Broken(text), "a", ReaderOptions(**options), block_bytes, report):
                pieces.append(piece)
        found = [document for _, _, document in collect(pieces)]
        assert found in (whole, whole[:-1] if whole[-1:] == [b""] else whole)
        open_there = bool(found) and not (options.get("lines") and found[-1].endswith(b"\n"))
        assert ("the last document ends there" in str(told.value)) == open_there


def test_a_document_too_long_to_wait_for(monkeypatch):
    monkeypatch.setattr(content, "HELD_BYTES", 100)
    text = bytes(range(32, 127)) * 20
    packed = gzip.compress(b"short\n" + text, 0)[:-600]
    found, _, damage = read(packed, "a.txt.gz", 50, lines=True)
    assert found[0] == ("a.txt.gz", 0, b"short\n")
    assert len(found) == 2 and len(found[1][2]) > 100
    assert text.startswith(found[1][2])
    assert "ends at the cut" in damage


def test_plain_text_has_no_fields():
    found, report, _ = read(b"readme", "README.md", text_field="content")
    assert found == []
    assert report.skipped == {"plain text, which has no field 'content'": 1}


@pytest.mark.parametrize("data", [b'[{"text": "a"}]', b"\xef\xbb\xbf [1]"])
def test_json_arrays(data):
    _, report, _ = read(data, "a.json", text_field="text")
    assert report.skipped == {"a JSON array, not JSON Lines": 1}


def test_a_table_that_begins_with_a_blank_line():
    found, report, _ = read(b"\ntext\na\n", "a.csv")
    assert found == []
    assert report.skipped == {"its first line, which names the columns, is blank": 1}
    assert read(b"", "a.csv")[1].skipped == {}
