import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.columns import NoSuchColumn, batch_pieces, columns_wanted, text_field
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import SourceReport

pa = pytest.importorskip("pyarrow", reason="pyarrow reads tables")

TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_binary()),
]


def read(array, first_row=1, block_bytes=1 << 20, name="text", **options):
    batch = pa.record_batch([array], names=[name])
    report = SourceReport("s")
    documents, current = [], b""
    for piece in batch_pieces(batch, first_row, ReaderOptions(**options), block_bytes, report):
        assert piece.ends.dtype == np.int64
        start = 0
        for end in piece.ends.tolist():
            documents.append(current + bytes(piece.data[start:end]))
            current, start = b"", end
        current += bytes(piece.data[start:])
    assert not current
    return documents


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(st.lists(st.none() | st.text("ab中", max_size=20), max_size=12), st.integers(0, 4), st.integers(1, 30))
def test_all_types_sliced_and_not(kind, texts, offset, block_bytes):
    array = pa.array(texts, pa.string()).cast(kind.value_type if pa.types.is_dictionary(kind) else kind)
    array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    expected = [(text or "").encode() for text in texts]
    assert read(array, block_bytes=block_bytes) == expected
    assert read(array.slice(offset)) == expected[offset:]


def test_bytes_under_a_null_are_not_text():
    offsets, data = pa.py_buffer(np.array([0, 3, 6], np.int32)), pa.py_buffer(b"abcdef")
    array = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x01"), offsets, data])
    assert read(array) == [b"abc", b""]
    assert read(pa.nulls(3)) == [b"", b"", b""]


def test_nested():
    array = pa.array([{"b": {"c": "x"}}, None, {"b": {"c": "y"}}])
    assert read(array, name="a", text_field="a.b.c") == [b"x", b"", b"y"]
    with pytest.raises(NoSuchColumn, match=r"'a\.z'"):
        read(array, name="a", text_field="a.z")
    with pytest.raises(NoSuchColumn, match="holds no text"):
        read(array, name="a", text_field="a.b")


def test_which_columns():
    assert text_field(["content", "text"], ReaderOptions()) == "text"
    assert text_field(["content"], ReaderOptions()) == "content"
    options = ReaderOptions(text_field="a.b", where=(("a.c", "1"), ("l", "2")))
    assert columns_wanted(["l", "x", "a"], options) == ["a", "l"]
    with pytest.raises(NoSuchColumn, match="no column 'l'; it has a"):
        columns_wanted(["a"], options)
