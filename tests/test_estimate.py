"""Estimates: the right order of magnitude, from a little of the text."""

import gzip
import random
from pathlib import Path

import pytest

import fastbpe
from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline import estimate as module
from fastbpe.pipeline.estimate import Estimate, estimate


def count(documents) -> fastbpe.ChunkCounts:
    return fastbpe.count_chunks(documents, "gpt2", threads=1)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Text whose distinct chunks grow with the square root of it, about."""
    monkeypatch.setattr(module, "LOOK_BYTES", 20_000)
    monkeypatch.setattr(module, "PIECE_BYTES", 1000)
    chance = random.Random(1)
    folder = tmp_path / "corpus"
    folder.mkdir()
    for i in range(40):
        words = (f"w{int(1 / chance.random() ** 2)}" for _ in range(1000))
        (folder / f"{i:02}.txt").write_text(" ".join(words))
    return folder


def test_what_a_part_tells_of_the_whole(corpus: Path) -> None:
    counts = count(iter([path.read_bytes() for path in corpus.iterdir()]))
    found = estimate(fastbpe.files(corpus), count, 100, memory="100GB", threads=1)
    assert found.files == 40
    assert found.text_bytes == sum(path.stat().st_size for path in corpus.iterdir())
    assert found.looked_at <= 20_000
    assert len(counts) / 2 < found.distinct_chunks < 2 * len(counts)
    assert len(counts.data) / 2 < found.distinct_bytes < 2 * len(counts.data)
    assert found.memory_bound == 10**11 and found.disk_bytes == 0
    assert found.count_seconds > 0 and found.merge_seconds > 0


def test_a_look_at_all_there_is(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_BYTES", 10**9)
    monkeypatch.setattr(module, "LOOK_FILES", 1000)
    monkeypatch.setattr(module, "PIECE_BYTES", 10**9)
    counts = count(iter([path.read_bytes() for path in corpus.iterdir()]))
    found = estimate(fastbpe.files(corpus), count)
    assert (found.distinct_chunks, found.distinct_bytes) == (len(counts), len(counts.data))
    assert found.looked_at == found.text_bytes == counts.corpus.n_bytes
    assert found.merge_seconds is None


def test_one_file_cut_into_pieces(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_bytes(b"".join(file.read_bytes() for file in sorted(corpus.iterdir())))
    found = estimate(fastbpe.files(path), count, 10)
    assert found.looked_at == 20_000
    assert found.text_bytes == path.stat().st_size


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_text_inside_of_records(corpus: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"records{suffix}"
    texts = [file.read_text() for file in sorted(corpus.iterdir())]
    lines = "".join(f'{{"id": "{"0" * 1000}", "text": "{text}"}}\n' for text in texts).encode()
    path.write_bytes(gzip.compress(lines, mtime=0) if suffix == ".jsonl.gz" else lines)
    found = estimate(fastbpe.files(path), count)
    size = sum(map(len, texts))
    assert size / 1.5 < found.text_bytes < size * 1.5


def test_a_sample_and_a_bound(corpus: Path) -> None:
    found = estimate(fastbpe.files(corpus), count, 100, max_bytes="30kB")
    assert found.text_bytes == 30_000
    found = estimate(fastbpe.files(corpus), count, 100, memory=1)
    assert found.memory_bytes > 1 and found.disk_bytes > 0
    assert "more memory" in found.told()


def test_counts(corpus: Path) -> None:
    counts = count(iter([path.read_bytes() for path in corpus.iterdir()]))
    found = estimate(counts, count, 100)
    assert (found.distinct_chunks, found.distinct_bytes) == (len(counts), len(counts.data))
    assert found.text_bytes is None and found.merge_seconds > 0


def test_weights_are_those_of_the_job(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[fastbpe.ChunkCounts] = []

    def seconds(counts: fastbpe.ChunkCounts, *_: object) -> float:
        looked_at.append(counts)
        return 1.0

    monkeypatch.setattr(module, "_merge_seconds", seconds)
    source, weights = fastbpe.files(corpus), {"0?.txt": "2.5", str(corpus / "1?.txt"): "1/3"}
    estimate(source, count, 10, weights={str(corpus / "*"): 3})
    assert set(looked_at[0].counts % 3) == {0}, "files of which a part is read have their names still"
    monkeypatch.setattr(module, "LOOK_BYTES", 10**9)
    monkeypatch.setattr(module, "PIECE_BYTES", 10**9)
    estimate(source, count, 10, weights=weights)
    assert dict(looked_at[1].items()) == dict(fastbpe.count_chunks(source, "gpt2", weights=weights).items())
    with pytest.raises(ParameterError, match="is that of no source"):
        estimate(source, count, 10, weights={"zh/*": 2})


def test_rare_chunks_that_are_left_out_need_no_memory(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "resident_memory", lambda: 0)
    counts = count(iter([path.read_bytes() for path in corpus.iterdir()]))
    for source in (fastbpe.files(corpus), counts):
        whole, part = (estimate(source, count, 10, min_chunk_count=least, threads=1) for least in (1, 5))
        assert part.memory_bytes < whole.memory_bytes


def test_what_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="dry run"):
        estimate(fastbpe.files("-"), count)
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="nothing"):
        estimate(fastbpe.files(tmp_path), count)


def test_how_it_is_told() -> None:
    found = Estimate(3, 5 * 10**9, 10**7, 1_234_567, 10**7, 12.34, 7500.0, 10**9, 2 * 10**9, 0)
    assert found.told().splitlines() == [
        "text      5.0 GB in 3 files, 10.0 MB looked at",
        "counting  about 12 s",
        "chunks    about 1,200,000 distinct ones",
        "merging   about 2.1 h",
        "memory    about 1.0 GB of 2.0 GB allowed",
        "disk      no temporary files",
    ]
    assert found.as_json()["count_seconds"] == 12.3
