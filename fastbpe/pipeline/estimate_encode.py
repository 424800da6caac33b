"""What an encoding will take, from a look at a little of the text (--dry-run). Nothing is written."""

import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastbpe.corpus.sources import Corpus, Files
from fastbpe.corpus.weights import Weights
from fastbpe.errors import DataError, ParameterError
from fastbpe.formats.own import dumps
from fastbpe.npy_header import npy_header
from fastbpe.pipeline.estimate import about, duration, look, rounded
from fastbpe.pipeline.memory import resident_memory
from fastbpe.pipeline.progress import amount
from fastbpe.pipeline.settings import settled
from fastbpe.pipeline.shuffle import BUFFER_BYTES
from fastbpe.shards.forms import form_named
from fastbpe.shards.packing import RowPacker
from fastbpe.text import counted
from fastbpe.threads import thread_count
from fastbpe.tokenizer import Tokenizer

WRITING = 1.4
"""Reading, checks and the disk beside the encoding itself, as a part of it."""
READING_BYTES = 64 << 20
THREAD_BYTES = 32 << 20
"""Of a thread: its cache, the stretches on their way to it and from it."""


@dataclass(frozen=True)
class EncodingEstimate:
    """tokens: padding included. disk_bytes: of shards, their index and the tokenizer beside them; disk_free: where they
    are to lie."""

    files: int
    text_bytes: int
    looked_at: int
    documents: int
    tokens: int
    shards: int
    dtype: str
    seconds: float
    memory_bytes: int
    disk_bytes: int
    disk_free: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": round(self.seconds, 1)}

    def told(self) -> str:
        """The figures for people."""
        less = "" if self.disk_free >= self.disk_bytes else ": that is not enough"
        looked = f"{about(self.looked_at)} looked at"
        return "\n".join(
            (
                f"text      {amount(self.text_bytes, 'bytes')} in {counted(self.files, 'file')}, {looked}",
                f"encoding  about {duration(self.seconds)}",
                f"tokens    about {rounded(self.tokens):,} of about {counted(rounded(self.documents), 'document')}",
                f"shards    about {rounded(self.shards):,} of {self.dtype}",
                f"memory    about {about(self.memory_bytes)}",
                f"disk      about {about(self.disk_bytes)}, {about(self.disk_free)} are free{less}",
            )
        )


def estimate_encoding(
    tokenizer: Tokenizer, source: Files, out: str | os.PathLike[str], threads: int | None = None, **parameters: Any
) -> EncodingEstimate:
    """What `encode_dataset` with the same parameters will take and make.

    Raises ParameterError for parameters that it would refuse and for sources that can be read only once, DataError when
    there is nothing to look at.
    """
    workers = thread_count(threads)
    corpus = Corpus(source, exclude=out)
    policy, entries = settled(tokenizer, corpus.options, **parameters)
    survey = corpus.survey()
    if survey is None:
        raise ParameterError("a dry run reads a little of files on this machine; what is named here may be read once")
    memory = resident_memory() + READING_BYTES + workers * THREAD_BYTES
    ratio, pieces, documents = look(source, list(corpus.states()), Weights(None))
    if not pieces:
        raise DataError("nothing to be read was found")
    # Pieces are cut anywhere; a character tokenizer has no token for half a character.
    texts = [text.decode("utf-8", "ignore").encode() for _, text in pieces]
    looked_at = sum(map(len, texts))
    allowed = [] if policy.allowed is None else [name.decode() for name, _ in policy.allowed.tokens]
    started = time.perf_counter()
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, allowed_special=allowed, threads=workers)
    rate = looked_at / max(1e-6, time.perf_counter() - started)
    marks = sum(mark is not None for mark in (policy.bos_id, policy.eos_id))
    n_tokens = len(ids) + marks * documents
    if entries["pack"] is not None:
        rows = RowPacker(entries["pack"], entries["pad_id"])
        rows.take(ids, offsets[1:])
        n_tokens += rows.padding
    text_bytes = survey.text_bytes or int(survey.bytes * ratio)
    scale = text_bytes / max(1, looked_at)
    tokens = int(n_tokens * scale)
    form = form_named(entries["form"])
    dtype = form.dtype(tokenizer.id_limit)
    splits = 2 if entries["val_fraction"] else 1
    shards = splits if form.one_file else max(splits, -(-tokens // entries["shard_tokens"]))
    headers = len(form.header(dtype, 0)) + len(npy_header(np.dtype(np.int64), 0))
    beside = shards * headers + len(dumps(tokenizer))
    if entries["shuffle"] is not None:
        memory += 2 * min(BUFFER_BYTES, text_bytes)
    return EncodingEstimate(
        survey.files,
        text_bytes,
        looked_at,
        int(documents * scale),
        tokens,
        shards,
        dtype.name,
        text_bytes / rate * WRITING,
        memory,
        tokens * dtype.itemsize + int(documents * scale) * np.dtype(np.int64).itemsize + beside,
        shutil.disk_usage(_existing(Path(out))).free,
    )


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above that there is."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
