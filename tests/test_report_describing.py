from report_maker import measurement
from vocabularies import vocabulary

import fastbpe
from fastbpe.report.describing import card, source
from fastbpe.report.measured import Measured
from fastbpe.report.texts import Text
from fastbpe.report.usage import TextFigures
from fastbpe.report.vocabulary import vocabulary_of
from fastbpe.tokenizer import Tokenizer


def carded(tokenizer: Tokenizer) -> dict:
    return card(Measured("t", tokenizer, vocabulary_of(tokenizer)))


def test_card_of_a_trained_tokenizer() -> None:
    found = card(measurement().main)
    tokenizer = measurement().main.tokenizer
    assert found["name"] == "first" and found["vocab_size"] == tokenizer.vocab_size
    assert found["merges"] == len(tokenizer.merges)
    assert found["roles"] == {"eos": "<|e|>"} and found["special_tokens"] == {"<|e|>": tokenizer.eos_id}
    assert (found["pattern_name"], found["kind"], found["normalizer"]) == ("cl100k", "merge list", None)
    assert found["record"]["corpus"]["documents"] == 22
    assert found["unbuildable"] == {"tokens": 0, "examples": []}


def test_cards_of_others() -> None:
    assert carded(vocabulary("gpt2"))["kind"] == "rank table"
    assert carded(fastbpe.CharTokenizer.from_characters("月明"))["kind"] == "characters"
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"\x1b[2J": 256}
    found = carded(Tokenizer.from_ranks(ranks, "none"))
    assert found["unbuildable"] == {"tokens": 1, "examples": [{"id": 256, "token": "\\x1b[2J"}]}


def test_source() -> None:
    text = Text(["ab c\xff".encode("latin-1")], True, "n")
    figures = TextFigures()
    for documents in text.batches(3):
        figures.add(documents, b"".join(documents))
    assert source(text, figures) == {
        "name": "n", "held_out": True, "documents": 1, "bytes": 3, "characters": 3, "words": 1, "invalid_bytes": 0,
        "part": "the first 3 bytes", "of_bytes": None,
    }  # fmt: skip
