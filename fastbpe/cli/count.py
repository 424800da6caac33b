"""fastbpe count: the distinct chunks of text and their counts, in one .npz file."""

import json as json_module
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.cli.estimate import told_estimate
from fastbpe.cli.resume import Resume, work_directory
from fastbpe.cli.source import text_source, told, weights
from fastbpe.errors import ParameterError
from fastbpe.text import counted


def count(
    *inputs: options.Inputs,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The .npz file to write.")],
    pattern: options.Pattern = "cl100k",
    unmatched: options.Unmatched = "refuse",
    special: options.Special = (),
    normalizer: options.Normalizer = None,
    reading: options.Reading = options.READING,
    errors: options.Errors = "keep",
    weight: options.Weight = (),
    max_bytes: options.MaxBytes = None,
    sample_seed: options.SampleSeed = None,
    memory: options.Memory = None,
    threads: options.Threads = None,
    resume: Resume = False,
    dry_run: options.DryRun = False,
    progress: options.ProgressStyle = "auto",
    json: options.Json = False,
) -> int:
    """Count the distinct chunks of text; fastbpe train takes the file, or several, in place of text."""
    from fastbpe.corpus.sources import Corpus
    from fastbpe.pipeline.count import count_chunks
    from fastbpe.pipeline.entries import source_entries
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.weight import weighted

    if output.suffix != ".npz":
        raise ParameterError(f"{output}: name the file .npz, by which fastbpe train knows chunk counts")
    options.check_output(output)
    options.check_outputs_apart([output], inputs)
    source = text_source(inputs, reading)
    if dry_run:
        parameters = {
            "pattern": pattern,
            "special_tokens": special,
            "normalizer": normalizer,
            "unmatched": unmatched,
            "errors": errors,
            "weights": weights(weight),
        }
        return told_estimate(source, parameters, json, max_bytes=max_bytes, memory=memory, threads=threads)
    corpus_read = Corpus(source)
    with work_directory(output, resume) as kept, progress_on(style=progress) as display:
        counts = count_chunks(
            corpus_read,
            pattern=pattern,
            special_tokens=special,
            normalizer=normalizer,
            unmatched=unmatched,
            errors=errors,
            weights=weights(weight),
            max_bytes=max_bytes,
            sample_seed=sample_seed,
            memory=memory,
            threads=threads,
            progress=display,
            checkpoint=kept,
        )
        counts.save(output)
    corpus = counts.corpus
    sources = source_entries(corpus_read)
    code = told(sources)
    options.tell_invalid(corpus.invalid_bytes, corpus.first_invalid)
    facts = {
        "counts": str(output),
        "documents": corpus.documents,
        "bytes": corpus.n_bytes,
        "chunks": counts.total if counts.denominator == 1 else weighted(counts.total, counts.denominator),
        "distinct_chunks": len(counts),
        "invalid_bytes": corpus.invalid_bytes,
        "sources": sources,
    }
    chunks = f"{counts.total:,}" if counts.denominator == 1 else f"{facts['chunks']} by weight"
    if json:
        print(json_module.dumps(facts))
    else:
        print(
            f"{output}: {len(counts):,} distinct chunks, {chunks} in all, "
            f"of {counted(corpus.documents, 'document')} ({counted(corpus.n_bytes, 'byte')})"
        )
    return code
