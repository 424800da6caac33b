"""The main job, timed: train on a corpus, encode it to shards.

    python benchmarks/bench_main_job.py CORPUS [--vocab-size 32768] [--pattern cl100k] [--threads N] [--runs 3]

Prints, for each run, seconds and MB/s of every phase, bytes per token, and peak memory above what the process held
before it began. Training and encoding each run in a process of their own, so that neither warms the other's caches or
hides its memory. Shards go to a temporary directory, beside the corpus unless --scratch names another place.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fastbpe.pipeline.progress import Event


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--pattern", default="cl100k")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scratch", type=Path, default=None)
    parser.add_argument("--step", choices=["train", "encode"], help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        step = train if arguments.step == "train" else encode
        print(json.dumps(step(arguments)))
        return
    megabytes = arguments.corpus.stat().st_size / 1e6
    print(f"{arguments.corpus.name}: {megabytes:.1f} MB, {arguments.vocab_size:,} ids, pattern {arguments.pattern}")
    for run in range(1, arguments.runs + 1):
        with tempfile.TemporaryDirectory(dir=arguments.scratch or arguments.corpus.parent) as scratch:
            for name in ("train", "encode"):
                result = in_a_process(name, Path(scratch))
                report(run, name, megabytes, result)


def in_a_process(step: str, out: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, *sys.argv[1:], "--step", step, "--out", str(out)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return result


def report(run: int, name: str, megabytes: float, result: dict[str, Any]) -> None:
    seconds = result["seconds"]
    print(
        f"run {run} {name:<7} {seconds:6.2f} s  {megabytes / seconds:7.1f} MB/s  "
        f"cpu {result['cpu']:6.2f} s  peak memory {result['peak_mb']:,.0f} MB  {result['facts']}"
    )
    for phase, phase_seconds in result["phases"]:
        print(f"        {phase:<9} {phase_seconds:6.2f} s  {megabytes / phase_seconds:7.1f} MB/s")


class Timed:
    """Wall and processor seconds, peak memory, and the phases of one job."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, float]] = []
        self._memory = peak()
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def event(self, event: Event) -> None:
        if event.finished:
            self.phases.append((event.phase, event.seconds))

    def result(self, **facts: Any) -> dict[str, Any]:
        return {
            "seconds": time.perf_counter() - self._started,
            "cpu": time.process_time() - self._cpu,
            "peak_mb": peak() - self._memory,
            "phases": self.phases,
            "facts": ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items()),
        }


def peak() -> float:
    """Peak memory of this process so far, in MB."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    from fastbpe.pipeline.train import train as run

    timed = Timed()
    tokenizer = run(
        arguments.corpus,
        arguments.vocab_size,
        pattern=arguments.pattern,
        special_tokens=["<|endoftext|>"],
        eos_token="<|endoftext|>",
        threads=arguments.threads,
        progress=timed.event,
    )
    tokenizer.save(arguments.out / "tok.json")
    return timed.result(ids=f"{tokenizer.vocab_size:,}")


def encode(arguments: argparse.Namespace) -> dict[str, Any]:
    from fastbpe.formats import load
    from fastbpe.pipeline.encode import encode_dataset

    tokenizer = load(arguments.out / "tok.json")
    timed = Timed()
    manifest = encode_dataset(
        tokenizer,
        arguments.corpus,
        arguments.out / "shards",
        eos_token="<|endoftext|>",
        threads=arguments.threads,
        progress=timed.event,
    )
    return timed.result(bytes_per_token=f"{manifest.bytes / manifest.tokens:.2f}")


if __name__ == "__main__":
    main()
