"""What a training or a counting will take, from a look at a little of the text (--dry-run).

The first bytes of files that lie evenly in the corpus are counted, half of them and all of them: from how the distinct
chunks grow between the two follows, by Heaps' law, how many the whole will have. Time goes by what the look took.
"""

import functools
import math
import operator
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from fastbpe.corpus.sources import Corpus, Files, FileState
from fastbpe.corpus.walk import printable
from fastbpe.corpus.weights import Weights, WeightsLike
from fastbpe.counts import ChunkCounts
from fastbpe.errors import DataError, ParameterError
from fastbpe.merging import RULES, MergeRules, learn_merges, merging_need
from fastbpe.pipeline.bounded import THREAD_BYTES
from fastbpe.pipeline.checkpoint import SEGMENT_BYTES
from fastbpe.pipeline.memory import byte_size, memory_bound, resident_memory
from fastbpe.pipeline.progress import amount
from fastbpe.text import counted
from fastbpe.threads import thread_count

Piece = tuple[Fraction, bytes]
"""The weight of a text, and the text or a part of it."""

LOOK_BYTES = 32 << 20
LOOK_FILES = 128
PIECE_BYTES = 1 << 16
LOOK_ROWS = 100_000
ENTRY_BYTES = 64
"""Of a distinct chunk while it is counted: its entry, its place in the index, room to grow."""
ROW_BYTES = 24
"""Of a distinct chunk beside its bytes in a run."""


@dataclass(frozen=True)
class Estimate:
    """None: not known."""

    files: int | None
    text_bytes: int | None
    looked_at: int
    distinct_chunks: int
    distinct_bytes: int
    count_seconds: float
    merge_seconds: float | None
    memory_bytes: int
    memory_bound: int
    disk_bytes: int

    def as_json(self) -> dict[str, Any]:
        seconds = {"count_seconds": round(self.count_seconds, 1)}
        if self.merge_seconds is not None:
            seconds["merge_seconds"] = round(self.merge_seconds, 1)
        return asdict(self) | seconds

    def told(self) -> str:
        """The figures for people."""
        lines = []
        if self.text_bytes is not None:
            of = "" if self.files is None else f" in {counted(self.files, 'file')}"
            lines.append(f"text      {amount(self.text_bytes, 'bytes')}{of}, {about(self.looked_at)} looked at")
            lines.append(f"counting  about {duration(self.count_seconds)}")
        lines.append(f"chunks    about {rounded(self.distinct_chunks):,} distinct ones")
        if self.merge_seconds is not None:
            lines.append(f"merging   about {duration(self.merge_seconds)}")
        above = ""
        if self.memory_bytes > self.memory_bound:
            above = ": more memory, a smaller sample or, for merging, a min_chunk_count is needed"
        lines.append(f"memory    about {about(self.memory_bytes)} of {about(self.memory_bound)} allowed{above}")
        disk = f"about {about(self.disk_bytes)} for a time" if self.disk_bytes else "no temporary files"
        lines.append(f"disk      {disk}")
        return "\n".join(lines)


def estimate(
    source: Files | ChunkCounts,
    count: Callable[[Iterator[bytes]], ChunkCounts],
    n_merges: int | None = None,
    rules: MergeRules = RULES,
    max_bytes: str | int | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    weights: WeightsLike = None,
    min_chunk_count: int = 1,
) -> Estimate:
    """What counting the source and learning n_merges (None: no merging) take.

    count: counts documents as the job will, all with the weight 1; rules: those of learn_merges. Raises ParameterError
    for sources that can be read only once, and for weights that count_chunks would refuse.
    """
    bound = memory_bound(memory)
    weigh = Weights(weights)
    if isinstance(source, ChunkCounts):
        source = source.at_least(min_chunk_count)
        before = resident_memory()
        n = min(len(source), LOOK_ROWS)
        stop = int(source.starts[n])
        part = ChunkCounts(
            source.data[:stop], source.starts[: n + 1], source.counts[:n], denominator=source.denominator
        )
        seconds = _merge_seconds(part, n_merges or 0, rules) * len(source.data) / max(1, stop)
        need = before + merging_need(len(source.data), len(source), n_merges or 0)
        return Estimate(None, None, 0, len(source), len(source.data), 0.0, seconds, need, bound, 0)
    base = resident_memory() + thread_count(threads) * THREAD_BYTES
    corpus = Corpus(source)
    survey = corpus.survey()
    if survey is None:
        raise ParameterError("a dry run reads a little of files on this machine; what is named here may be read once")
    weigh.expect(printable(state.path) for state in corpus.states())
    ratio, pieces, _ = look(source, list(corpus.states()), weigh)
    if not pieces:
        raise DataError("nothing to be read was found")
    text_bytes = survey.text_bytes or int(survey.bytes * ratio)
    whole = text_bytes if max_bytes is None else min(text_bytes, byte_size(max_bytes, "max_bytes"))
    half = _weighted(pieces[::2], count)
    started = time.perf_counter()
    counts = _weighted(pieces, count)
    rate = counts.corpus.n_bytes / max(1e-6, time.perf_counter() - started)
    growth = counts.corpus.n_bytes / max(1, half.corpus.n_bytes)
    scale = whole / max(1, counts.corpus.n_bytes)
    chunks = _grown(len(half), len(counts), growth, scale)
    data = _grown(len(half.data), len(counts.data), growth, scale)
    table = ENTRY_BYTES * chunks + data
    need = min(base + 2 * table, max(bound, base))
    spilled = base + 2 * table > bound
    disk = (3 if spilled else 0) * (ROW_BYTES * chunks + data)
    if survey.bytes >= SEGMENT_BYTES:
        disk += 2 * (ROW_BYTES * chunks + data)  # for going on after a stop
    merge_seconds = None
    if n_merges is not None:
        half, counts = half.at_least(min_chunk_count), counts.at_least(min_chunk_count)
        merged = _grown(len(half), len(counts), growth, scale)
        merged_data = _grown(len(half.data), len(counts.data), growth, scale)
        merge_seconds = _merge_seconds(counts, n_merges, rules) * merged_data / max(1, len(counts.data))
        need = max(need, base + merged_data + 16 * merged + merging_need(merged_data, merged, n_merges))
    return Estimate(
        survey.files, whole, counts.corpus.n_bytes, chunks, data, whole / rate, merge_seconds, need, bound, disk
    )


