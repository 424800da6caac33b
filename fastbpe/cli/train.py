"""fastbpe train: text or chunk counts in, one tokenizer file out for each size asked for."""

import contextlib
import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.cli.estimate import told_estimate
from fastbpe.cli.mergelog import MergeLog
from fastbpe.cli.resume import Resume, work_directory
from fastbpe.cli.source import counts_source, refuse_reading, text_source, weights
from fastbpe.cli.source import told as told_of_sources
from fastbpe.errors import MemoryBoundError, ParameterError
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.tokenizer import Tokenizer


def train(
    *inputs: options.Inputs,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="The tokenizer file; {size} in it stands for the size.")
    ],
    vocab_size: Annotated[
        str,
        Parameter(
            metavar="N", help="Ids in all: bytes, merges, special tokens. Several, as 8192,16384, cost one training."
        ),
    ],
    pattern: options.Pattern | None = None,
    unmatched: options.Unmatched | None = None,
    special: options.Special = (),
    special_placement: Annotated[
        Literal["last", "first"], Parameter(help="Ids of special tokens: after the merges or before the bytes.")
    ] = "last",
    bos: options.Bos = None,
    eos: options.Eos = None,
    pad: options.Pad = None,
    min_frequency: Annotated[int, Parameter(help="Stop when no pair occurs this often.")] = 2,
    max_token_length: Annotated[int | None, Parameter(help="Bytes a token may have at most.")] = None,
    tie_break: Annotated[
        Literal["lowest", "huggingface", "first"], Parameter(help="Which of equally frequent pairs comes first.")
    ] = "lowest",
    normalizer: options.Normalizer = None,
    reading: options.Reading = options.READING,
    errors: options.Errors = "keep",
    weight: options.Weight = (),
    max_bytes: options.MaxBytes = None,
    sample_seed: options.SampleSeed = None,
    min_chunk_count: Annotated[int, Parameter(help="Leave out chunks that occur less often.")] = 1,
    memory: options.Memory = None,
    threads: options.Threads = None,
    log: Annotated[
        Path | None,
        Parameter(help="Also write the merges to this file as they are learned, one a line, with their counts."),
    ] = None,
    resume: Resume = False,
    dry_run: options.DryRun = False,
    progress: options.ProgressStyle = "auto",
    json: options.Json = False,
) -> int:
    """Learn a tokenizer from text (pattern cl100k unless given), or from the .npz files of fastbpe count."""
    from fastbpe.corpus.sources import Corpus
    from fastbpe.counts import ChunkCounts
    from fastbpe.merging import MergeRules
    from fastbpe.pipeline.entries import source_entries
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.pipeline.train import merges_for
    from fastbpe.pipeline.train import train as run

    targets = outputs(output, sizes(vocab_size))
    for path in [*targets.values(), *([log] if log else [])]:
        options.check_output(path)
    if log and log.resolve() in [path.resolve() for path in targets.values()]:
        raise ParameterError(f"--log {log} is the tokenizer file: write the merges elsewhere")
    options.check_outputs_apart([*targets.values(), *([log] if log else [])], inputs)
    counts = counts_source(inputs, weight)
    given: dict[str, Any] = {}
    if counts is None:
        source: Any = Corpus(text_source(inputs, reading))
        given = {
            "pattern": "cl100k" if pattern is None else pattern,
            "special_tokens": special,
            "unmatched": "refuse" if unmatched is None else unmatched,
            "weights": weights(weight),
            "max_bytes": max_bytes,
            "sample_seed": sample_seed,
        }
    elif max_bytes is not None or sample_seed is not None:
        raise ParameterError("--max-bytes and --sample-seed take a sample of text; the inputs are chunk counts")
    else:
        refuse_reading(reading, errors)
        source = counts
        given = {} if pattern is None else {"pattern": pattern}
        if unmatched is not None:
            given["unmatched"] = unmatched
        if special:
            given["special_tokens"] = special
    n_special = len(special or (() if counts is None else counts.special_tokens))
    merges_for(min(targets), n_special)
    if dry_run:
        return told_estimate(
            text_source(inputs, reading) if counts is None else counts,
            given | {"normalizer": normalizer, "errors": errors},
            json,
            n_merges=merges_for(max(targets), n_special),
            rules=MergeRules(min_frequency, max_token_length, tie_break),
            max_bytes=max_bytes,
            memory=memory,
            threads=threads,
            min_chunk_count=min_chunk_count,
        )
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(work_directory(output, resume))
        merge_log = (
            stack.enter_context(MergeLog(log, n_special if special_placement == "first" else 0)) if log else None
        )
        display = stack.enter_context(progress_on(style=progress))
        try:
            tokenizer = run(
                source,
                max(targets),
                special_placement=special_placement,
                bos_token=bos,
                eos_token=eos,
                pad_token=pad,
                min_frequency=min_frequency,
                max_token_length=max_token_length,
                tie_break=tie_break,
                normalizer=normalizer,
                min_chunk_count=min_chunk_count,
                memory=memory,
                errors=errors,
                threads=threads,
                progress=display,
                on_merges=merge_log,
                checkpoint=kept,
                **given,
            )
        except MemoryBoundError as error:
            if counts is None and isinstance(error.counts, ChunkCounts):
                saved = output.with_name(f"{output.stem}.counts.npz")
                error.counts.save(saved)
                raise MemoryBoundError(f"{error}; the counts are in {saved}, which fastbpe train takes") from None
            raise
        display.close()
        code = 0 if counts is not None else told_of_sources(source_entries(source))
        for event in display.finished:
            options.tell_invalid(event.facts.get("invalid_bytes", 0), event.facts.get("first_invalid"))
        results = []
        for size, path in targets.items():
            smaller = tokenizer if size == max(targets) else tokenizer.truncate(size)
            smaller.save(path)
            results.append(result(smaller, path))
    if json:
        print(json_module.dumps(results if len(results) > 1 else results[0]))
    else:
        for size, facts in zip(targets, results, strict=True):
            print(told(facts, size, min_frequency))
    return code


def sizes(text: str) -> list[int]:
    """Raises ParameterError on what is not one or more whole numbers separated by commas."""
    try:
        return sorted({int(size.strip().replace("_", "")) for size in text.split(",")})
    except ValueError:
        raise ParameterError(f"--vocab-size {text!r}: give a number, or several separated by commas") from None


def outputs(output: Path, wanted: list[int]) -> dict[int, Path]:
    """Which file each size goes to."""
    paths = {size: Path(str(output).replace("{size}", str(size))) for size in wanted}
    if len(set(paths.values())) < len(wanted):
        raise ParameterError(f"{len(wanted)} sizes need as many files: put {{size}} into {output}")
    return paths


def result(tokenizer: "Tokenizer", path: Path) -> dict[str, Any]:
    record = tokenizer.record or {}
    return {
        "tokenizer": str(path),
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "stop_reason": record.get("stop_reason"),
        "fingerprint": tokenizer.fingerprint,
    }


def told(facts: dict[str, Any], wanted: int, min_frequency: int) -> str:
    """One line; where the text did not give as many ids as were wanted, with what gives more."""
    few = facts["vocab_size"] < wanted
    line = (
        f"{facts['tokenizer']}: {facts['vocab_size']:,} ids{f' of {wanted:,}' if few else ''}, "
        f"{facts['merges']:,} merges, stopped by {facts['stop_reason']}"
    )
    if few and facts["stop_reason"] == "min_frequency":
        line += f": no other pair occurs {counted(min_frequency, 'time')}; more text gives more"
        line += ", or a lower --min-frequency" if min_frequency > 1 else ""
    return line
