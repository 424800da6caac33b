"""Training: a corpus or its chunk counts in, a tokenizer out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fastbpe import __version__
from fastbpe.corpus.sources import Corpus, Files
from fastbpe.corpus.weights import WeightsLike
from fastbpe.counts import ChunkCounts
from fastbpe.errors import DataError, MemoryBoundError, ParameterError, check_choice, whole_number
from fastbpe.kernels.merge import MAX_CELLS, MAX_DISTINCT_COUNTS, MAX_TOKENS
from fastbpe.merging import MergeRules, Merges, OnMerges, learn_merges, learn_more_merges, merging_need
from fastbpe.model import PLACEMENTS, ROLES, list_names
from fastbpe.normalizing import check_normalizer
from fastbpe.pattern.named import resolve
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.checkpoint import Checkpoint, checkpoint_at
from fastbpe.pipeline.count import count_chunks
from fastbpe.pipeline.invalid import check_errors
from fastbpe.pipeline.memory import memory_bound, resident_memory
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.text import counted
from fastbpe.threads import thread_count
from fastbpe.tokenizer import Tokenizer


class Default(str):
    """The default of a parameter that chunk counts settle: of this type, so that it is known not to have been given."""


def train(
    source: Iterable[str | bytes] | Files | Path | ChunkCounts | Corpus,
    vocab_size: int,
    pattern: str | None = Default("cl100k"),
    special_tokens: Sequence[str] = (),
    special_placement: str = "last",
    bos_token: str | None = None,
    eos_token: str | None = None,
    pad_token: str | None = None,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    tie_break: str = "lowest",
    normalizer: str | None = None,
    unmatched: str = Default("refuse"),
    errors: str = "keep",
    weights: WeightsLike = None,
    max_bytes: str | int | None = None,
    sample_seed: int | None = None,
    min_chunk_count: int = 1,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    on_merges: OnMerges | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    resume: bool = False,
) -> Tokenizer:
    """Trains a tokenizer of at most vocab_size ids: 256 bytes, merges and special tokens.

    source: an iterable of str or bytes, each a document; `fastbpe.files(..)`; a Path; or ChunkCounts, which bring
    their pattern, special tokens, normalizer and treatment of unmatched text.
    pattern: a named pattern, a regular expression, or None (each document is one chunk).
    normalizer: "NFC" or "NFKC" normalizes the text between special tokens, here and in the tokenizer's encoding.
    special_tokens: cut out of the text before it is split; their ids come after the merges ("last") or before the
    bytes ("first") in the order given. bos_token, eos_token, pad_token name which of them have that role.
    Training stops at vocab_size, when no pair occurs min_frequency times, or when every merge left would be longer
    than max_token_length bytes; the tokenizer's record says which. Ties: see `MergeRules`.
    weights: how much the sources count, see `count_chunks`; the counts of merges are times the record's `denominator`.
    max_bytes, sample_seed: train on a sample of the documents, see `count_chunks`.
    min_chunk_count: leaves out chunks that were met less often; the record says how many that were.
    memory: as bytes or "4GB", bounds the process while it counts (None: three quarters of what there is) and refuses a
    merging that would need more.
    on_merges: called with each run of new merges as they are learned.
    checkpoint: a directory for what a long training has come to; with resume=True a training that was stopped, however
    it was, goes on from there and ends with the same tokenizer. It is removed in the end. Where the files, or what
    decides the result, have changed meanwhile, ParameterError says what.

    Raises ParameterError before anything is read when a parameter cannot be honoured, DataError for an empty corpus,
    and MemoryBoundError, with the counts, when merging would need more than `memory`.
    """
    vocab_size = whole_number("vocab_size", vocab_size)
    if isinstance(special_tokens, Mapping):
        raise ParameterError("special_tokens are names in the order of their ids, which training gives: list(names)")
    names = list_names(special_tokens, "special_tokens")
    check_errors(errors)
    thread_count(threads)
    if isinstance(source, ChunkCounts):
        refuse_for_counts(errors, weights, max_bytes, sample_seed)
        names = _settled(source, pattern, names, normalizer, unmatched)
        Splitter(source.pattern, source.unmatched)  # what the tokenizer would refuse in the end
    roles = {"bos": bos_token, "eos": eos_token, "pad": pad_token}
    check_normalizer(normalizer)
    n_merges = merges_for(vocab_size, len(names))
    _check(names, roles, special_placement, min_chunk_count)
    rules = MergeRules(min_frequency, max_token_length, tie_break)
    bound = memory_bound(memory)
    own = None if isinstance(source, ChunkCounts | Corpus) else Corpus(source)
    source = own or source
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(as_progress(progress))
        kept = stack.enter_context(checkpoint_at(checkpoint, resume))
        if isinstance(source, ChunkCounts):
            counts = source
        else:
            counts = count_chunks(
                source,
                pattern=pattern,
                special_tokens=names,
                normalizer=normalizer,
                unmatched=unmatched,
                errors=errors,
                weights=weights,
                max_bytes=max_bytes,
                sample_seed=sample_seed,
                memory=memory,
                threads=threads,
                progress=display,
                checkpoint=kept,
            )
        corpus = counts.facts()
        everything = counts
        check_memory(everything, min_chunk_count, n_merges, bound)
        counts = everything.at_least(min_chunk_count)
        if min_chunk_count > 1:
            corpus["dropped_chunks"] = everything.total - counts.total
            corpus["dropped_distinct_chunks"] = len(everything) - len(counts)
        check_counts(counts, source if isinstance(source, Corpus) else None)
        if own is not None:  # who gave a Corpus has its reports
            own.warn()
        del everything
        before = kept.merges(counts, rules, min_chunk_count) if kept is not None else None
        known = 0 if before is None else min(len(before), n_merges)
        display.phase("merge", n_merges - known, "merges")
        tell = telling(display, on_merges, kept)
        if before is None or not known:
            merges = learn_merges(counts, n_merges, rules, tell)
        else:
            before = before[:known]
            if on_merges is not None:
                on_merges(before)
            merges = go_on(before, counts, n_merges, rules, tell)
        display.finish(stopped_by=merges.stop_reason)
    parameters = {"vocab_size": vocab_size, **asdict(rules), "min_chunk_count": min_chunk_count}
    return Tokenizer.from_merges(
        merges.pairs,
        counts=merges.counts,
        pattern=counts.pattern,
        special_tokens=names,
        special_placement=special_placement,
        bos_token=bos_token,
        eos_token=eos_token,
        pad_token=pad_token,
        normalizer=counts.normalizer,
        unmatched=counts.unmatched,
        record=record_of(parameters, corpus, merges),
    )


def merges_for(vocab_size: int, n_special: int) -> int:
    """How many merges make vocab_size ids; ParameterError when there can be no such vocabulary."""
    floor = 256 + n_special
    if vocab_size < floor:
        special = counted(n_special, "special token")
        raise ParameterError(f"vocab_size={vocab_size} is below the floor of {floor}: 256 bytes and {special}")
    if vocab_size > MAX_TOKENS:
        raise ParameterError(f"vocab_size={vocab_size}: more than {MAX_TOKENS} ids do not fit in 32 bits")
    return vocab_size - floor


def check_counts(counts: ChunkCounts, corpus: Corpus | None = None) -> None:
    """Raises DataError when there is nothing to learn from; of a corpus it says what was skipped."""
    if not len(counts):
        reports = sorted(corpus.reports if corpus else [], key=lambda report: not report.rejected)
        examples = [example for report in reports for example in report.skipped_examples]
        n_skipped = sum(sum(report.skipped.values()) for report in reports)
        first = ": ".join(examples[0]) if examples else next((why for report in reports for why in report.skipped), "")
        skipped = f"; skipped were {n_skipped:,}, the first: {first}" if n_skipped else ""
        raise DataError(
            f"the corpus holds no text to train on ({counted(counts.corpus.documents, 'document')}, "
            f"{counted(counts.corpus.n_bytes, 'byte')}{skipped}): give at least one "
            "non-empty document, and no min_chunk_count above what occurs"
        )


def check_memory(counts: ChunkCounts, min_chunk_count: int, n_merges: int, bound: int) -> None:
    """Raises MemoryBoundError when learning n_merges from what counts hold so often would go above the bound.

    ParameterError when they are more than the kernel can tell apart.
    """
    n, n_bytes = counts.size_at_least(min_chunk_count)
    need = resident_memory() + merging_need(n_bytes, n, n_merges)
    if n < len(counts):
        need += n_bytes + 16 * n  # the rows that are left, beside all of them
    if need > bound:
        raise MemoryBoundError(
            f"merging {n:,} distinct chunks of {n_bytes:,} bytes needs about {need / 1e6:,.0f} MB of memory, above the "
            f"bound of {bound / 1e6:,.0f} MB: give more memory, leave out rare chunks with min_chunk_count, or take a "
            "smaller sample",
            counts,
        )
    if n_bytes + n >= MAX_CELLS:
        raise ParameterError(
            f"{n:,} distinct chunks of {n_bytes:,} bytes are too many to merge: leave out rare chunks with "
            f"min_chunk_count, or take a smaller sample, of less than {MAX_CELLS:,} bytes and chunks"
        )
    if n > MAX_DISTINCT_COUNTS:
        distinct = len(np.unique(counts.counts[counts.counts >= counts.least_count(min_chunk_count)]))
        if distinct > MAX_DISTINCT_COUNTS:
            raise ParameterError(
                f"the counts of {n:,} distinct chunks have {distinct:,} different values, and merging can tell "
                f"{MAX_DISTINCT_COUNTS:,} apart: leave out rare chunks with min_chunk_count, take a smaller sample, or "
                "rounder weights"
            )


def refuse_for_counts(errors: str, weights: WeightsLike, max_bytes: str | int | None, sample_seed: int | None) -> None:
    """Raises ParameterError when there is beside chunk counts what only a reading of text can do."""
    if errors != "keep":
        raise ParameterError(f"errors={errors!r} is for text; these are chunk counts, which have their bytes already")
    if weights:
        raise ParameterError("weights are those of text; weight chunk counts with counts.times(weight)")
    if max_bytes is not None or sample_seed is not None:
        raise ParameterError("max_bytes and sample_seed take a sample of text; these are chunk counts")


def go_on(before: Merges, counts: ChunkCounts, n_merges: int, rules: MergeRules, on_merges: OnMerges) -> Merges:
    """What `learn_merges` gives, when the first merges are known: the chunks are encoded with them."""
    tokenizer = Tokenizer.from_merges(before.pairs, pattern="none")
    tokens = int(before.tokens_after[-1])
    more = learn_beyond(tokenizer, counts, n_merges - len(before), rules, on_merges, tokens)
    return Merges(
        np.concatenate((before.pairs, more.pairs)),
        np.concatenate((before.counts, more.counts)),
        np.concatenate((before.tokens_after, more.tokens_after)),
        more.stop_reason,
        more.denominator,
    )


def learn_beyond(
    tokenizer: Tokenizer,
    counts: ChunkCounts,
    n_merges: int,
    rules: MergeRules,
    on_merges: OnMerges,
    tokens: int | None = None,
) -> Merges:
    """Up to n_merges merges for a tokenizer, learned on chunks as it encodes them; see `learn_more_merges`.

    Raises ParameterError where the text is not as many `tokens` then (None: any number).
    """
    model = tokenizer.model
    ids, offsets = tokenizer.encode_chunks(counts.data, counts.starts)
    if tokens is not None and int(np.dot(np.diff(offsets), counts.counts)) != tokens:
        raise ParameterError("the merges that were learned before do not fit the text: remove the checkpoint")
    if model.id_limit > len(model.ids):  # else they are the rows
        ids = np.searchsorted(model.ids, ids).astype(np.uint32)
    byte_of_row = np.full(len(model.ids), -1, np.int64)
    byte_of_row[np.searchsorted(model.ids, model.byte_ids)] = np.arange(256)
    words, lengths = (ids, offsets), np.diff(model.starts)
    return learn_more_merges(words, counts.counts, lengths, byte_of_row, n_merges, rules, on_merges, counts.denominator)


def telling(display: Progress, on_merges: OnMerges | None, checkpoint: Checkpoint | None = None) -> OnMerges:
    """What happens with merges as they are learned: the display advances, they are kept and handed on."""

    def tell(part: Merges) -> None:
        display.advance(len(part))
        if checkpoint is not None:
            checkpoint.learned(part)
        if on_merges is not None:
            on_merges(part)

    return tell


def record_of(parameters: dict[str, Any], corpus: dict[str, Any], merges: Merges) -> dict[str, Any]:
    """What a tokenizer's record says of its training; plain JSON values, no path and no clock."""
    return {
        "fastbpe": __version__,
        "parameters": parameters,
        "corpus": corpus,
        "stop_reason": merges.stop_reason,
    } | ({} if merges.denominator == 1 else {"denominator": merges.denominator})


