import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.corpus.readers import ReaderOptions, read_text


class ShortReads:
    """A pipe: gives what it likes."""

    def __init__(self, data, sizes):
        self.file = io.BytesIO(data)
        self.sizes = sizes

    def read(self, n):
        size = min(n, self.sizes.pop()) if self.sizes else n
        return self.file.read(size)


def collect(pieces):
    """Documents and the offset in the file of each one's first byte; the offsets of later parts are checked."""
    documents, offsets, current, begun = [], [], b"", None
    for data, ends, starts, *_ in pieces:
        assert ends.dtype == np.int64 and starts.dtype == np.int64
        ends, starts, at = ends.tolist(), starts.tolist(), 0
        assert len(starts) in (len(ends), len(ends) + 1)
        for i, start in enumerate(starts):
            end = ends[i] if i < len(ends) else len(data)
            begun = start if begun is None else begun
            assert begun + len(current) == start
            current += data[at:end]
            at = end
            if i < len(ends):
                documents.append(current)
                offsets.append(begun)
                current, begun = b"", None
        assert at == len(data)
    assert current == b""
    return documents, offsets


bodies = st.binary(max_size=40) | st.text("ab\n", max_size=40).map(str.encode)


@settings(deadline=None)
@given(bodies, st.integers(1, 12), st.lists(st.integers(1, 5), max_size=8))
def test_whole(data, block_bytes, sizes):
    pieces = list(read_text(ShortReads(data, sizes), ReaderOptions(), block_bytes))
    assert collect(pieces) == ([data], [0])
    assert all(len(piece.data) <= block_bytes for piece in pieces)


@settings(deadline=None)
@given(bodies, st.integers(1, 12), st.lists(st.integers(1, 5), max_size=8))
def test_lines(data, block_bytes, sizes):
    documents, offsets = collect(read_text(ShortReads(data, sizes), ReaderOptions(lines=True), block_bytes))
    expected = [line + b"\n" for line in data.split(b"\n")]
    expected[-1] = expected[-1][:-1]
    assert documents == [line for line in expected if line]
    assert offsets == [sum(map(len, documents[:i])) for i in range(len(documents))]


@settings(deadline=None)
@given(bodies, st.sampled_from([b"\n", b"a", b"aa", b"aba", b"\n\n", b"ab\nab"]), st.integers(1, 12))
def test_separator(data, separator, block_bytes):
    documents, offsets = collect(read_text(io.BytesIO(data), ReaderOptions(separator=separator), block_bytes))
    assert documents == data.split(separator)
    assert separator.join(documents) == data
    for document, offset in zip(documents, offsets, strict=True):
        assert data[offset : offset + len(document)] == document


@pytest.mark.parametrize(
    ("options", "expected"),
    [(ReaderOptions(), [b""]), (ReaderOptions(lines=True), []), (ReaderOptions(separator=b"x"), [b""])],
)
def test_empty_file(options, expected):
    assert collect(read_text(io.BytesIO(b""), options, 8))[0] == expected
