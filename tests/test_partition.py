import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.sources import Corpus
from fastbpe.pipeline import partition
from fastbpe.pipeline.partition import deal, partitioned


def documents_of(blocks):
    """Documents with what their addresses say, and that the blocks' positions follow one another."""
    documents, current, address, position = [], b"", None, 0
    for block in blocks:
        assert block.position == position
        position += len(block.data)
        start = 0
        for i, end in enumerate([*block.ends.tolist(), *([len(block.data)] if block.open else [])]):
            address = address or block.address(i, 0)
            current += block.data[start:end].tobytes()
            if i < len(block.ends):
                documents.append((current, address.document))
                current, address = b"", None
            start = end
    assert current == b""
    return documents


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(1, 15), st.floats(0.01, 0.9), st.integers(1, 8))
def test_every_document_goes_its_way(documents, block_bytes, fraction, hashed):
    before = partition.HASHED_BYTES
    partition.HASHED_BYTES = hashed
    try:
        dealt = list(partitioned(Corpus(iter(documents)).blocks(block_bytes), fraction))
    finally:
        partition.HASHED_BYTES = before
    for split in (0, 1):
        expected = [(d, i) for i, d in enumerate(documents) if deal(d[:hashed], fraction) == split]
        assert documents_of(parts[split] for parts in dealt if parts[split] is not None) == expected


def test_the_fraction_is_about_what_was_asked_for():
    choices = np.array([deal(str(i).encode(), 0.1) for i in range(5000)])
    assert 400 < (choices == 0).sum() < 600
    assert all(deal(str(i).encode(), 0.2) == 0 for i in np.flatnonzero(choices == 0))
