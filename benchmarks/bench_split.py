"""Chunk ends of every named pattern, on one core, beside the regex module and Hugging Face's Split pre-tokenizer.

python benchmarks/bench_split.py ~/corpora/code_100m.txt ~/corpora/en_100m.txt ~/corpora/zh.txt [--bytes 100000000]

The other two get the first two million bytes, as they take hundreds of times as long; a rate does not depend on that.
Processor seconds of the thread, best of three. A dash: the engine cannot run that pattern.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import regex

from fastbpe.pattern.named import NAMED
from fastbpe.pattern.spelling import oniguruma
from fastbpe.pattern.splitter import Splitter

SLICE = 2_000_000


def rate(run: Callable[[], object], n_bytes: int) -> str:
    seconds = []
    for _ in range(3):
        start = time.thread_time()
        run()
        seconds.append(time.thread_time() - start)
    megabytes = n_bytes / min(seconds) / 1e6
    return f"{megabytes:.0f}" if megabytes > 10 else f"{megabytes:.1f}"


def by_regex(pattern: str, text: str) -> str:
    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return "-"
    return rate(lambda: [match.end() for match in compiled.finditer(text)], len(text.encode()))


def by_split(pattern: str, text: str) -> str:
    try:
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import Split
    except ImportError:
        return "-"
    spelling = oniguruma(pattern).text
    if spelling is None:
        return "-"
    split = Split(Regex(spelling), "isolated")
    return rate(lambda: split.pre_tokenize_str(text), len(text.encode()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--bytes", type=int, default=100_000_000, help="of each corpus, at most")
    parser.add_argument("--alone", action="store_true", help="leave the other engines out")
    options = parser.parse_args()
    print("MB/s".ljust(20), "pattern   fastbpe   regex   Split   bytes per chunk")
    for path in options.corpus:
        data = np.fromfile(path, np.uint8, options.bytes)
        text = data[:SLICE].tobytes().decode(errors="ignore")
        for name, pattern in NAMED.items():
            if pattern is None:
                continue
            splitter = Splitter(name)
            ours = rate(partial(splitter.ends, data), len(data))
            others = ("", "") if options.alone else (by_regex(pattern, text), by_split(pattern, text))
            mean = len(data) / len(splitter.ends(data))
            print(f"{path.name:20} {name:9} {ours:>7} {others[0]:>7} {others[1]:>7} {mean:10.2f}", flush=True)


if __name__ == "__main__":
    main()
