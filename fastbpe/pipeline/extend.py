"""Extending a tokenizer: more merges for it, learned on new text."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbpe.corpus.sources import Source
from fastbpe.corpus.weights import WeightsLike
from fastbpe.counts import ChunkCounts
from fastbpe.errors import ParameterError, whole_number
from fastbpe.merging import MergeRules, Merges, OnMerges
from fastbpe.model import CHARACTERS, Model
from fastbpe.pipeline.count import count_chunks
from fastbpe.pipeline.invalid import check_errors
from fastbpe.pipeline.memory import memory_bound
from fastbpe.pipeline.progress import ProgressLike, as_progress
from fastbpe.pipeline.train import check_counts, check_memory, learn_beyond, record_of, refuse_for_counts, telling
from fastbpe.threads import thread_count
from fastbpe.tokenizer import Tokenizer


def extend(
    tokenizer: Tokenizer,
    source: Source | ChunkCounts,
    vocab_size: int,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    tie_break: str = "lowest",
    errors: str = "keep",
    weights: WeightsLike = None,
    max_bytes: str | int | None = None,
    sample_seed: int | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    on_merges: OnMerges | None = None,
) -> Tokenizer:
    """A tokenizer with the old one's ids, and more merges up to vocab_size ids in all; new ids follow the largest.

    The text is cut, normalized, split and merged as the tokenizer would encode it, all its special tokens taken out;
    then learning goes on as in `train`, which see for the parameters. ChunkCounts must have been made
    with the same pattern, special tokens and normalizer. The record keeps the old one under "extended".
    Of a rank table's tokens each must be what a merge of two tokens makes of its bytes; those merges come first then.
    Raises ParameterError when vocab_size is below what the tokenizer has, and naming a token that no merge makes.
    """
    model = tokenizer.model
    if model.priority == CHARACTERS:
        raise ParameterError("a character tokenizer learns no merges: train a new one on all the text")
    vocab_size = whole_number("vocab_size", vocab_size)
    if vocab_size < model.vocab_size:
        raise ParameterError(f"vocab_size={vocab_size} is below the {model.vocab_size} ids that the tokenizer has")
    n_merges = vocab_size - model.vocab_size
    model = _merge_list(model)
    check_errors(errors)
    thread_count(threads)
    rules = MergeRules(min_frequency, max_token_length, tie_break)
    bound = memory_bound(memory)
    with as_progress(progress) as display:
        if isinstance(source, ChunkCounts):
            counts = source
            refuse_for_counts(errors, weights, max_bytes, sample_seed)
            _check_rules(model, counts)
        else:
            counts = count_chunks(
                source,
                pattern=model.pattern,
                special_tokens=list(model.special_tokens),
                normalizer=model.normalizer,
                unmatched=model.unmatched,
                errors=errors,
                weights=weights,
                max_bytes=max_bytes,
                sample_seed=sample_seed,
                memory=memory,
                threads=threads,
                progress=display,
            )
        check_counts(counts)
        check_memory(counts, 1, n_merges, bound)
        display.phase("merge", n_merges, "merges")
        merges = learn_beyond(tokenizer, counts, n_merges, rules, telling(display, on_merges))
        display.finish(stopped_by=merges.stop_reason)
    parameters = {"vocab_size": vocab_size, **asdict(rules)}
    denominator = lcm(model.denominator, merges.denominator)
    record = record_of(parameters, counts.facts(), merges) | {"extended": model.record}
    if denominator > 1:
        record["denominator"] = denominator
    if model.counts is not None:
        model = replace(model, counts=_scaled(model.counts, denominator // model.denominator))
    merges = replace(merges, counts=_scaled(merges.counts, denominator // merges.denominator))
    return Tokenizer(_extended(model, merges, record))


def _merge_list(model: Model) -> Model:
    """The model by a merge list; of a rank table, the merges that build its tokens, which encode as it does."""
    if model.priority != "rank table":
        return model
    merges = model.last_merges
    unbuilt = (np.diff(model.starts) > 1) & ~np.isin(model.ids, merges[:, 2])
    if unbuilt.any():
        row = int(np.argmax(unbuilt))
        raise ParameterError(
            f"no merge of two tokens makes token {model.ids[row]}, {model.tokens[row][:60]!r}: a rank table can only be"
            " extended when each of its tokens is made by one"
        )
    return replace(model, priority="merge list", merges=merges)


def _extended(model: Model, merges: Merges, record: dict[str, Any]) -> Model:
    new_ids = np.arange(model.id_limit, model.id_limit + len(merges), dtype=np.int64)
    ids = np.concatenate((model.ids.astype(np.int64), new_ids))
    tokens = list(model.tokens)
    for left, right in merges.pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    new = tokens[len(model.tokens) :]
    return replace(
        model,
        ids=ids.astype(np.uint32),
        data=np.concatenate((model.data, np.frombuffer(b"".join(new), np.uint8))),
        starts=np.concatenate((model.starts, model.starts[-1] + np.cumsum([len(t) for t in new], dtype=np.int64))),
        merges=np.concatenate((model.merges, np.column_stack((ids[merges.pairs], new_ids)))),
        counts=None if model.counts is None else np.concatenate((model.counts, merges.counts)),
        record=record,
    )


def _scaled(counts: npt.NDArray[np.int64], factor: int) -> npt.NDArray[np.int64]:
    if factor > 1 and int(counts.max(initial=0)) * factor >= 2**63:
        raise ParameterError("the weights of the old and the new text have no common denominator that counts can hold")
    return counts * factor if factor > 1 else counts


def _check_rules(model: Model, counts: ChunkCounts) -> None:
    for what, ours, theirs in (
        ("pattern", model.pattern, counts.pattern),
        ("normalizer", model.normalizer, counts.normalizer),
        ("unmatched", model.unmatched, counts.unmatched),
        ("special tokens", sorted(model.special_tokens), sorted(counts.special_tokens)),
    ):
        if ours != theirs:
            raise ParameterError(f"these counts were made with the {what} {theirs!r}, the tokenizer has {ours!r}")
