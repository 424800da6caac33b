"""Counting and what it stands on, by pytest-benchmark, on the text file CORPUS or the standard library's sources.

CORPUS=~/corpora/code_100m.txt python -m pytest benchmarks/bench_count.py --benchmark-enable
"""

import os
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fastbpe.corpus.sources import Corpus
from fastbpe.counts import ChunkCounts
from fastbpe.kernels.count import Counter
from fastbpe.kernels.split import split_ends
from fastbpe.kernels.utf8 import count_invalid
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.count import count_chunks
from fastbpe.pipeline.stretches import Stretch, stretches

MOST_BYTES = 100_000_000


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "CORPUS" in os.environ:
        return Path(os.environ["CORPUS"]).expanduser()
    path = tmp_path_factory.mktemp("corpus") / "library.txt"
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    path.write_bytes(b"".join(source.read_bytes() for source in sources) * 4)
    return path


@pytest.fixture(scope="session")
def splitter() -> Splitter:
    return Splitter("cl100k")


@pytest.fixture(scope="session")
def work(corpus: Path, splitter: Splitter) -> list[Stretch]:
    found, size = [], 0
    for stretch in stretches(Corpus(corpus).blocks(), splitter):
        found.append(stretch)
        size += stretch.stop
        if size >= MOST_BYTES:
            break
    return found


@pytest.fixture(autouse=True)
def rate(request: pytest.FixtureRequest, corpus: Path):
    """Adds the size, so that seconds can be turned into MB/s."""
    if "benchmark" in request.fixturenames:
        size = min(corpus.stat().st_size, MOST_BYTES)
        request.getfixturevalue("benchmark").extra_info["megabytes"] = size / 1e6


def add_all(work: list[Stretch], splitter: Splitter, threads: int, ends: list[np.ndarray] | None) -> Counter:
    counter = Counter()

    def add(k: int) -> None:
        stretch = work[k]
        table = splitter.table if ends is None else None
        counter.add(stretch.data, stretch.spans, stretch.position, table, None if ends is None else ends[k])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, range(len(work))))
    return counter


@pytest.mark.benchmark(group="count: given ends")
@pytest.mark.parametrize("threads", [1, 2])
def test_count_given_ends(benchmark, work: list[Stretch], splitter: Splitter, threads: int) -> None:
    ends = [split_ends(stretch.data, stretch.spans, splitter.table) for stretch in work]
    benchmark.pedantic(add_all, (work, splitter, threads, ends), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="count: split and count")
@pytest.mark.parametrize("threads", [1, 2])
def test_split_and_count(benchmark, work: list[Stretch], splitter: Splitter, threads: int) -> None:
    benchmark.pedantic(add_all, (work, splitter, threads, None), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="count: finish")
def test_finish(benchmark, work: list[Stretch], splitter: Splitter) -> None:
    benchmark.pedantic(
        Counter.finish, setup=lambda: ((add_all(work, splitter, 1, None),), {}), rounds=3, warmup_rounds=1
    )


@pytest.mark.benchmark(group="count: from a file")
@pytest.mark.parametrize("threads", [1, 2])
def test_count_chunks(benchmark, corpus: Path, threads: int) -> None:
    counts = benchmark.pedantic(count_chunks, (corpus,), {"threads": threads}, rounds=3, warmup_rounds=1)
    benchmark.extra_info["megabytes"] = corpus.stat().st_size / 1e6
    benchmark.extra_info["distinct chunks"] = len(counts)


@pytest.mark.benchmark(group="count: parts")
def test_units(benchmark, corpus: Path, splitter: Splitter) -> None:
    benchmark(lambda: sum(stretch.stop for stretch in stretches(Corpus(corpus).blocks(), splitter)))


@pytest.mark.benchmark(group="count: parts")
def test_utf8(benchmark, work: list[Stretch]) -> None:
    def check() -> None:
        for stretch in work:
            count_invalid(stretch.data[: stretch.stop], np.array([stretch.stop]))

    benchmark(check)


@pytest.mark.benchmark(group="count: adding tables")
def test_sum(benchmark, work: list[Stretch], splitter: Splitter) -> None:
    counts = ChunkCounts(*add_all(work, splitter, 1, None).finish())
    benchmark.extra_info["rows"] = len(counts)
    benchmark(lambda: counts + counts)
