"""Estimates: the right order of magnitude, from a little of the text, and nothing written."""

import json
import random
from pathlib import Path

import pytest

from fastbpe.corpus.sources import files
from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline import estimate as module
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.pipeline.estimate_encode import EncodingEstimate, estimate_encoding
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="gpt2", special_tokens=["<e>"])


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "LOOK_BYTES", 20_000)
    folder = tmp_path / "corpus"
    folder.mkdir()
    chance = random.Random(1)
    for i in range(100):
        lines = [json.dumps({"text": "abc " * chance.randrange(20) + "é"}) for _ in range(20)]
        (folder / f"{i:02}.jsonl").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize(
    "parameters",
    [
        {"shard_tokens": 10_000},
        {"shard_tokens": 10_000, "val_fraction": 0.1, "pack": 64, "pad_token": "<e>", "shuffle": 1},
        {"format": "megatron"},
    ],
)
def test_what_a_part_tells_of_the_whole(corpus: Path, tmp_path: Path, parameters: dict) -> None:
    out = tmp_path / "not" / "there"
    expected = estimate_encoding(TOKENIZER, files(corpus), out, 1, eos_token="<e>", **parameters)
    assert not out.parent.exists()
    manifest = encode_dataset(TOKENIZER, files(corpus), out, eos_token="<e>", **parameters)
    assert expected.files == 100 and expected.looked_at <= 20_000
    for name in ("tokens", "documents"):
        assert 0.7 < getattr(expected, name) / getattr(manifest, name) < 1.4, name
    assert 0.7 < expected.text_bytes / manifest.bytes < 1.4
    assert abs(expected.shards - len(manifest.shards)) <= 2
    assert expected.dtype == manifest.dtype
    names = [name for shard in manifest.shards for name in (shard.file, shard.index)]
    written = sum((out / name).stat().st_size for name in [manifest.tokenizer, *names])
    assert 0.6 < expected.disk_bytes / written < 1.4
    assert expected.disk_free > 0 and expected.seconds > 0 and expected.memory_bytes > 1 << 20


def test_what_is_told() -> None:
    expected = EncodingEstimate(1, 10**9, 10**6, 1234, 271_828_182, 3, "uint16", 9.4, 2 * 10**8, 6 * 10**8, 10**8)
    assert expected.told().splitlines() == [
        "text      1.0 GB in 1 file, 1.0 MB looked at",
        "encoding  about 9 s",
        "tokens    about 270,000,000 of about 1,200 documents",
        "shards    about 3 of uint16",
        "memory    about 200.0 MB",
        "disk      about 600.0 MB, 100.0 MB are free: that is not enough",
    ]
    assert expected.as_json()["tokens"] == 271_828_182


def test_what_cannot_be_estimated(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="may be read once"):
        estimate_encoding(TOKENIZER, files("-"), tmp_path / "out")
    with pytest.raises(ParameterError, match="no pad role"):
        estimate_encoding(TOKENIZER, files(corpus), tmp_path / "out", pack=8)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match="nothing to be read"):
        estimate_encoding(TOKENIZER, files(tmp_path / "empty.jsonl"), tmp_path / "out")
