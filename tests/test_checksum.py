import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.blocks import pack
from fastbpe.corpus.sources import Corpus
from fastbpe.pipeline.checksum import Checksum, checksums

documents = st.lists(st.binary(max_size=6), max_size=8)


def of(documents, block_bytes):
    parts = ((block,) for block in Corpus(documents).blocks(block_bytes))
    return checksums(parts, 1, lambda n: None)


@given(documents, documents, st.integers(1, 20))
def test_the_same_documents_in_any_blocks(one, other, block_bytes):
    assert of(one, block_bytes) == of(one, 1 << 20)
    assert (of(one, block_bytes) == of(other, block_bytes)) == (one == other)


def test_splits_and_what_was_read():
    read = []
    blocks = list(Corpus([b"ab", b"c"]).blocks(2))
    found = checksums(((None, block) for block in blocks), 2, read.append)
    assert found == [Checksum().hex(), of([b"ab", b"c"], 9)[0]]
    assert sum(read) == 3
    assert list(pack([])) == [] and checksums([], 1, read.append) == [Checksum().hex()]


def test_ends_of_another_type_are_the_same():
    one, two = Checksum(), Checksum()
    one.add(np.frombuffer(b"abc", np.uint8), np.array([1, 3], np.int64))
    two.add(np.frombuffer(b"abc", np.uint8), np.array([1, 0, 3, 0], np.int64)[::2])
    assert one.state() == two.state()
