"""count_chunks: from a source to the counts of its distinct chunks, on several threads."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from fastbpe.corpus.blocks import Block
from fastbpe.corpus.report import SourceReport
from fastbpe.corpus.sources import Corpus, Read, Source, Survey
from fastbpe.corpus.walk import printable
from fastbpe.corpus.weights import Weights, WeightsLike
from fastbpe.counts import ChunkCounts, CorpusTotals
from fastbpe.errors import ParameterError
from fastbpe.kernels.special import SpecialTrie
from fastbpe.normalizing import GROWTH, UNICODE_VERSION, check_normalizer
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.bounded import COPIES, BoundedCounter, table_bytes
from fastbpe.pipeline.checkpoint import MOST_BYTES, SEGMENT_BYTES, Checkpoint, checkpoint_at
from fastbpe.pipeline.entries import reader_entry, source_entry
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in, replaced
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.room import Room
from fastbpe.pipeline.runs import Runs
from fastbpe.pipeline.sample import Sample, sample_of
from fastbpe.pipeline.stretches import Stretch, stretches
from fastbpe.text import utf8
from fastbpe.threads import ordered_map, thread_count

REGEX_COPIES = 20
"""What the regex engine makes of a text: its characters, their widths, and the ends of chunks of one byte each."""
NORMALIZED_COPIES = 14
"""What normalizing makes of a text: its characters, of up to four bytes each, before and after."""


def count_chunks(
    source: Source | Corpus,
    pattern: str | Sequence[str] | None = "cl100k",
    special_tokens: Sequence[str] = (),
    normalizer: str | None = None,
    unmatched: str = "refuse",
    errors: str = "keep",
    weights: WeightsLike = None,
    max_bytes: str | int | None = None,
    sample_seed: int | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    resume: bool = False,
) -> ChunkCounts:
    """Counts the distinct chunks of a source, rows in order of first appearance.

    source: an iterable of str or bytes (each a document), fastbpe.files(...), or a pathlib.Path. An empty one gives
    empty counts. pattern: a name, the text of a pattern, or several in a row. special_tokens: cut out before the text
    is split. normalizer: "NFC" or "NFKC" normalizes the text between them before it is split. errors: what to do with
    bytes that are not UTF-8: keep them (each is one unit), "strict" raises DataError, "replace" puts U+FFFD in their
    place; the result's `corpus` says how many there were and where the first. weights: {glob: weight} or pairs of them;
    the first glob that matches a file's name says how often its chunks count (2.5, or "1/3"), a file that none matches
    counts once. A glob means what it means in files(), from any directory on. Counts stay exact: they are times the
    result's `denominator`. max_bytes: counts a sample of whole documents that are never more than that ("5GB");
    sample_seed (0) chooses which, see fastbpe/pipeline/sample.py. memory: bounds the process while it counts, in bytes
    or as a text like "4GB" (None: three quarters of what there is); what does not fit goes to temporary files, from
    which the result is mapped then. threads: None takes the CPUs of this process. The rows are the same with any memory
    and any number of threads. checkpoint: a directory for what a long counting of files has come to; with resume=True
    one that was stopped, however it was, goes on from there and ends with the same counts. It is removed in the end.
    Where the files, or what decides the counts, have changed meanwhile, ParameterError says what.

    Raises ParameterError for what cannot be asked for, PatternError, DataError with the file and offset, MemoryError.
    """
    threads = thread_count(threads)
    rules = _Rules(pattern, special_tokens, normalizer, unmatched, errors, weights, max_bytes, sample_seed)
    corpus = source if isinstance(source, Corpus) else Corpus(source)
    shown = as_progress(progress)
    with checkpoint_at(checkpoint, resume) as kept:
        survey = corpus.survey()
        # Less than a segment is soon counted again, unless a run before has thought otherwise.
        if kept is None or not (kept.counting or (survey is not None and survey.bytes >= SEGMENT_BYTES)):
            counts = _count(corpus, survey, rules, memory, threads, shown)
        else:
            before = kept.begin_count(rules.described(corpus), corpus.states())
            if before is not None and before["complete"]:
                corpus.restore(Read(*before["read"]))
                shown.phase("count", 0)
                counts = kept.counts()
            else:
                counts = _count(corpus, survey, rules, memory, threads, shown, kept, before)
                kept.save_counts(counts, {"complete": True, "read": corpus.read})
    totals = counts.corpus
    facts = {"documents": totals.documents, "chunks": counts.total, "distinct_chunks": len(counts)}
    found = {"invalid_bytes": totals.invalid_bytes, "first_invalid": totals.first_invalid}
    shown.finish(**facts, **(found if totals.invalid_bytes else {}))
    if corpus is not source:  # who gave a Corpus has its reports
        corpus.warn()
    return counts


class _Rules:
    """All that decides the counts of a text; checked, and made ready."""

    def __init__(
        self,
        pattern: str | Sequence[str] | None,
        special_tokens: Sequence[str],
        normalizer: str | None,
        unmatched: str,
        errors: str,
        weights: WeightsLike,
        max_bytes: str | int | None,
        sample_seed: int | None,
    ) -> None:
        self.errors = check_errors(errors)
        self.splitter = Splitter(pattern, unmatched)
        check_normalizer(normalizer)
        self.normalizer, self.unmatched = normalizer, unmatched
        self.weigh = Weights(weights)
        self.special_tokens, self.trie = special_tokens, _trie(special_tokens)
        self.max_bytes, self.sample_seed = max_bytes, sample_seed

    @property
    def copies(self) -> int:
        """How often a text that cannot be cut lies in memory while it is counted, at most."""
        by_regex = REGEX_COPIES if self.splitter.engine == "regex" else 0
        return COPIES + by_regex + (NORMALIZED_COPIES if self.normalizer is not None else 0)

    def described(self, corpus: Corpus) -> dict[str, Any]:
        """The rules as plain values, with those of reading the corpus."""
        return {
            "pattern": self.splitter.pattern,
            "unmatched": self.unmatched,
            "special_tokens": self.special_tokens,
            "normalizer": None if self.normalizer is None else f"{self.normalizer} of Unicode {UNICODE_VERSION}",
            "weights": self.weigh.described(),
            "max_bytes": self.max_bytes,
            "sample_seed": self.sample_seed,
            "on_error": corpus.on_error,
            **reader_entry(corpus.options, self.errors),
        }


def _count(
    corpus: Corpus,
    survey: Survey | None,
    rules: _Rules,
    memory: str | int | None,
    threads: int,
    shown: Progress,
    kept: Checkpoint | None = None,
    before: dict[str, Any] | None = None,
) -> ChunkCounts:
    """The counts of a corpus; with `kept`, from what a run `before` came to, and noting what this one comes to."""
    weigh = rules.weigh
    if weigh and survey is not None:
        weigh.expect(printable(state.path) for state in corpus.states())
    sample = sample_of(corpus, rules.max_bytes, rules.sample_seed, shown, before["sample"] if before else None)
    expected = (None if survey is None else survey.text_bytes) if sample is None else sample.expected
    runs = None if kept is None else Runs(kept.runs, before["runs"] if before else None)
    with (
        BoundedCounter(table_bytes(memory, threads), runs=runs, copies=rules.copies) as counter,
        _records_within(counter.room, corpus),
    ):
        if sample is not None:
            sample.room = counter.room
        counting = _Counting(corpus, rules, sample, counter, threads, shown)
        if kept is None or runs is None:
            shown.phase("count", expected)
            for _ in counting.run(corpus.blocks()):
                pass
        else:
            counting.run_kept(kept, runs, before, expected)
        rows = counter.finish()
    if sample is not None and not counting.totals.documents and sample.left_out:
        raise ParameterError(
            f"max_bytes={rules.max_bytes!r} takes no document: those that were chosen are longer; give more bytes, or "
            "cut the files into documents (lines, separator)"
        )
    weigh.check()
    return ChunkCounts(
        *rows,
        rules.splitter.pattern,
        tuple(rules.special_tokens),
        rules.unmatched,
        counting.totals,
        weigh.denominator,
        tuple(_entry(report, weigh, sample) for report in corpus.reports),
        rules.normalizer,
        None if rules.normalizer is None else UNICODE_VERSION,
    )


@contextlib.contextmanager
def _records_within(room: Room, corpus: Corpus) -> Iterator[None]:
    """What the corpus reads meanwhile has records that the room is large enough for."""
    options = corpus.options
    corpus.options = replace(options, on_long=room.keep_for_record)
    try:
        yield
    finally:  # or the counter would live as long as the corpus
        corpus.options = options


class _Counting:
    """Counts the text of a corpus into one counter."""

    def __init__(
        self,
        corpus: Corpus,
        rules: _Rules,
        sample: Sample | None,
        counter: BoundedCounter,
        threads: int,
        shown: Progress,
    ) -> None:
        self._corpus, self._rules, self._sample = corpus, rules, sample
        self._counter, self._threads, self._shown = counter, threads, shown
        self.totals = CorpusTotals()
        """What has been counted in runs that came to their end."""

    def run(self, blocks: Iterable[Block], skip: int = 0, n_bytes: int | None = None) -> Iterator[int]:
        """Counts blocks that end with a document, their positions from 0; of a sample, what that takes of them.

        Before each segment of about n_bytes (None: everything is one), with all threads at rest, it says how many bytes
        of them are in the counter. skip: so many are there from before, as a run over the same blocks said.
        """
        splitter, weigh = self._rules.splitter, self._rules.weigh
        errors, normalizer = self._rules.errors, self._rules.normalizer
        found = InvalidBytes()
        before = self.totals.n_bytes
        documents = done = 0

        def count(stretch: Stretch) -> tuple[int, int, InvalidBytes]:
            try:
                return count_text(stretch)
            finally:  # or who waits for its room would do so forever
                stretch.done()

        def count_text(stretch: Stretch) -> tuple[int, int, InvalidBytes]:
            invalid = InvalidBytes() if errors == "replace" else invalid_in(stretch, errors)
            if stretch.position + stretch.stop > skip:
                data, spans = stretch.normalized(normalizer)
                ends = splitter.span_ends(data, spans)
                # A stretch's text may grow: positions, which only give the order, leave room for it.
                position = (before + stretch.position) * (1 if normalizer is None else GROWTH)
                self._counter.add(data, spans, position, splitter.table, ends, weigh.multiplier(stretch.source))
            return stretch.stop, len(stretch.ends), invalid

        blocks = weigh.cut(blocks if self._sample is None else self._sample.blocks(blocks))
        if errors == "replace":
            blocks = replaced(blocks, found)
        cut = stretches(blocks, splitter, self._rules.trie, normalizer=normalizer, room=self._counter.room)
        for first in cut:
            if done >= skip:
                yield done
            segment: Iterator[Stretch] = itertools.chain((first,), cut)
            del first  # or it would live on while the others are counted
            if n_bytes is not None:
                segment = _until(segment, skip - done if done < skip else n_bytes)
            for size, ended, invalid in ordered_map(count, segment, self._threads):
                documents += ended
                done += size
                found.add(invalid)
                self._shown.advance(size)
        place = None if found.first is None else str(found.first)
        self.totals += CorpusTotals(documents, done, found.count, place)

    def run_kept(self, kept: Checkpoint, runs: Runs, before: dict[str, Any] | None, expected: int | None) -> None:
        """Counts a corpus of files, or what `before` leaves of it, and notes in `kept` how far that has come.

        Files of segments that were counted are not opened. In the segment in which the run before was stopped, text
        that was counted is read and cut as it was, but not counted again.
        """
        state, skip = self._state(), 0
        if before is not None:
            state, skip = before, int(before["skip"])
            self.totals = CorpusTotals(**before["totals"])
            self._rules.weigh.unmatched = set(before["unmatched"])
            if self._sample is not None:
                self._sample.state = before["sample"]
        kept_at = self.totals.n_bytes + skip
        left = None if expected is None else max(0, expected - kept_at)
        skipping = skip > 0
        if skipping:
            self._shown.phase("skip", skip)
        else:
            self._shown.phase("count", left)
        for blocks in self._corpus.segments(SEGMENT_BYTES, Read(*state["read"])):
            for done in self.run(blocks, skip, SEGMENT_BYTES):
                reached = self.totals.n_bytes + done
                if skipping and reached != kept_at:
                    raise kept.refusal("the text lies in other blocks")
                if skipping:
                    self._shown.phase("count", left)
                    skipping = False
                # The more is counted the rarer: writing it out costs as much as there are distinct chunks.
                if reached - kept_at >= max(SEGMENT_BYTES, min(kept_at, MOST_BYTES)):
                    self._counter.write_out()
                    kept.counted(state | {"skip": done, "runs": runs.places})
                    kept_at = reached
            state, skip = self._state(), 0

    def _state(self) -> dict[str, Any]:
        """What `run_kept` goes on from, between two segments."""
        return {
            "complete": False,
            "read": self._corpus.read,
            "totals": asdict(self.totals),
            "unmatched": sorted(self._rules.weigh.unmatched),
            "sample": None if self._sample is None else self._sample.state,
        }


def _until(items: Iterable[Stretch], n_bytes: int) -> Iterator[Stretch]:
    """The first stretches, which hold n_bytes or as much more as the last of them goes on."""
    size = 0
    for stretch in items:
        size += stretch.stop
        yield stretch
        del stretch  # or it would live on while the next one is gathered
        if size >= n_bytes:
            return


def _entry(report: SourceReport, weigh: Weights, sample: Sample | None) -> dict[str, Any]:
    """What the counts say of a source; of a sample, what was read to take it."""
    entry = source_entry(report)
    kept = {key: entry[key] for key in ("name", "files", "documents", "bytes")}
    if weigh:
        kept["weights"] = [list(pair) for pair in weigh.described()]
    if sample is not None:
        kept["sample"] = sample.described()
    return kept


def _trie(special_tokens: Sequence[str]) -> SpecialTrie | None:
    if isinstance(special_tokens, str) or not all(isinstance(token, str) for token in special_tokens):
        raise ParameterError("special_tokens is a sequence of str")
    if not special_tokens:
        return None
    return SpecialTrie([(utf8(token), id) for id, token in enumerate(special_tokens)])
