from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.sources import Corpus, files
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
    found = documents_of(shuffled(Corpus(iter(documents)).blocks(block_bytes), seed, other_bytes))
    assert sorted(found, key=lambda pair: pair[1]) == [(d, i) for i, d in enumerate(documents)]
    assert found == documents_of(shuffled(Corpus(iter(documents)).blocks(other_bytes), seed, 1 << 20))


def test_addresses_of_several_sources(tmp_path):
    """Those of the blocks that came in, whatever lies together in those that go out."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(f'{{"text": "{name}{i}"}}\n' for i in range(1, 40)))
    (tmp_path / "d.txt").write_text("|".join(f"d{i}" for i in range(30)))
    blocks = list(Corpus(files(tmp_path / "*.jsonl")).blocks(20))
    blocks += Corpus(files(tmp_path / "d.txt", separator="|")).blocks(20)
    found = set()
    for block in shuffled(blocks, 1, 100):
        start = 0
        for i, end in enumerate(block.ends.tolist()):
            address = block.address(i, 0)
            found.add((block.data[start:end].tobytes().decode(), address[0].rpartition("/")[2], *address[1:]))
            start = end
    expected = {(f"{name}{i}", f"{name}.jsonl", 2 * i - 1, 0, "line") for name in "abc" for i in range(1, 40)}
    places = [len("|".join(f"d{i}" for i in range(n))) + (n > 0) for n in range(30)]
    assert found == expected | {(f"d{i}", "d.txt", i, places[i], "document") for i in range(30)}


def test_the_buffer_is_bounded(monkeypatch):
    monkeypatch.setattr(shuffle, "BUFFER_BYTES", 50)
    taken = 0

    def documents():
        nonlocal taken
        for i in range(100):
            taken = i
            yield b"0123456789"

    first = next(shuffled(Corpus(documents()).blocks(10), 1, 10))
    assert len(first.ends) == 1
    assert taken < 12
