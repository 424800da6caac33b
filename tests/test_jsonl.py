import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.jsonl import read_jsonl
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import SourceReport
from fastbpe.errors import DataError, MemoryBoundError
from fastbpe.text import utf8


def read(data, block_bytes=1 << 20, on_error="report", **options):
    report = SourceReport("s", on_error=on_error)
    documents, numbers, open_bytes = [], [], b""
    for piece in read_jsonl(io.BytesIO(data), ReaderOptions(**options), block_bytes, report, "a.jsonl"):
        start = 0
        for number, end in zip(piece.numbers.tolist(), piece.ends.tolist(), strict=False):
            documents.append(open_bytes + bytes(piece.data[start:end]))
            numbers.append(number)
            start, open_bytes = end, b""
        if len(piece.numbers) > len(piece.ends):
            assert len(piece.data) - start <= block_bytes and piece.starts[-1] == len(open_bytes)
        open_bytes += bytes(piece.data[start:])
    assert not open_bytes
    return documents, numbers, report


# Lone surrogates, and escapes of all sorts.
texts = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\u2028\x00"), max_size=12)
values = texts | st.none() | st.integers() | st.lists(st.integers(), max_size=2) | st.just(float("nan"))


@given(
    st.lists(st.dictionaries(st.sampled_from(["text", "lang", "x"]), values, max_size=3), max_size=8),
    st.booleans(),
    st.integers(1, 60),
)
def test_equal_to_the_slow_way(records, ascii_only, block_bytes):
    lines = []
    for record in records:
        try:
            line = json.dumps(record, ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:
            line = json.dumps(record).encode()
        lines.append(line)
    documents, numbers, report = read(b"\n".join(lines), block_bytes, text_field="text")
    expected, places = [], []
    for number, record in enumerate(records, 1):
        text = record.get("text", 0)
        if text is None or isinstance(text, str):
            expected.append(utf8(text or ""))
            places.append(number)
    assert documents == expected
    assert numbers == places
    assert report.rejected == len(records) - len(expected)


@pytest.mark.parametrize("options", [{}, {"text_field": "text"}])
def test_numbers_of_any_size(options):
    lines = [b'{"text": "a", "n": %s}' % (b"9" * 5000), b'{"text": "b", "n": -%s, "m": 1e999}' % (b"1" * 5000)]
    assert read(b"\n".join(lines), **options)[0] == [b"a", b"b"]


def test_duplicates_the_last_wins():
    assert read(b'{"text": "a", "text": "b"}', text_field="text")[0] == [b"b"]


def test_nested_fields_and_where():
    lines = [
        {"a": {"b": "one", "n": 3}, "lang": "x", "ok": True},
        {"a": {"b": "two", "n": 3.5}, "lang": "y"},
        {"a": None, "lang": "x", "ok": True},
        {"a": {"n": 3}, "lang": "x", "ok": True},
        {"a": {"b": None, "n": 3}, "lang": "x", "ok": True},
    ]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    documents, numbers, report = read(data, text_field="a.b")
    assert (documents, numbers) == ([b"one", b"two", b""], [1, 2, 5])
    assert report.skipped == {"no field 'a.b'": 2}
    where = (("lang", "x"), ("ok", "true"), ("a.n", "3"))
    documents, numbers, report = read(data, text_field="a.b", where=where)
    assert (documents, numbers) == ([b"one", b""], [1, 5])
    assert report.skipped == {"left out by where": 2, "no field 'a.b'": 1}
    assert report.rejected == 1
    assert read(data, text_field="lang", where=(("lang", "y"),))[0] == [b"y"]
    assert read(data, text_field="a", where=(("a.n", "3.5"),))[2].skipped["the field 'a' is no text"] == 1


def test_the_field_without_a_name():
    assert read(b'{"content": "a", "text": "b"}\n{"text": "c"}')[0] == [b"b", b"c"]
    documents, _, report = read(b'broken\n{"x": 1}\n{"content": "a"}\n{"text": "b"}')
    assert documents == [b"a"]
    assert report.skipped == {"not valid JSON": 1, "no field 'text' or 'content'": 1, "no field 'content'": 1}


def test_stop_says_where():
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: not valid JSON"):
        read(b'{"text": "a"}\n\n{', on_error="stop")


def test_deep_nesting_is_no_crash():
    assert read(b"[" * 100_000 + b'\n{"text": "a"}')[0] == [b"a"]


def test_lines_that_go_on_in_another_block_are_told_of():
    told = []
    lines = [b'{"text": "%s"}' % (b"a" * n) for n in (5, 100, 300, 70)]
    documents, *_ = read(b"\n".join(lines), block_bytes=100, on_long=lambda n, where: told.append((n, str(where))))
    assert documents == [b"a" * n for n in (5, 100, 300, 70)]
    sizes = {f"a.jsonl, line {number}, byte 0": len(line) for number, line in enumerate(lines, 1)}
    assert {where: max(n for n, w in told if w == where) for _, where in told} == {
        where: size for where, size in sizes.items() if size > 100
    }

    def refuse(n, where):
        raise MemoryBoundError(f"{where}: {n}")

    with pytest.raises(MemoryBoundError, match="line 2, byte 0: 1"):
        read(b"\n".join(lines), block_bytes=100, on_long=refuse)
