"""Measures one library once, in this process, and prints one JSON line. compare.py runs it; people may too.

    python benchmarks/measure.py train LIBRARY CORPUS [--vocab-size 32768] [--pattern gpt2] [--threads 2]
    python benchmarks/measure.py encode LIBRARY CORPUS --vocabs DIRECTORY [--vocab cl100k_base] [--threads 2]

train: from the file on disk to merges in memory. encode: from documents in memory (str) to ids, several passes over
the same documents in the same process: the first one finds every cache cold. Imports, loading a vocabulary and what
follows the result are outside the clock.

The process may use as many processors as `--threads` says, whatever the library would start. Peak memory is the
largest resident size while the clock ran; `before_mb` is what the process held when it started, imports and documents
included. MB are 10**6 bytes.
"""

import argparse
import contextlib
import gc
import hashlib
import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from documents import WAYS, warm

VOCABULARIES = ("cl100k_base", "o200k_base")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    for name in ("train", "encode"):
        task = tasks.add_parser(name)
        task.add_argument("library")
        task.add_argument("corpus", type=Path)
        task.add_argument("--threads", type=int, default=2)
    train = tasks.choices["train"]
    train.add_argument("--vocab-size", type=int, default=32768)
    train.add_argument("--pattern", default="gpt2")
    train.add_argument("--ties", help="fastbpe's tie_break; others have the one they have")
    train.add_argument("--documents", choices=WAYS, help="what is a document; only for libraries that take an iterable")
    train.add_argument("--save", type=Path, help="write the learned tokens there, a line each, in hexadecimal")
    encode = tasks.choices["encode"]
    encode.add_argument("--vocab", default=VOCABULARIES[0], help=f"{', '.join(VOCABULARIES)}, or fastbpe's own file")
    encode.add_argument("--vocabs", type=Path, help="directory made by prepare_vocabs.py")
    encode.add_argument("--documents", type=int, default=10_000, help="how many to cut the corpus into (1: one string)")
    encode.add_argument("--passes", type=int, default=3)
    encode.add_argument("--budget", type=float, default=60, help="seconds after which no further pass begins")
    encode.add_argument("--reference", type=Path, help="ids to compare with, after the passes")
    encode.add_argument("--save", type=Path, help="write the ids there, as a reference for others")
    arguments = parser.parse_args()
    use_processors(arguments.threads)
    result = {
        "task": arguments.task,
        "library": arguments.library,
        "corpus": arguments.corpus.name,
        "bytes": warm(arguments.corpus),
        "threads": arguments.threads,
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
    }
    try:
        result |= train_once(arguments) if arguments.task == "train" else encode_passes(arguments)
    except BaseException as error:  # Rust's panics are none of Exception
        result["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(result))
    sys.exit("error" in result)


def use_processors(n: int) -> None:
    """Confines this process to n processors, and tells those who read it from the environment. Before any import."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n:])
    os.environ["RAYON_NUM_THREADS"] = str(n)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if n > 1 else "false"
    os.environ["GIGABPE_STATS"] = "1"


def train_once(arguments: argparse.Namespace) -> dict[str, Any]:
    from trainers import TRAINERS, Job, phases_in

    trainer = TRAINERS[arguments.library]
    if arguments.pattern != "gpt2" and not trainer.any_pattern:
        raise ValueError(f"{arguments.library} takes no pattern")
    job = Job(
        corpus=arguments.corpus,
        vocab_size=arguments.vocab_size,
        pattern=arguments.pattern,
        threads=arguments.threads,
        ties=arguments.ties or trainer.ties,
        documents=arguments.documents or trainer.documents,
    )
    run, tokens = trainer.prepare(job)
    with quiet() as printed, Meter() as meter:
        raw = run()
    learned = tokens(raw)
    if arguments.save and learned is not None:
        arguments.save.write_text("".join(f"{token.hex()}\n" for token in learned))
    return {
        "version": installed(trainer.package),
        "pattern": job.pattern if trainer.any_pattern or arguments.library != "sentencepiece" else "its own",
        "vocab_size": job.vocab_size,
        "ties": job.ties,
        "documents": job.documents,
        **meter.result,
        "phases": {name: round(seconds, 3) for name, seconds in (job.phases | phases_in(trainer, printed())).items()},
        "merges": None if learned is None else len(learned),
        "digests": {} if learned is None else digests(learned),
    }


def digests(learned: list[bytes]) -> dict[int, str]:
    """A digest of the first 256, 512, .. tokens, and of all: two results can be compared as far as both go."""
    digest, found, at = hashlib.sha256(), {}, 256
    for n, token in enumerate(learned, 1):
        digest.update(len(token).to_bytes(8, "little") + token)
        if n == at or n == len(learned):
            found[n] = digest.hexdigest()[:16]
            at *= 1 + (n == at)
    return found


def encode_passes(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np
    from documents import cut
    from encoders import ENCODERS, Vocabulary

    encoder = ENCODERS[arguments.library]
    texts = cut(arguments.corpus.read_bytes(), arguments.documents)
    started = time.perf_counter()
    vocabulary = Vocabulary(arguments.vocab, arguments.vocabs)
    encode, ids = encoder.prepare(vocabulary, arguments.threads, len(texts) == 1)
    loaded = time.perf_counter() - started
    passes = []
    raw = None
    with quiet():
        for _ in range(arguments.passes):
            if sum(measured["seconds"] for measured in passes) > arguments.budget:
                break
            raw = None
            with Meter() as meter:
                raw = encode(texts)
            passes.append(meter.result)
    flat, offsets = ids(raw)
    result = {
        "version": installed(encoder.package),
        "vocab": Path(arguments.vocab).name,
        "documents": len(texts),
        "gives": encoder.gives,
        "load_seconds": round(loaded, 3),
        "seconds": [measured["seconds"] for measured in passes],
        "cpu_seconds": [measured["cpu_seconds"] for measured in passes],
        "peak_mb": max(measured["peak_mb"] for measured in passes),
        "before_mb": passes[0]["before_mb"],
        "tokens": int(offsets[-1]),
    }
    if arguments.save:
        np.savez(arguments.save, ids=flat, offsets=offsets)
    if arguments.reference:
        with np.load(arguments.reference) as reference:
            result["differing_documents"] = differing(flat, offsets, reference["ids"], reference["offsets"])
    return result


def differing(ids: Any, offsets: Any, expected_ids: Any, expected_offsets: Any) -> int:
    """How many documents have other ids than expected."""
    import numpy as np

    if len(offsets) != len(expected_offsets):
        return max(len(offsets), len(expected_offsets)) - 1
    if np.array_equal(offsets, expected_offsets) and np.array_equal(ids, expected_ids):
        return 0
    pairs = zip(np.split(ids, offsets[1:-1]), np.split(expected_ids, expected_offsets[1:-1]), strict=True)
    return sum(not np.array_equal(ours, theirs) for ours, theirs in pairs)


class Meter:
    """Seconds, processor seconds and peak memory of what runs inside it."""

    def __enter__(self) -> "Meter":
        gc.collect()
        with contextlib.suppress(OSError):  # Linux: the peak counts from here
            Path("/proc/self/clear_refs").write_text("5")
        self.result: dict[str, float] = {"before_mb": round(memory()[0], 1)}
        self._cpu, self._started = processor_seconds(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        seconds, cpu = time.perf_counter() - self._started, processor_seconds() - self._cpu
        self.result |= {"seconds": round(seconds, 4), "cpu_seconds": round(cpu, 3), "peak_mb": round(memory()[1], 1)}


def processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory() -> tuple[float, float]:
    """Resident size of this process now and at its peak, in MB; without /proc both are the peak since it began."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("Vm")}
        return sizes["VmRSS"], sizes["VmHWM"]
    except (OSError, KeyError):
        scale = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
        return peak, peak


@contextlib.contextmanager
def quiet() -> Iterator[Callable[[], str]]:
    """Keeps what native code prints off this process's output. Afterwards the function returns it."""
    with tempfile.TemporaryFile() as file:
        printed = ""
        sys.stdout.flush()
        sys.stderr.flush()
        saved = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: printed
        finally:
            for descriptor, old in zip((1, 2), saved, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            file.seek(0)
            printed = file.read().decode("utf-8", "replace")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # not installed but on the path: fastbpe, built in place
        import fastbpe

        return fastbpe.__version__


if __name__ == "__main__":
    main()
