"""Samples: whole documents, never too many bytes, the same with any blocks and threads."""

import tempfile
from pathlib import Path
from unittest.mock import patch

import fsspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastbpe
from fastbpe.corpus.sources import Corpus
from fastbpe.errors import ParameterError
from fastbpe.pipeline.progress import Progress
from fastbpe.pipeline.sample import Sample, documents, sample_of

texts = st.lists(st.text("ab\n é", max_size=12).map(str.encode), max_size=30)


def taken(source, max_bytes: int, seed: int | None = None, block_bytes: int = 1 << 20) -> tuple[list[bytes], list[str]]:
    """The documents of a sample, and the address of each."""
    read = Corpus.blocks
    with patch.object(Corpus, "blocks", lambda self: read(self, block_bytes)):
        corpus = Corpus(source)
        sample = sample_of(corpus, max_bytes, seed, Progress())
        found, addresses, rest, position = [], [], b"", 0
        for block in sample.blocks(corpus.blocks()):
            assert block.position == position
            position += len(block.data)
            start = 0
            for number, end in enumerate([*block.ends.tolist(), len(block.data)]):
                if number or not rest:
                    addresses.append(str(block.address(number, 0)) if number < len(block.ends) or block.open else "")
                rest += block.data[start:end].tobytes()
                start = end
                if number < len(block.ends):
                    found.append(rest)
                    rest = b""
            if not block.open:
                addresses.pop()
        assert not rest
    return found, addresses


def mix(x: int) -> int:
    x = x * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def expected(given: list[bytes], max_bytes: int, seed: int, size: int) -> list[int]:
    """The rule, in plain Python."""
    found, total = [], 0
    for i, document in enumerate(given):
        chosen = size <= max_bytes or mix((mix(seed) + i) % 2**64) < max_bytes * 2**64 // size
        if chosen and total + len(document) <= max_bytes and (total < max_bytes or size <= max_bytes):
            found.append(i)
            total += len(document)
    return found


@given(texts, st.integers(1, 200), st.integers(0, 2**70), st.sampled_from([1, 3, 17, 1 << 20]))
def test_a_list(given: list[bytes], max_bytes: int, seed: int, block_bytes: int) -> None:
    numbers = expected(given, max_bytes, seed % 2**64, sum(map(len, given)))
    found, addresses = taken(given, max_bytes, seed, block_bytes)
    assert found == [given[i] for i in numbers]
    assert addresses == [f"documents given, document {i}, byte 0" for i in numbers]


@given(texts, st.integers(1, 200), st.integers(0, 9), st.sampled_from([1, 3, 17, 1 << 20]), st.booleans())
def test_files(given: list[bytes], max_bytes: int, seed: int, block_bytes: int, whole: bool) -> None:
    given = [document.replace(b"\n", b"") for document in given] or [b""]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "corpus")
        if whole:
            path.mkdir()
            for i, document in enumerate(given):
                (path / f"{i:03}").write_bytes(document)
            size = sum(map(len, given))
        else:
            path.write_bytes(b"\n".join(given))
            size = path.stat().st_size
        numbers = expected(given, max_bytes, seed, size)
        found, addresses = taken(fastbpe.files(path, separator=None if whole else "\n"), max_bytes, seed, block_bytes)
    assert found == [given[i] for i in numbers]
    if whole:
        assert [address.split(",")[0] for address in addresses] == [f"{path}/{i:03}" for i in numbers]
    else:
        assert [int(address.split()[-3].strip(",")) for address in addresses] == numbers


@given(texts, st.integers(1, 100), st.integers(1, 20) | st.just(1 << 20))
@example([b"aa", b"x" * 13, b"b", b"cc"], 14, 10)
def test_the_first_documents_of_what_is_read_once(given: list[bytes], max_bytes: int, block_bytes: int) -> None:
    total, first = 0, []
    for document in given:
        total += len(document)
        if total > max_bytes:
            break
        first.append(document)
        if total == max_bytes:
            break
    assert taken(iter(given), max_bytes, None, block_bytes)[0] == first
    with pytest.raises(ParameterError, match="sample_seed"):
        sample_of(Corpus(iter(given)), max_bytes, 1, Progress())


