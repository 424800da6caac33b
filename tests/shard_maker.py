"""Shards made of given documents, without the pipeline: for the tests of what reads them."""

import os
from pathlib import Path

import numpy as np
import pytest

from fastbpe.shards.journal import begin
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.writer import ShardWriter
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="none", special_tokens=["<s>", "<e>"])
BOS, EOS = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["<e>"]


def make_shards(directory, documents, shard_tokens=5, bos=False, eos=None, tokenizer=TOKENIZER) -> Manifest:
    """Writes documents (bytes) as shards; `eos` is None, "append" or "prepend"."""
    directory = Path(directory)
    tokens, ends = [], []
    for document in documents:
        tokens += [EOS] * (eos == "prepend") + [BOS] * bos + tokenizer.encode(document) + [EOS] * (eos == "append")
        ends.append(len(tokens))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        journal = begin(directory, {}, resume=False)
        with ShardWriter(journal, "p", tokenizer.id_limit, shard_tokens) as writer:
            writer.add(writer.pack(np.array(tokens, np.uint32)), np.array(ends, np.int64))
            shards = writer.finish()
        tokenizer.save(directory / "tokenizer.json")
        manifest = Manifest(
            tokenizer.fingerprint,
            writer.dtype.name,
            tokenizer.id_limit,
            len(tokens),
            len(documents),
            sum(map(len, documents)),
            bos_token="<s>" if bos else None,
            bos_id=BOS if bos else None,
            eos_token="<e>" if eos else None,
            eos_id=EOS if eos else None,
            eos_place=eos or "append",
            reader={"separator": None, "lines": False},
            shard_tokens=shard_tokens,
            shards=shards,
        )
        manifest.save(directory)
        journal.remove()
    return manifest
