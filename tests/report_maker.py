"""A small measurement and its figures, for the tests of what a report is made of."""

from functools import cache
from typing import Any

import numpy as np

import fastbpe
from fastbpe.report.gather import gather
from fastbpe.report.measured import Measured, Measurement
from fastbpe.report.sizes import can_be_undone, joins
from fastbpe.report.texts import Text
from fastbpe.report.usage import TextFigures, Usage
from fastbpe.report.vocabulary import vocabulary_of
from fastbpe.tokenizer import Tokenizer

POEMS = ["床前明月光，疑是地上霜。举头望明月，低头思故乡。\n", "明月出天山，苍茫云海间。\n"] * 6
CODE = ["def f(x):\n    return x + 1\n", "for x in range(10):\n    print(f(x))\n"] * 5
UNSEEN = ["白日依山尽，黄河入海流。\n", "while True: pass\n"]
SOURCES = [POEMS, CODE, UNSEEN]
HELD_OUT = [False, False, True]


@cache
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """One that is trained on all but what is held out, and a smaller one with another pattern."""
    first = fastbpe.train(POEMS + CODE, 256 + 60, special_tokens=["<|e|>"], eos_token="<|e|>")
    return first, fastbpe.train(CODE, 256 + 20, pattern="gpt2")


@cache
def measurement() -> Measurement:
    found = []
    texts = []
    for source in SOURCES:
        figures = TextFigures()
        documents = [text.encode() for text in source]
        figures.add(documents, b"".join(documents))
        texts.append(figures)
    for name, tokenizer in zip(("first", "second"), tokenizers(), strict=True):
        one = Measured(name, tokenizer, vocabulary_of(tokenizer))
        for source in SOURCES:
            usage = Usage(one.vocabulary)
            documents = [text.encode() for text in source]
            ids, _ = tokenizer.encode_batch_to_numpy(documents)
            usage.add(ids, TextFigures().add(documents, b"".join(documents)))
            one.usages.append(usage)
        assert can_be_undone(one.vocabulary)
        columns = [usage.counts for usage in one.usages]
        one.joins = joins(one.vocabulary, np.column_stack(columns))
        found.append(one)
    return Measurement(found, texts, HELD_OUT)


@cache
def figures() -> dict[str, Any]:
    """The whole report of the same texts; not to be changed."""
    return gathered()


def gathered(**options: Any) -> dict[str, Any]:
    """As `figures`, with other options."""
    first, second = tokenizers()
    names = ("poems", "code", "unseen")
    texts = [Text(source, out, name) for source, out, name in zip(SOURCES, HELD_OUT, names, strict=True)]
    return gather(first, texts, **{"against": {"second": second}, "name": "first", **options})