def test_an_endless_source_comes_to_an_end() -> None:
    def endless():
        while True:
            yield "text "

    assert len(taken(endless(), 99)[0]) == 19


@pytest.mark.parametrize("max_bytes", [1_500_000, 1_500_001])
@pytest.mark.parametrize("remote", [True, False])
def test_what_was_read_to_take_it_is_the_same_in_every_run(tmp_path: Path, remote: bool, max_bytes: int) -> None:
    """Whether the last document fills it or the next one does not fit."""
    system = fsspec.filesystem("memory")
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"four\n" * 2_000_000)
        system.pipe_file(f"/sample/{name}", b"four\n" * 2_000_000)
    try:
        counts = fastbpe.count_chunks(
            fastbpe.files("memory://sample" if remote else tmp_path, lines=True), max_bytes=max_bytes, threads=1
        )
    finally:
        system.rm("/sample", recursive=True)
    assert counts.corpus.n_bytes == 1_500_000
    read = sum(source["bytes"] for source in counts.sources)
    assert read <= 4 << 20 if remote else read == 20_000_000  # a few blocks, none of them ahead


@given(texts, st.data(), st.sampled_from([2, 7, 1 << 20]))
def test_documents_of_a_block(given: list[bytes], data: st.DataObject, block_bytes: int) -> None:
    for block in Corpus(iter(given)).blocks(block_bytes):
        n = len(block.ends) + block.open
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
        kept = np.flatnonzero(mask)
        part = documents(block, kept)
        starts = [0, *block.ends.tolist()]
        stops = [*block.ends.tolist(), len(block.data)]
        assert part.data.tobytes() == b"".join(block.data[starts[i] : stops[i]].tobytes() for i in kept)
        assert len(part.ends) == sum(kept < len(block.ends))
        assert [part.address(i, 0) for i in range(len(kept))] == [block.address(int(i), 0) for i in kept]


def test_shares_are_about_right() -> None:
    words = [b"%07d" % i for i in range(20_000)]
    sizes = []
    for seed in range(5):
        found = taken(words, 14_000, seed)[0]
        sizes.append(len(found))
        assert len(set(found)) == len(found)
        assert 300 < sum(int(word) < 4000 for word in found) < 500, "from all of the text"
    assert all(1800 < n <= 2000 for n in sizes)
    assert taken(words, 14_000, 1)[0] != taken(words, 14_000, 2)[0]


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_of_a_sample(tmp_path: Path, threads: int) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "the cat"}\n{"text": "a dog"}\n' * 50)
    source = fastbpe.files(tmp_path)
    counts = fastbpe.count_chunks(source, max_bytes=100, sample_seed=3, threads=threads)
    found = taken(source, 100, 3)[0]
    assert 50 < sum(map(len, found)) <= 100
    assert counts == fastbpe.count_chunks(found)
    assert counts.corpus.n_bytes == sum(map(len, found))
    sample = {"max_bytes": 100, "seed": 3, "of_bytes": 600}
    assert counts.sources[0]["sample"] == sample
    assert fastbpe.train(counts, 258).record["corpus"]["sample"] == [sample]


def test_files_that_are_not_chosen_are_not_opened(tmp_path: Path) -> None:
    for i in range(100):
        (tmp_path / f"{i:03}.txt").write_text("a document")
    corpus = Corpus(tmp_path)
    counts = fastbpe.count_chunks(corpus, max_bytes=200)
    assert counts.corpus.documents == corpus.reports[0].files <= 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_bytes": "much"}, "max_bytes='much'"),
        ({"max_bytes": 0}, "max_bytes=0"),
        ({"sample_seed": 1}, "give max_bytes"),
        ({"max_bytes": "1MB", "sample_seed": -1}, "sample_seed=-1"),
        ({"max_bytes": "1MB", "sample_seed": True}, "sample_seed=True"),
        ({"max_bytes": 5}, "takes no document"),
    ],
)
def test_what_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fastbpe.count_chunks(["a document"], **options)


def test_a_sample_knows_what_to_expect() -> None:
    assert Sample(100, None, None).expected is None
    assert Sample(100, None, 50).expected == 50
    assert Sample(100, 7, 500).expected == 100
