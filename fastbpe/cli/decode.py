"""fastbpe decode: token shards back to text."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from fastbpe.cli import options


def decode(
    tokenizer: options.TokenizerFile,
    shards: options.ShardDirectory,
    /,
    *,
    documents: Annotated[
        Literal["raw", "jsonl"],
        Parameter(help="raw: the bytes that were read, separators put back. jsonl: one JSON line for each document."),
    ] = "raw",
) -> None:
    """Write the text of token shards to standard output."""
    from fastbpe.formats import load
    from fastbpe.pipeline.decode import decode_dataset
    from fastbpe.shards import TokenShards

    decode_dataset(TokenShards(shards), sys.stdout.buffer, documents, tokenizer=load(tokenizer))
    sys.stdout.buffer.flush()
