import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_documents import documents_of

from fastbpe.corpus.blocks import Piece, SourcePiece, pack


def cut(document: bytes, cuts: list[int]) -> list[bytes]:
    """A document in parts, some of them empty."""
    places = sorted(min(c, len(document)) for c in cuts)
    return [document[a:b] for a, b in zip([0, *places], [*places, len(document)], strict=True)]


sources = st.lists(st.tuples(st.binary(max_size=9), st.lists(st.integers(0, 9), max_size=3)), max_size=12)


@settings(deadline=None)
@given(sources, st.integers(1, 20))
def test_pack_keeps_documents_and_addresses(cut_documents, block_bytes):
    pieces = []
    for i, (document, cuts) in enumerate(cut_documents):
        parts = cut(document, cuts)
        at = 0
        for k, part in enumerate(parts):
            ends = [len(part)] if k == len(parts) - 1 else []
            pieces.append(SourcePiece(Piece(part, np.array(ends, np.int64), np.array([at])), f"file{i}", 0))
            at += len(part)
    blocks = list(pack(pieces, block_bytes))
    assert documents_of(blocks) == [document for document, _ in cut_documents]
    position = 0
    for block in blocks:
        assert block.position == position
        position += len(block.data)
        for at in range(len(block.data)):
            address = block.address_at(at)
            document = cut_documents[int(address.source[4:])][0]
            assert document[address.offset] == block.data[at]


def test_open_and_empty_documents():
    def piece(data, ends, starts):
        return SourcePiece(Piece(data, np.array(ends, np.int64), np.array(starts, np.int64)), "f", 0)

    blocks = list(pack([piece(b"abcd", [2, 2], [0, 3, 4]), piece(b"efgh", [0], [6]), piece(b"", [0], [10])], 4))
    assert [block.open for block in blocks] == [True, True, False]
    assert documents_of(blocks) == [b"ab", b"", b"cd", b"efgh"]
    assert str(blocks[0].address(2, 1)) == "f, document 2, byte 5"


def test_data_is_read_only_and_a_big_piece_is_not_copied():
    data = bytes(100)
    (block,) = pack([SourcePiece(Piece(data, np.array([100]), np.array([0])), "f", 0)], 10)
    assert not block.data.flags.writeable
    assert block.data.ctypes.data == np.frombuffer(data, np.uint8).ctypes.data
