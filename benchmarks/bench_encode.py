"""Encoding and decoding, by pytest-benchmark, on the text file CORPUS or the standard library's sources.

CORPUS=~/corpora/code_100m.txt python -m pytest benchmarks/bench_encode.py --benchmark-enable

The vocabulary (32,768 ids, cl100k) is trained on the text itself. `first` has a new tokenizer each round, as a corpus
that is encoded once sees it; `warm` finds its chunks in the cache.
"""

import os
import random
import string
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import fastbpe
from fastbpe.tokenizer import Tokenizer

MOST_BYTES = 100_000_000
MEGABYTE = 1_000_000
DOCUMENTS = 10_000


@pytest.fixture(scope="session")
def data() -> bytes:
    if "CORPUS" in os.environ:
        with Path(os.environ["CORPUS"]).expanduser().open("rb") as file:
            return file.read(MOST_BYTES)
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return b"".join(source.read_bytes() for source in sources) * 4


@pytest.fixture(scope="session")
def documents(data: bytes) -> list[str]:
    step = max(len(data) // DOCUMENTS, 1)
    found, start = [], 0
    while start < len(data):
        stop = data.find(b"\n", start + step) + 1 or len(data)
        found.append(data[start:stop].decode(errors="replace"))
        start = stop
    return found


@pytest.fixture(scope="session")
def trained(documents: list[str]) -> Tokenizer:
    return fastbpe.train(documents, 32768)


def anew(tok: Tokenizer) -> Tokenizer:
    """The tokenizer with empty caches, and its tables built."""
    made = Tokenizer(tok.model)
    made.encode("a")
    return made


def sized(benchmark, n_bytes: int) -> None:
    """Adds the size, so that seconds can be turned into MB/s."""
    benchmark.extra_info["megabytes"] = n_bytes / 1e6


@pytest.mark.parametrize("threads", [1, 2])
def test_batch_first(benchmark, trained, documents, data, threads):
    sized(benchmark, len(data))
    benchmark.pedantic(
        lambda tok: tok.encode_batch_to_numpy(documents, threads=threads),
        setup=lambda: ((anew(trained),), {}),
        rounds=5,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_batch_warm(benchmark, trained, documents, data, threads):
    sized(benchmark, len(data))
    tok = anew(trained)
    benchmark.pedantic(
        tok.encode_batch_to_numpy, args=(documents,), kwargs={"threads": threads}, rounds=5, warmup_rounds=1
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_one_long_text_first(benchmark, trained, data, threads):
    sized(benchmark, len(data))
    text = data.decode(errors="replace")
    benchmark.pedantic(
        lambda tok: tok.encode_batch_to_numpy([text], threads=threads),
        setup=lambda: ((anew(trained),), {}),
        rounds=3,
    )


def test_short_text(benchmark, trained):
    benchmark(trained.encode, "Hello, world! It is s")


def test_decode(benchmark, trained, data):
    sized(benchmark, len(data))
    ids = trained.encode_to_numpy(data)
    benchmark.pedantic(trained.decode_bytes, args=(ids,), rounds=5)


@pytest.mark.parametrize("pattern", ["cl100k", None])
@pytest.mark.parametrize("text", ["a", " ", "letters", "😀"])
def test_a_megabyte_without_a_place_to_cut(benchmark, trained, pattern, text):
    if text == "letters":
        text = "".join(random.Random(0).choices(string.ascii_lowercase, k=MEGABYTE))
    else:
        text *= MEGABYTE // len(text.encode())
    tok = anew(Tokenizer.from_merges(trained.merges, pattern=pattern))
    ids = benchmark.pedantic(tok.encode_to_numpy, args=(text,), rounds=3)
    assert tok.decode(ids) == text and ids.dtype == np.uint32
