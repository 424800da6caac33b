import pytest

from fastbpe.corpus.readers import ReaderOptions
from fastbpe.errors import ParameterError
from fastbpe.pipeline.settings import settled
from fastbpe.shards.manifest import Manifest
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([], pattern="none", special_tokens=["<e>", "<p>"], pad_token="<p>")


def test_entries_are_those_of_a_manifest():
    policy, entries = settled(TOKENIZER, ReaderOptions(lines=True), eos_token="<e>", val_fraction=0.5, errors="strict")
    assert policy.eos_id == 256
    manifest = Manifest(**entries, tokens=0, documents=0, bytes=0)
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert (manifest.reader["lines"], manifest.reader["errors"], manifest.val_fraction) == (True, "strict", 0.5)


def test_a_path_is_no_tokenizer():
    with pytest.raises(ParameterError, match=r"give what fastbpe\.load\(path\) returns, not str"):
        settled("tok.json", ReaderOptions())  # type: ignore[arg-type]


def test_shards_hold_whole_rows():
    _, entries = settled(TOKENIZER, ReaderOptions(), pack=7, shard_tokens=100)
    assert (entries["shard_tokens"], entries["pack"], entries["pad_token"], entries["pad_id"]) == (98, 7, "<p>", 257)
    with pytest.raises(ParameterError, match="no room for a row of 101"):
        settled(TOKENIZER, ReaderOptions(), pack=101, shard_tokens=100)