def _check(names: list[str], roles: dict[str, str | None], special_placement: str, min_chunk_count: int) -> None:
    """Refuses before the reading begins what would be refused after it."""
    check_choice("special_placement", special_placement, PLACEMENTS)
    if min_chunk_count < 1:
        raise ParameterError(f"min_chunk_count={min_chunk_count}: it must be at least 1, which keeps every chunk")
    for role in ROLES:
        name = roles[role]
        if name is not None and name not in names:
            raise ParameterError(
                f"{role}_token={name!r} is not among the special tokens {names}: name it there (--special)"
            )


def _settled(
    counts: ChunkCounts, pattern: str | None, names: list[str], normalizer: str | None, unmatched: str
) -> list[str]:
    """The special tokens of a training from counts, which were made with one pattern and cannot take another."""
    if not isinstance(pattern, Default) and resolve(pattern)[1] != counts.pattern:
        raise ParameterError(f"pattern={pattern!r}, but these counts were made with {counts.pattern!r}: leave it out")
    if normalizer is not None and normalizer != counts.normalizer:
        raise ParameterError(f"normalizer={normalizer!r}, but these counts were made with {counts.normalizer!r}")
    if not isinstance(unmatched, Default) and unmatched != counts.unmatched:
        raise ParameterError(f"unmatched={unmatched!r}, but these counts were made with {counts.unmatched!r}")
    if names and sorted(names) != sorted(counts.special_tokens):
        raise ParameterError(
            f"special_tokens={names}, but {list(counts.special_tokens) or 'none'} were cut out when these counts were "
            "made: name the same ones (--special) or none, or count again with those"
        )
    return names or list(counts.special_tokens)
