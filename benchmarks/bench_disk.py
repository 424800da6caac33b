"""From a file to shards on disk, beside encoding the same documents in memory.

    python benchmarks/bench_disk.py CORPUS --vocabs DIRECTORY [--megabytes 100 400] [--threads 2 1] [--runs 5]
    python benchmarks/bench_disk.py CORPUS --vocab tok.json ...

For each number of threads and each way of cutting the text into documents (the whole file; about 10 kB each, by a
separator; lines) it takes turns, in one process: `encode_batch_to_numpy` over the documents held as bytes, and
`encode_dataset` from the file, which is in the page cache, to `.npy` shards with their index, manifest and checksums,
synced. Each side ends every document with the eos. The first pass of each has a tokenizer with empty caches, the one
after it finds them filled by the same text. The ids and the ends of documents of both are compared.

Printed are the medians of MB/s of both, and the median of the ratios of disk to memory, each of two passes that ran
one right after the other. The machine should have nothing else to do.
"""

import argparse
import gc
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from documents import warm
from encoders import read_ranks

import fastbpe
from fastbpe.corpus.sources import Files
from fastbpe.tokenizer import Tokenizer

WAYS = ("file", "separator", "lines")
DOCUMENT_BYTES = 10_000
SEPARATOR = b"\n<<<>>>\n"
EOS = "<|endoftext|>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vocab", default="cl100k_base", help="a name in --vocabs, or a tokenizer's own file")
    parser.add_argument("--vocabs", type=Path, help="a directory with cl100k_base.tiktoken")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[100], help="how much of the corpus")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--ways", choices=WAYS, nargs="+", default=WAYS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scratch", type=Path, default=None, help="where the text and the shards lie for a while")
    arguments = parser.parse_args()
    tokenizer = tokenizer_of(arguments)
    for megabytes in arguments.megabytes:
        with arguments.corpus.open("rb") as file:
            data = file.read(int(megabytes * 1e6))
        print(f"{arguments.corpus.name}, {len(data) / 1e6:.1f} MB, {Path(arguments.vocab).name}: MB/s, medians")
        print("threads  documents     first: memory  disk  ratio    later: memory  disk  ratio")
        for way in arguments.ways:
            with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
                shape = Shape(data, way, Path(scratch))
                for threads in arguments.threads:
                    rounds = [one_round(tokenizer, shape, threads, number) for number in range(arguments.runs)]
                    report(threads, way, len(data), rounds)


def tokenizer_of(arguments: argparse.Namespace) -> Tokenizer:
    if Path(arguments.vocab).is_file():
        loaded = fastbpe.load(arguments.vocab)
        return loaded if EOS in loaded.special_tokens else loaded.with_special_tokens([EOS], eos_token=EOS)
    ranks = read_ranks((arguments.vocabs / f"{arguments.vocab}.tiktoken").read_bytes())
    return Tokenizer.from_ranks(ranks, "cl100k", {EOS: max(ranks.values()) + 1}, eos_token=EOS)


class Shape:
    """The text cut one way: a file, how it is read, and its documents."""

    def __init__(self, data: bytes, way: str, scratch: Path) -> None:
        self.scratch = scratch
        self.path = scratch / "corpus.txt"
        options: dict[str, Any] = {}
        if way == "file":
            self.documents = [data]
        elif way == "lines":
            self.documents = lines_of(data)
            options["lines"] = True
        else:
            self.documents = about(data, DOCUMENT_BYTES)
            options["separator"] = SEPARATOR
            data = SEPARATOR.join(self.documents)
        self.path.write_bytes(data)
        self.source: Files = fastbpe.files(self.path, **options)


def lines_of(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def about(data: bytes, size: int) -> list[bytes]:
    """Documents of about `size` bytes, cut behind newlines."""
    found, start = [], 0
    while start < len(data):
        stop = data.find(b"\n", start + size) + 1 or len(data)
        found.append(data[start:stop])
        start = stop
    return found


def one_round(tokenizer: Tokenizer, shape: Shape, threads: int, number: int) -> dict[str, float]:
    """Seconds of both sides, with caches empty and filled."""
    ids: list[Any] = []

    def memory(tokenizer: Tokenizer) -> None:
        ids[:] = tokenizer.encode_batch_to_numpy(shape.documents, add_eos=True, threads=threads)

    def disk(tokenizer: Tokenizer) -> None:
        fastbpe.encode_dataset(tokenizer, shape.source, shape.scratch / "shards", eos_token=EOS, threads=threads)

    sides = {"memory": memory, "disk": disk}
    order = list(sides) if number % 2 == 0 else list(sides)[::-1]
    anew = {side: Tokenizer(tokenizer.model) for side in order}
    taken = {}
    for which in ("first", "later"):
        for side in order:
            anew[side].encode("a")  # its tables are made when first needed: that is loading
            if side == "memory":
                ids.clear()
            else:
                shutil.rmtree(shape.scratch / "shards", ignore_errors=True)
                warm(shape.path)
            taken[f"{which} {side}"] = seconds(sides[side], anew[side])
        check(ids, shape.scratch / "shards")
    ids.clear()
    return taken


def seconds(work: Callable[[Tokenizer], None], tokenizer: Tokenizer) -> float:
    gc.collect()
    started = time.perf_counter()
    work(tokenizer)
    return time.perf_counter() - started


def check(ids: list[Any], directory: Path) -> None:
    """Raises ValueError unless the shards hold these ids and documents."""
    expected, offsets = ids
    shards = fastbpe.TokenShards(directory)
    at = documents = 0
    for number in range(len(shards.manifest.shards)):
        tokens, ends = shards.shard(number)
        n = len(ends)
        same = np.array_equal(tokens, expected[at : at + len(tokens)])
        if not same or not np.array_equal(ends + at, offsets[documents + 1 : documents + n + 1]):
            raise ValueError(f"{directory}: shard {number} is not what encoding in memory gives")
        at, documents = at + len(tokens), documents + n
    if (at, documents) != (len(expected), len(offsets) - 1):
        raise ValueError(f"{directory}: {at} tokens, {documents} documents, not {len(expected)}, {len(offsets) - 1}")


def report(threads: int, way: str, n_bytes: int, rounds: list[dict[str, float]]) -> None:
    cells = []
    for which in ("first", "later"):
        speeds = {
            side: statistics.median(n_bytes / 1e6 / taken[f"{which} {side}"] for taken in rounds)
            for side in ("memory", "disk")
        }
        ratio = statistics.median(taken[f"{which} memory"] / taken[f"{which} disk"] for taken in rounds)
        cells.append(f"{speeds['memory']:13.0f}  {speeds['disk']:4.0f}   {ratio:.2f}")
    print(f"{threads:<7}  {way:<11} {cells[0]:>27}  {cells[1]:>27}", flush=True)


if __name__ == "__main__":
    main()
