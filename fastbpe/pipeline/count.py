"""count_chunks: from a source to the counts of its distinct chunks, on several threads."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
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
from fastbpe.pipeline.bounded import BoundedCounter, table_bytes
from fastbpe.pipeline.checkpoint import SEGMENT_BYTES, Checkpoint
from fastbpe.pipeline.entries import reader_entry, source_entry
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in, replaced
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.runs import Runs
from fastbpe.pipeline.sample import Sample, sample_of
from fastbpe.pipeline.units import Unit, units
from fastbpe.text import utf8
from fastbpe.threads import ordered_map, thread_count


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
    checkpoint: Checkpoint | None = None,
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
    and any number of threads. checkpoint: where much text is counted, keeps what was counted, whole files at a time.

    Raises ParameterError for what cannot be asked for, PatternError, DataError with the file and offset, MemoryError.
    """
    threads = thread_count(threads)
    check_errors(errors)
    splitter = Splitter(pattern, unmatched)
    check_normalizer(normalizer)
    weigh = Weights(weights)
    trie = _trie(special_tokens)
    corpus = source if isinstance(source, Corpus) else Corpus(source)
    shown = as_progress(progress)
    survey = corpus.survey()
    kept = checkpoint if checkpoint is not None and _is_worth(checkpoint, survey) else None
    before = None
    if kept is not None:
        rules = {
            "pattern": splitter.pattern,
            "unmatched": unmatched,
            "special_tokens": special_tokens,
            "normalizer": None if normalizer is None else f"{normalizer} of Unicode {UNICODE_VERSION}",
            "weights": weigh.described(),
            "max_bytes": max_bytes,
            "sample_seed": sample_seed,
            "on_error": corpus.on_error,
            **reader_entry(corpus.options, errors),
        }
        before = kept.begin_count(rules, corpus.states())
    if kept is not None and before is not None and before["complete"]:
        corpus.restore(Read(*before["read"]))
        shown.phase("count", 0)
        counts = kept.counts()
        _finish(shown, counts, corpus if corpus is not source else None)
        return counts
    if weigh and survey is not None:
        weigh.expect(printable(state.path) for state in corpus.states())
    sample = sample_of(corpus, max_bytes, sample_seed, shown)
    runs = None
    totals = CorpusTotals()
    read = None
    if kept is not None:
        runs = Runs(kept.runs, before["runs"] if before else None)
    if before is not None:
        totals, read = CorpusTotals(**before["totals"]), Read(*before["read"])
        weigh.unmatched = set(before["unmatched"])
        if sample is not None:
            sample.state = before["sample"]
    expected = (None if survey is None else survey.text_bytes) if sample is None else sample.expected
    shown.phase("count", None if expected is None else max(0, expected - totals.n_bytes))
    with BoundedCounter(table_bytes(memory, threads), runs=runs) as counter:
        counting = _Counting(counter, splitter, trie, normalizer, weigh, errors, threads, shown, totals)
        if kept is None or runs is None:
            counting.run(corpus.blocks() if sample is None else sample.blocks(corpus.blocks()))
        else:
            progress_made: dict[str, Any] | None = None
            for blocks in corpus.segments(SEGMENT_BYTES, read):
                if progress_made is not None:  # and there is more
                    counter.write_out()
                    kept.counted(progress_made | {"runs": runs.names})
                counting.run(blocks if sample is None else sample.blocks(blocks))
                progress_made = {
                    "complete": False,
                    "read": corpus.read,
                    "totals": asdict(counting.totals),
                    "unmatched": sorted(weigh.unmatched),
                    "sample": None if sample is None else sample.state,
                }
                if sample is not None and sample.over:
                    break
        rows = counter.finish()
    totals = counting.totals
    if sample is not None and not totals.documents and sample.left_out:
        raise ParameterError(
            f"max_bytes={max_bytes!r} takes no document: those that were chosen are longer; give more bytes, or cut "
            "the files into documents (lines, separator)"
        )
    weigh.check()
    sources = tuple(_entry(report, weigh, sample) for report in corpus.reports)
    counts = ChunkCounts(
        *rows,
        splitter.pattern,
        tuple(special_tokens),
        unmatched,
        totals,
        weigh.denominator,
        sources,
        normalizer,
        None if normalizer is None else UNICODE_VERSION,
    )
    if kept is not None:
        kept.save_counts(counts, {"complete": True, "read": corpus.read})
    _finish(shown, counts, corpus if corpus is not source else None)
    return counts


class _Counting:
    """Counts blocks after blocks into one counter."""

    def __init__(
        self,
        counter: BoundedCounter,
        splitter: Splitter,
        trie: SpecialTrie | None,
        normalizer: str | None,
        weigh: Weights,
        errors: str,
        threads: int,
        shown: Progress,
        totals: CorpusTotals,
    ) -> None:
        self._counter, self._splitter, self._trie, self._weigh = counter, splitter, trie, weigh
        self._normalizer, self._errors, self._threads, self._shown = normalizer, errors, threads, shown
        self.totals = totals
        """What has been counted so far."""

    def run(self, blocks: Iterable[Block]) -> None:
        """Counts blocks that end with a document; their positions are from 0."""
        counter, splitter, weigh, errors = self._counter, self._splitter, self._weigh, self._errors
        normalizer = self._normalizer
        found = InvalidBytes()
        before = self.totals.n_bytes
        documents = n_bytes = 0

        def count(unit: Unit) -> tuple[int, int, InvalidBytes]:
            invalid = InvalidBytes() if errors == "replace" else invalid_in(unit, errors)
            data, spans = unit.normalized(normalizer)
            ends = splitter.span_ends(data, spans)
            # A unit's text may grow: positions, which only give the order, leave room for it.
            position = (before + unit.position) * (1 if normalizer is None else GROWTH)
            counter.add(data, spans, position, splitter.table, ends, weigh.multiplier(unit.source))
            return unit.stop, len(unit.ends), invalid

        blocks = weigh.cut(blocks)
        if errors == "replace":
            blocks = replaced(blocks, found)
        cut = units(blocks, splitter, self._trie, normalizer=normalizer)
        for size, ended, invalid in ordered_map(count, cut, self._threads):
            documents += ended
            n_bytes += size
            found.add(invalid)
            self._shown.advance(size)
        first = None if found.first is None else str(found.first)
        self.totals += CorpusTotals(documents, n_bytes, found.count, first)


def _is_worth(checkpoint: Checkpoint, survey: Survey | None) -> bool:
    """Whether counting is worth checkpoints: files, and enough of them, or a run before has thought so."""
    return checkpoint.counting or (survey is not None and survey.bytes >= SEGMENT_BYTES)


def _finish(shown: Progress, counts: ChunkCounts, own: Corpus | None) -> None:
    """Tells what was found; of a Corpus that the caller has not (`own`), what was wrong with it, too."""
    totals = counts.corpus
    facts = {"documents": totals.documents, "chunks": counts.total, "distinct_chunks": len(counts)}
    found = {"invalid_bytes": totals.invalid_bytes, "first_invalid": totals.first_invalid}
    shown.finish(**facts, **(found if totals.invalid_bytes else {}))
    if own is not None:
        own.warn()


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