class Look(NamedTuple):
    """ratio: bytes of text for a byte of the files; pieces: some of the text; documents: how many ended in it."""

    ratio: float
    pieces: list[Piece]
    documents: int


def look(source: Files, states: list[FileState], weigh: Weights) -> Look:
    """Reads a little of files that lie evenly in the corpus."""
    chosen = _spread(states)
    limit = max(1, LOOK_BYTES // max(1, len(chosen)))
    texts: list[Piece] = []
    read = documents = 0
    with tempfile.TemporaryDirectory(prefix="fastbpe-") as folder:
        for state in chosen:
            path = state.path
            cut = state.size > limit
            if cut:  # what is cut off is damage to a reader, which gives what was whole before
                path = os.path.join(folder, os.path.basename(path))
                with open(state.path, "rb") as file:
                    Path(path).write_bytes(file.read(limit))
            size = 0
            for block in Corpus(Files((path,), source.options)).blocks():
                start = 0
                for number, end in enumerate([*block.ends.tolist(), len(block.data)]):
                    if end > start:
                        name = block.address(number, 0).source if weigh else ""
                        if cut:
                            name = name.replace(printable(path), printable(state.path), 1)
                        texts.append((weigh.weight(name), block.data[start:end].tobytes()))
                    start = end
                size += len(block.data)
                documents += len(block.ends)
            read += min(state.size, limit)
            if cut:
                os.unlink(path)
    if len(texts) < LOOK_FILES:  # two halves are wanted, each from all over
        texts = [
            (weight, text[at : at + PIECE_BYTES]) for weight, text in texts for at in range(0, len(text), PIECE_BYTES)
        ]
    return Look(sum(len(text) for _, text in texts) / max(1, read), texts, documents)


def _weighted(pieces: list[Piece], count: Callable[[Iterator[bytes]], ChunkCounts]) -> ChunkCounts:
    """The counts of the pieces, each times its weight."""
    by_weight: dict[Fraction, list[bytes]] = {}
    for weight, text in pieces:
        by_weight.setdefault(weight, []).append(text)
    parts = [count(iter(texts)).times(weight) for weight, texts in by_weight.items()]
    return functools.reduce(operator.add, parts)


def _spread(states: list[FileState]) -> list[FileState]:
    """Up to LOOK_FILES files that lie evenly in the text."""
    total = sum(state.size for state in states)
    chosen: list[FileState] = []
    before = 0

    def places(size: int) -> int:
        """How many of the evenly spaced places lie in the first `size` bytes."""
        return (LOOK_FILES * size + total // 2) // max(1, total)

    for state in states:
        if places(before + state.size) > places(before):
            chosen.append(state)
        before += state.size
    return chosen


def _grown(half: int, whole: int, growth: float, scale: float) -> int:
    """What `whole` becomes in `scale` times the text, when from a part to `growth` times of it it grew from `half`."""
    power = 1.0
    if half and whole > half and growth > 1:
        power = min(1.0, math.log(whole / half) / math.log(growth))
    return int(whole * max(1.0, scale) ** power)


def _merge_seconds(counts: ChunkCounts, n_merges: int, rules: MergeRules) -> float:
    started = time.perf_counter()
    learn_merges(counts, n_merges, rules)
    return time.perf_counter() - started


def duration(seconds: float) -> str:
    """For people, no finer than an estimate is."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def about(n: int) -> str:
    """Bytes for people."""
    return amount(rounded(n), "bytes")


def rounded(n: int) -> int:
    """Two digits are all that an estimate has."""
    digits = max(0, len(str(n)) - 2)
    return round(n, -digits)
