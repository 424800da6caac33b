"""Blocks back to the documents that they were cut from."""

from collections.abc import Iterable

from fastbpe.corpus.blocks import Block


def documents_of(blocks: Iterable[Block]) -> list[bytes]:
    """The documents' text; the last one must have its end."""
    documents, current = [], b""
    for block in blocks:
        start = 0
        for end in block.ends.tolist():
            documents.append(current + block.data[start:end].tobytes())
            current, start = b"", end
        current += block.data[start:].tobytes()
    assert not current
    return documents
