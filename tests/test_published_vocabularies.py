"""Ids of published vocabularies, row by row of tiktoken's."""

import json
import lzma

import pytest
from vocabularies import DATA, VOCABULARIES, vocabulary

ROWS = [json.loads(line) for line in lzma.decompress((DATA / "golden_public.jsonl.xz").read_bytes()).splitlines()]


@pytest.mark.parametrize("name", VOCABULARIES)
def test_golden_rows(name: str) -> None:
    tokenizer = vocabulary(name)
    rows = [row for row in ROWS if row["vocab"] == name]
    assert rows
    for row in rows:
        allowed = "all" if row["mode"] == "special" else ()
        ids = tokenizer.encode(row["text"], allowed_special=allowed)
        assert ids == row["ids"], row
        decoded = tokenizer.encode(tokenizer.decode_bytes(ids), allowed_special=allowed)
        assert decoded == ids


def test_a_batch_gives_the_same() -> None:
    tokenizer = vocabulary("cl100k_base")
    rows = [row for row in ROWS if row["vocab"] == "cl100k_base" and row["mode"] == "ordinary"]
    assert tokenizer.encode_batch([row["text"] for row in rows], threads=2) == [row["ids"] for row in rows]


def test_saved_and_loaded(tmp_path) -> None:
    tokenizer = vocabulary("gpt2")
    tokenizer.save(tmp_path / "gpt2.json")
    loaded = type(tokenizer).load(tmp_path / "gpt2.json")
    assert loaded == tokenizer
    assert loaded.model.priority == "rank table"
    assert loaded.encode("Hello, world!") == tokenizer.encode("Hello, world!") == [15496, 11, 995, 0]
