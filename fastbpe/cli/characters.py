"""fastbpe characters: text in, a tokenizer of its characters out."""

import json as json_module
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.cli.source import text_source, told


def characters(
    *inputs: options.Inputs,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The tokenizer file.")],
    special: options.Special = (),
    special_placement: Annotated[
        Literal["last", "first"], Parameter(help="Ids of special tokens: after the characters or before them.")
    ] = "last",
    bos: options.Bos = None,
    eos: options.Eos = None,
    pad: options.Pad = None,
    min_frequency: Annotated[int, Parameter(help="Leave out characters that occur less often.")] = 1,
    normalizer: options.Normalizer = None,
    reading: options.Reading = options.READING,
    errors: Annotated[
        Literal["strict", "replace"], Parameter(help="Bytes that are not UTF-8: stop there, or put U+FFFD there.")
    ] = "strict",
    threads: options.Threads = None,
    progress: options.ProgressStyle = "auto",
    json: options.Json = False,
) -> int:
    """Make a tokenizer whose tokens are the characters of a text, to measure against. It knows no others."""
    from fastbpe.corpus.sources import Corpus
    from fastbpe.pipeline.characters import train_characters
    from fastbpe.pipeline.entries import source_entries
    from fastbpe.pipeline.progress import progress_on

    options.check_output(output)
    options.check_outputs_apart([output], inputs)
    corpus = Corpus(text_source(inputs, reading))
    with progress_on(style=progress) as display:
        tokenizer = train_characters(
            corpus,
            special_tokens=special,
            special_placement=special_placement,
            bos_token=bos,
            eos_token=eos,
            pad_token=pad,
            min_frequency=min_frequency,
            normalizer=normalizer,
            errors=errors,
            threads=threads,
            progress=display,
        )
    tokenizer.save(output)
    code = told(source_entries(corpus))
    n = len(tokenizer.characters)
    facts = {
        "tokenizer": str(output),
        "vocab_size": tokenizer.vocab_size,
        "characters": n,
        "fingerprint": tokenizer.fingerprint,
    }
    print(json_module.dumps(facts) if json else f"{output}: {tokenizer.vocab_size:,} ids, {n:,} characters")
    return code
