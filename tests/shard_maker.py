"""Shards made of given documents, without the pipeline: for the tests of what reads them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from fastbpe.shards.crc import crc32_of_values
from fastbpe.shards.journal import begin
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.packing import RowPacker
from fastbpe.shards.writer import ShardWriter
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="none", special_tokens=["<s>", "<e>"])
BOS, EOS = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["<e>"]


def make_shards(directory, documents, shard_tokens=5, bos=False, eos=None, tokenizer=TOKENIZER, pack=None) -> Manifest:
    """Writes documents (bytes) as shards; `eos` is None, "append" or "prepend"; rows of `pack` tokens end in bos."""
    directory = Path(directory)
    tokens, ends = [], []
    for document in documents:
        tokens += [EOS] * (eos == "prepend") + [BOS] * bos + tokenizer.encode(document) + [EOS] * (eos == "append")
        ends.append(len(tokens))
    rows = RowPacker(pack or 1, BOS)
    if pack:
        made, ends = rows.take(np.array(tokens, np.uint16), np.array(ends, np.int64))
        tokens = [*made.tolist(), *rows.rest(made.dtype).tolist()]
        shard_tokens *= pack
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
            pack=pack,
            pad_id=BOS if pack else None,
            padding=rows.padding if pack else 0,
            longer_than_row=rows.longer if pack else 0,
        )
        manifest.save(directory)
        journal.remove()
    return manifest


def change_manifest(out, **values):
    """Gives entries other values, with the checksum that goes with them."""
    path = Path(out) / "manifest.json"
    changed = json.loads(path.read_text()) | values
    del changed["crc32"]
    path.write_text(json.dumps(changed | {"crc32": crc32_of_values(changed)}))
