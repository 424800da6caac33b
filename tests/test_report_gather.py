"""report/gather.py: the figures as a whole."""

import json

import pytest
from report_maker import CODE, POEMS, figures, gathered, tokenizers

import fastbpe
from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline.progress import Event
from fastbpe.report.gather import gather
from fastbpe.report.texts import Text


def test_figures_are_json_and_depend_on_nothing_else() -> None:
    found = figures()
    assert json.loads(json.dumps(found))["format"] == "fastbpe report"
    assert gathered(threads=1) == gathered(threads=3) == found
    assert [card["name"] for card in found["tokenizers"]] == ["first", "second"]
    assert [source["name"] for source in found["sources"]] == ["poems", "code", "unseen"]
    assert found["sources"][0]["documents"] == len(POEMS)
    assert found["sources"][2]["held_out"]


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = figures()
    monkeypatch.setattr("fastbpe.report.texts.BATCH_BYTES", 100)
    monkeypatch.setattr(Text.batches, "__defaults__", (100,))
    assert {**gathered(), "samples": None, "scripts": None} == {**found, "samples": None, "scripts": None}


def test_special_tokens_are_recognised_where_allowed() -> None:
    first, second = tokenizers()
    tokens = {}
    for allowed in ((), "all", ("<|e|>",)):
        found = gather(first, [Text(["a<|e|>"])], {"second": second}, allowed_special=allowed)
        tokens[allowed] = [row["tokens"] for row in found["efficiency"]["all"]]
    assert tokens["all"] == tokens["<|e|>",] == [2, tokens[()][1]]
    assert tokens[()][0] > 2


def test_a_normalizing_tokenizer_is_measured_on_its_own_text() -> None:
    tokenizer = fastbpe.train(CODE, 256 + 20, normalizer="NFC")
    found = gather(tokenizer, [Text(["e\u0301" * 5])])
    assert found["sources"][0]["characters"] == 10
    assert found["efficiency"]["all"][0]["tokens"] == tokenizer.count("é" * 5)
    assert sum(row["tokenizers"][0]["tokens"] for row in found["scripts"]) in (0, tokenizer.count("é" * 5))


def test_names_are_told_apart() -> None:
    first, second = tokenizers()
    found = gather(first, [Text(CODE)], {"tokenizer": second, "tokenizer (2)": second})
    assert [card["name"] for card in found["tokenizers"]] == ["tokenizer", "tokenizer (2)", "tokenizer (2) (2)"]


def test_a_bound_is_shared() -> None:
    first, _ = tokenizers()
    found = gather(first, [Text(iter(["a" * 1000])), Text(["b" * 10])], max_bytes="200B")
    assert [source["bytes"] for source in found["sources"]] == [100, 10]
    assert [source["part"] for source in found["sources"]] == ["the first 100 bytes", None]


def test_only_the_first_sources_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.report.gather.SAMPLES", 1)
    found = gathered()
    assert [bool(source) for source in found["samples"][0]["sources"]] == [True, False, False]


def test_progress() -> None:
    events: list[Event] = []
    gathered(progress=events.append)
    assert [event.phase for event in events if event.finished] == ["read", "undo"]
    assert next(event for event in events if event.finished).done == sum(
        source["bytes"] for source in figures()["sources"]
    )


def test_errors() -> None:
    first, _ = tokenizers()
    with pytest.raises(ParameterError, match="needs a text"):
        gather(first, [])
    with pytest.raises(ParameterError, match="at least a byte"):
        gather(first, [Text(["a"]), Text(["b"])], max_bytes=1)
    with pytest.raises(ParameterError, match="max_bytes"):
        gather(first, [Text(["a"])], max_bytes="much")
    with pytest.raises(DataError, match="nothing to measure"):
        gather(first, [Text([""])])
    with pytest.raises(DataError, match="none of the 2 characters"):
        gather(first, [Text(["月"])], {"characters": fastbpe.CharTokenizer.from_characters("ab")})
    with pytest.raises(ParameterError, match="not a special token"):
        gather(first, [Text(["a"])], allowed_special=("<|x|>",))
