"""report/learning.py: what merges bought, held against truncated tokenizers."""

import pytest
from report_maker import SOURCES, measurement, tokenizers

import fastbpe
from fastbpe.report import learning
from fastbpe.report.measured import Measured, Measurement
from fastbpe.report.vocabulary import vocabulary_of

TEXTS = [text for source in SOURCES for text in source]


def tokens(tokenizer: fastbpe.Tokenizer, texts: list[str]) -> int:
    return sum(map(tokenizer.count, texts))


def test_sizes_are_those_of_truncated_tokenizers() -> None:
    curve, smaller = learning.sizes(measurement())
    assert curve is not None and smaller is not None
    first = tokenizers()[0]
    assert curve["vocab_size"][0] == 257 and curve["vocab_size"][-1] == first.vocab_size
    for at, size in enumerate(curve["vocab_size"]):
        cut = first.truncate(size)
        assert curve["all"]["tokens"][at] == tokens(cut, TEXTS)
        assert curve["held_out"]["tokens"][at] == tokens(cut, SOURCES[2])
        assert curve["training"]["tokens"][at] == tokens(cut, SOURCES[0] + SOURCES[1])
    assert curve["all"]["bytes_per_token"][0] == 1.0
    assert learning.parts_of_curve(curve) == {"training": "-", "held_out": "--"}
    whole = measurement()
    (alone, _) = learning.sizes(Measurement(whole.tokenizers, whole.texts, [False] * 3))
    assert learning.parts_of_curve(alone) == {"all": "-"}


def test_gains_and_the_last_merges() -> None:
    found = learning.gains(measurement())
    assert found is not None
    first = tokenizers()[0]
    for row in found:
        before, after = (
            tokens(first.truncate(257 + row["first"]), TEXTS),
            tokens(first.truncate(257 + row["stop"]), TEXTS),
        )
        assert row["saved"] == before - after
        assert row["of_tokens"] == pytest.approx((before - after) / before, rel=1e-5)
    assert found[-1]["stop"] == len(first.merges)
    last = learning.last(measurement(), 10)
    assert last is not None
    assert last["saved"] == tokens(first.truncate(first.vocab_size - 10), TEXTS) - tokens(first, TEXTS)
    counts = measurement().main.counts
    assert [row["count"] for row in last["best"]] == sorted((row["count"] for row in last["best"]), reverse=True)
    assert all(counts[row["id"]] == row["count"] for row in last["best"])


def test_last_merges_are_listed() -> None:
    rows = learning.last_merges(measurement(), 5)
    first = tokenizers()[0]
    assert [row["rank"] for row in rows] == list(range(len(first.merges) - 5, len(first.merges)))
    for row in rows:
        cut = 257 + row["rank"]
        assert row["saved"] == tokens(first.truncate(cut), TEXTS) - tokens(first.truncate(cut + 1), TEXTS)
        assert row["learned_count"] == first.model.counts[row["rank"]]
    weighted = fastbpe.train(fastbpe.ChunkCounts.from_dict({b"abab": 3}, pattern="none").times("1/2"), 257)
    one = Measured("w", weighted, vocabulary_of(weighted), measurement().main.usages[:0])
    one.usages.append(type(measurement().main.usages[0])(one.vocabulary))
    assert learning.last_merges(Measurement([one], measurement().texts[:1], [False]))[0]["learned_count"] == "3"


def test_tokens_never_used() -> None:
    found = learning.unused(measurement())
    for one, row in zip(measurement().tokenizers, found, strict=True):
        used = {id for text in TEXTS for id in one.tokenizer.encode(text)}
        never = [id for id in range(256, 256 + len(one.tokenizer.merges)) if id not in used]
        counts = dict(zip(one.vocabulary.ids.tolist(), one.counts.tolist(), strict=True))
        made = [
            counts[id] for id in range(256, one.tokenizer.vocab_size) if id not in one.tokenizer.special_tokens.values()
        ]
        assert row["below_hundred"] == sum(count < 100 for count in made)
        assert row["below_ten"] == sum(0 < count < 10 for count in made)
        assert row["never_used"] == len(never) == row["steps"] + row["idle"]
        # Without an idle token nothing changes.
        assert len(row["longest_idle"]) == min(row["idle"], learning.LISTED)
    fresh = fastbpe.train(["abcabc abcabc zzzz zzzz"], 256 + 8, pattern="gpt2")
    figures = fastbpe.report.gather.gather(fresh, [fastbpe.report.texts.Text(["abcabc abcabc"])])
    (row,) = figures["unused"]
    assert row["longest_idle"][0]["token"] == " zzzz"
    assert row["idle"] >= 2


def test_where_merges_cannot_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measurement()
    bare = Measurement(
        [Measured(one.name, one.tokenizer, one.vocabulary, one.usages) for one in whole.tokenizers],
        whole.texts,
        whole.held_out,
    )
    assert learning.sizes(bare) == [None, None]
    assert learning.gains(bare) is None and learning.last(bare, 5) is None
    assert all(row["saved"] is None for row in learning.last_merges(bare))
    # Steps are then parts of used tokens, which is the same here.
    assert [row["idle"] for row in learning.unused(bare)] == [row["idle"] for row in learning.unused(whole)]


def test_lengths_frequencies_scripts() -> None:
    lengths = learning.lengths(measurement())[0]
    assert sum(lengths["vocabulary"].values()) == tokenizers()[0].vocab_size - 1
    assert sum(lengths["texts"].values()) == tokens(tokenizers()[0], TEXTS)
    found = learning.frequencies(measurement())[0]
    assert found["points"][0][0] == 1 and found["covering"]["0.5"] <= found["covering"]["0.99"]
    rows = learning.vocabulary_scripts(measurement())[0]
    assert sum(row["tokens"] for row in rows) == tokenizers()[0].vocab_size - 1
    assert all(0 <= row["used"] <= row["tokens"] for row in rows)
    assert sum(row["used"] for row in rows) == (measurement().main.counts > 0).sum()
