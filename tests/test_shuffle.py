from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.sources import read_blocks
from fastbpe.pipeline import shuffle
from fastbpe.pipeline.shuffle import shuffled


def documents_of(blocks):
    documents, current = [], b""
    for block in blocks:
        start = 0
        for i, end in enumerate(block.ends.tolist()):
            documents.append((current + block.data[start:end].tobytes(), block.address(i, 0).document))
            current, start = b"", end
        current += block.data[start:].tobytes()
    return documents


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(1, 15), st.integers(1, 15), st.integers(0, 9))
def test_the_same_documents_whatever_the_blocks(documents, block_bytes, other_bytes, seed):
    found = documents_of(shuffled(read_blocks(iter(documents), block_bytes), seed, other_bytes))
    assert sorted(found, key=lambda pair: pair[1]) == [(d, i) for i, d in enumerate(documents)]
    assert found == documents_of(shuffled(read_blocks(iter(documents), other_bytes), seed, 1 << 20))


def test_the_buffer_is_bounded(monkeypatch):
    monkeypatch.setattr(shuffle, "BUFFER_BYTES", 50)
    taken = 0

    def documents():
        nonlocal taken
        for i in range(100):
            taken = i
            yield b"0123456789"

    first = next(shuffled(read_blocks(documents(), 10), 1, 10))
    assert len(first.ends) == 1
    assert taken < 12
