"""What lies in shards, as text again: the bytes that were read, or one JSON line for every document."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from fastbpe.errors import DataError, check_choice
from fastbpe.pipeline.entries import reader_options
from fastbpe.shards.reader import TokenShards
from fastbpe.shards.texts import read_texts
from fastbpe.tokenizer import Tokenizer

FORMS = ("raw", "jsonl")


def decode_dataset(
    shards: TokenShards, out: BinaryIO, documents: str = "raw", tokenizer: Tokenizer | None = None
) -> int:
    """Writes the documents of shards to `out` and returns how many.

    "raw" gives the bytes of the sources, one after the other, separators put back. "jsonl" gives a line
    {"text": ...} for every document, in which bytes that are not UTF-8 become U+FFFD. With `tokenizer` it must be
    the one that encoded. Raises ParameterError for another form, DataError for another tokenizer or damaged shards.
    """
    check_choice("documents", documents, FORMS)
    if tokenizer is not None:
        check_tokenizer(shards, tokenizer)
    if documents == "raw":
        for data in raw(shards):
            out.write(data)
    else:
        for text in texts(shards):
            out.write(json.dumps({"text": text.decode("utf-8", "replace")}, ensure_ascii=False).encode() + b"\n")
    return shards.documents


def check_tokenizer(shards: TokenShards, tokenizer: Tokenizer) -> None:
    """Raises DataError unless `tokenizer` is the one that encoded the shards."""
    if tokenizer.fingerprint != shards.manifest.fingerprint:
        raise DataError(
            f"{shards.path}: was encoded by another tokenizer (fingerprint {shards.manifest.fingerprint[:12]}, not "
            f"{tokenizer.fingerprint[:12]}); its own lies there as {shards.manifest.tokenizer}"
        )


def texts(shards: TokenShards) -> Iterator[bytes]:
    """The bytes of every document."""
    parts: list[bytes] = []
    for data, ends in read_texts(shards):
        start = 0
        for end in ends.tolist():
            parts.append(data[start:end])
            yield b"".join(parts)
            parts.clear()
            start = end
        parts.append(data[start:])


def raw(shards: TokenShards) -> Iterator[bytes]:
    """The bytes of the sources in parts: documents, with the separator where it was cut away."""
    separator = reader_options(shards.manifest.reader).separator
    if separator is None:
        for stretch in read_texts(shards):
            yield stretch.data
        return
    left = _documents_of_files(shards.manifest.sources)
    in_file = next(left, 0)
    for data, ends in read_texts(shards):
        start = 0
        parts = []
        for end in ends.tolist():
            parts.append(data[start:end])
            in_file -= 1
            if in_file > 0:
                parts.append(separator)
            else:
                in_file = next(left, 0)
            start = end
        parts.append(data[start:])
        yield b"".join(parts)


def _documents_of_files(sources: list[dict[str, Any]]) -> Iterator[int]:
    for source in sources:
        yield from (n for n in source.get("documents_per_file", [source["documents"]]) if n)
