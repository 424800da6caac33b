import json
from dataclasses import replace

import pytest

from fastbpe.errors import DataError, FormatError
from fastbpe.shards.manifest import Manifest, ShardEntry

SHARD = ShardEntry("tokens_train_000000.npy", "index/000000.npy", "train", 5, 2, "aa", "bb")
MANIFEST = Manifest("f" * 64, "uint16", 300, 5, 2, 9, eos_token="<e>", eos_id=299, shards=[SHARD])


def test_round_trip(tmp_path):
    MANIFEST.save(tmp_path)
    assert Manifest.load(tmp_path) == MANIFEST
    assert MANIFEST.to_json() == Manifest.load(tmp_path).to_json()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda values: "{", "is no JSON"),
        (lambda values: "[1]", "is no manifest"),
        (lambda values: values | {"format": "other"}, "is no manifest"),
        (lambda values: values | {"version": 2}, "version 2"),
        (lambda values: values | {"more": 1}, "unknown entries"),
        (lambda values: {name: values[name] for name in values if name != "dtype"}, "missing"),
        (lambda values: {name: values[name] for name in values if name != "shards"}, "missing"),
        (lambda values: values | {"tokens": 6}, "not 6 tokens"),
        (lambda values: values | {"dtype": "int16"}, "dtype is 'int16', but ids below 300 are uint16 in its form, npy"),
        (lambda values: values | {"form": "nanogpt", "id_limit": 1 << 17}, "nanogpt holds ids below 65536"),
        (lambda values: values | {"form": "zarr"}, "format='zarr': choose"),
        (lambda values: values | {"tokenizer": 5}, "tokenizer is 5"),
        (lambda values: values | {"eos_id": "x"}, "eos_id is 'x'"),
        (lambda values: values | {"id_limit": True}, "id_limit is True"),
        (lambda values: values | {"bytes": -1}, "bytes is -1"),
        (lambda values: values | {"pack": 4}, "pack is 4 and pad_id None"),
        (lambda values: values | {"pack": 0, "pad_id": 3}, "pack is 0"),
        (lambda values: values | {"reader": {"separator": 5}}, "reader: separator is 5"),
        (lambda values: values | {"reader": {"separator": ""}}, "reader: separator is ''"),
        (lambda values: values | {"reader": {"separator": {"hex": "zz"}}}, "reader: separator is {'hex': 'zz'}"),
        (lambda values: values | {"reader": {"separator": {"hex": 3}}}, "reader: separator is"),
        (lambda values: values | {"reader": {"separator": {"oct": "00"}}}, "reader: separator is"),
        (lambda values: values | {"reader": {"lines": 1}}, "reader: lines is 1"),
        (lambda values: values | {"reader": {"where": ["a"]}}, "reader: where is"),
        (lambda values: values | {"reader": {"where": {"a": 1}}}, "reader: where is"),
        (lambda values: values | {"reader": {"members": 1}}, "reader: members is 1"),
        (lambda values: values | {"reader": {"text_field": []}}, r"reader: text_field is \[\]"),
        (lambda values: values | {"reader": {"errors": "no"}}, "reader: errors is 'no'"),
        (lambda values: values | {"sources": [3]}, "sources has 3"),
        (lambda values: values | {"sources": [{"documents": 1, "documents_per_file": ["x"]}]}, "documents_per_file is"),
        (lambda values: values | {"shards": [values["shards"][0] | {"documents": -3}]}, "documents is -3"),
    ],
)
def test_damaged(change, what):
    changed = change(json.loads(MANIFEST.to_json()))
    text = changed if isinstance(changed, str) else json.dumps(changed)
    with pytest.raises(FormatError, match=what):
        Manifest.from_json(text)


def test_every_changed_byte_is_seen():
    """Or changes nothing: a space beside the values."""
    manifest = replace(MANIFEST, sources=[{"name": "a", "documents": 2}], reader={"separator": "|"}, checksums=["00ff"])
    text = manifest.to_json()
    for at, character in enumerate(text):
        for bit in (1, 4, 16):
            changed = text[:at] + chr(ord(character) ^ bit) + text[at + 1 :]
            try:
                assert Manifest.from_json(changed, "out/manifest.json") == manifest
            except FormatError as error:
                assert str(error).startswith("out/manifest.json: ")
    for size in range(len(text) - 1):
        with pytest.raises(FormatError, match="is no JSON"):
            Manifest.from_json(text[:size])


def test_marks():
    assert MANIFEST.marks() == (None, 299)
    assert replace(MANIFEST, bos_token="<b>", bos_id=298).marks() == (298, 299)
    assert replace(MANIFEST, eos_place="prepend").marks() == (299, None)
    assert replace(MANIFEST, eos_place="prepend", eos_id=None, bos_id=3).marks() == (3, None)


def test_missing(tmp_path):
    with pytest.raises(DataError, match="no such directory"):
        Manifest.load(tmp_path / "missing")
    with pytest.raises(DataError, match=r"has no manifest\.json"):
        Manifest.load(tmp_path)
    (tmp_path / "journal.jsonl").write_text("")
    with pytest.raises(DataError, match="not finished; finish it by the same command with --resume"):
        Manifest.load(tmp_path)
