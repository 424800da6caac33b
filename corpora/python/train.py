"""Trains on the Python source of this machine: vocabularies of 8,192 and 16,384 ids from 1 MB and from 10 MB.

    python -m corpora.python.train [DIRECTORY...] [-o DIRECTORY]

Read are all .py files below the directories, without any those of the running Python and its packages, in a random
order that is the same every time, each content once. The last megabyte is kept out of the trainings and measured with.
Special tokens, pattern and ties are AL-1's (see examples/al1.py). With -o the tokenizers are saved.

The figures are those of your machine's files: compare them within one run.
"""

import argparse
import random
import sysconfig
import time
from pathlib import Path

import fastbpe
from examples.printing import table

SPECIALS = ["<pad>", "<bos>", "<eos>", "<tool_call>", "</tool_call>", "<tool_result>"]
MEGABYTE = 1_000_000
SIZES = (8_192, 16_384)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 10], help="how much to train on")
    options = parser.parse_args(arguments)
    paths = sysconfig.get_paths()
    texts = sources(options.directories or [Path(paths["stdlib"]), Path(paths["purelib"])])
    unseen = up_to(MEGABYTE, texts[::-1])
    texts = texts[: len(texts) - len(unseen)]
    print(
        f"{len(texts):,} files of {sum(map(len, texts)) / MEGABYTE:.1f} MB to train on, {len(unseen):,} to measure with"
    )

    rows: list[list[object]] = [["MB", "files", "chunks", "distinct", "ids", "bytes/token", "last count", "seconds"]]
    for megabytes in options.megabytes:
        part = up_to(int(megabytes * MEGABYTE), texts)
        started = time.perf_counter()
        counts = fastbpe.count_chunks(part, pattern="al1", special_tokens=SPECIALS)
        largest = trained(counts, max(SIZES))
        seconds = time.perf_counter() - started
        for size in SIZES:
            tokenizer = largest.truncate(min(size, largest.vocab_size))  # what training to that size would have given
            tokens = sum(map(len, tokenizer.encode_batch(unseen)))
            assert tokenizer.model.counts is not None
            row = [len(part), counts.total, len(counts), tokenizer.vocab_size, f"{sum(map(len, unseen)) / tokens:.3f}"]
            rows.append([f"{megabytes:g}", *row, int(tokenizer.model.counts[-1]), f"{seconds:.2f}"])
            if options.output is not None:
                options.output.mkdir(parents=True, exist_ok=True)
                tokenizer.save(options.output / f"python-{megabytes:g}mb-{size}.json")
    print("\n".join(table(rows)))


def sources(directories: list[Path]) -> list[bytes]:
    """The contents of the .py files that are UTF-8, each once, shuffled."""
    texts: dict[bytes, None] = {}
    for path in sorted({path for directory in directories for path in directory.rglob("*.py") if path.is_file()}):
        content = path.read_bytes()
        if content and is_utf8(content):
            texts[content] = None
    shuffled = sorted(texts)  # by content, so that where the files lie does not matter
    random.Random(0).shuffle(shuffled)
    return shuffled


def is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def up_to(size: int, texts: list[bytes]) -> list[bytes]:
    """The first texts, as many as make up the size."""
    total, n = 0, 0
    while n < len(texts) and total < size:
        total += len(texts[n])
        n += 1
    return texts[:n]


def trained(counts: fastbpe.ChunkCounts, vocab_size: int) -> fastbpe.Tokenizer:
    return fastbpe.train(
        counts,
        vocab_size,
        special_tokens=SPECIALS,
        special_placement="first",
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        tie_break="first",
    )


if __name__ == "__main__":
    main()
