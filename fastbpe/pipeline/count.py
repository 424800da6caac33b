"""count_chunks: from a source to the counts of its distinct chunks, on several threads."""

from collections.abc import Sequence
from typing import Any

from fastbpe.corpus.report import SourceReport
from fastbpe.corpus.sources import Corpus, Source
from fastbpe.corpus.walk import printable
from fastbpe.corpus.weights import Weights, WeightsLike
from fastbpe.counts import ChunkCounts, CorpusTotals
from fastbpe.errors import ParameterError
from fastbpe.kernels.special import SpecialTrie
from fastbpe.normalizing import GROWTH, UNICODE_VERSION, check_normalizer
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.bounded import BoundedCounter, table_bytes
from fastbpe.pipeline.entries import source_entry
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in, replaced
from fastbpe.pipeline.progress import ProgressLike, as_progress
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
    and any number of threads.

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
    found = InvalidBytes()
    documents = n_bytes = 0
    survey = corpus.survey()
    if weigh and survey is not None:
        weigh.expect(printable(state.path) for state in corpus.states())
    sample = sample_of(corpus, max_bytes, sample_seed, shown)
    total = None if survey is None else survey.text_bytes
    if sample is not None:
        total = sample.expected
    shown.phase("count", total)
    blocks = weigh.cut(corpus.blocks() if sample is None else sample.blocks(corpus))
    if errors == "replace":
        blocks = replaced(blocks, found)
    with BoundedCounter(table_bytes(memory, threads)) as counter:

        def count(unit: Unit) -> tuple[int, int, InvalidBytes]:
            invalid = InvalidBytes() if errors == "replace" else invalid_in(unit, errors)
            data, spans = unit.normalized(normalizer)
            ends = splitter.span_ends(data, spans)
            # A unit's text may grow: positions, which only give the order, leave room for it.
            position = unit.position * (1 if normalizer is None else GROWTH)
            counter.add(data, spans, position, splitter.table, ends, weigh.multiplier(unit.source))
            return unit.stop, len(unit.ends), invalid

        for size, ended, invalid in ordered_map(count, units(blocks, splitter, trie, normalizer=normalizer), threads):
            documents += ended
            n_bytes += size
            found.add(invalid)
            shown.advance(size)
        rows = counter.finish()
    totals = CorpusTotals(documents, n_bytes, found.count, None if found.first is None else str(found.first))
    if sample is not None and not documents and sample.left_out:
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
    facts = {"documents": documents, "chunks": counts.total, "distinct_chunks": len(counts)}
    invalid_bytes = {"invalid_bytes": found.count, "first_invalid": totals.first_invalid} if found.count else {}
    shown.finish(**facts, **invalid_bytes)
    if not isinstance(source, Corpus):  # who gave a Corpus has its reports
        corpus.warn()
    return counts


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
