from fastbpe.corpus.sources import Corpus
from fastbpe.pipeline.documents import documents_of
from fastbpe.pipeline.invalid import InvalidBytes


def texts(parts):
    return [block.data.tobytes() for block in parts if block is not None]


def test_one_split_or_two():
    documents = [f"document {i}" for i in range(50)]
    alone = [texts(parts) for parts in documents_of(Corpus(documents), 40)]
    assert b"".join(text for part in alone for text in part) == "".join(documents).encode()
    assert {len(parts) for parts in documents_of(Corpus(documents), 40, val_fraction=0.5)} == {2}


def test_replaced_before_all_else():
    found = InvalidBytes()
    parts = list(documents_of(Corpus([b"a\xff", b"b"]), 40, "replace", 1, 0.0, found))
    assert sorted(b"".join(texts(part)[0] for part in parts).decode()) == ["a", "b", "\ufffd"]
    assert found.count == 1
