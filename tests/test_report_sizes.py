"""report/sizes.py: undoing merges gives what a truncated tokenizer gives."""

import numpy as np
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import ranks_of, vocabulary

import fastbpe
from fastbpe.report.sizes import can_be_undone, curve_points, joins, stretches
from fastbpe.report.vocabulary import vocabulary_of
from fastbpe.tokenizer import Tokenizer

words = st.lists(st.text("aab c", min_size=1, max_size=12), min_size=1, max_size=6)


def counted(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    found = vocabulary_of(tokenizer)
    columns = [np.bincount(found.rows(tokenizer.encode_to_numpy(text)), minlength=len(found)) for text in texts]
    return np.column_stack(columns)


@settings(max_examples=effort(30))
@given(words, words, st.sampled_from(["gpt2", "none"]))
def test_every_size_is_that_of_the_truncated_tokenizer(learned: list[str], texts: list[str], pattern: str) -> None:
    tokenizer = fastbpe.train(iter(learned), 256 + 12, pattern=pattern, min_frequency=1)
    vocabulary = vocabulary_of(tokenizer)
    if not len(vocabulary.merges):
        assert not can_be_undone(vocabulary)
        return
    assert can_be_undone(vocabulary)
    counts = counted(tokenizer, texts)
    saved = joins(vocabulary, counts)
    for n in range(len(vocabulary.merges) + 1):
        expected = [tokenizer.truncate(256 + n).count(text) for text in texts]
        assert (counts.sum(axis=0) + saved[n:].sum(axis=0)).tolist() == expected


def test_a_published_rank_table() -> None:
    tokenizer = vocabulary("gpt2")
    found = vocabulary_of(tokenizer)
    assert can_be_undone(found)
    text = "Down the rabbit hole, the rabbit said: 月明星稀"
    counts = counted(tokenizer, [text])
    saved = joins(found, counts)
    assert counts.sum() + saved.sum() == len(text.encode())
    ranks = ranks_of("gpt2")
    for n in (300, 20_000):
        last = found.ids[found.merges[n, 2]]
        smaller = {token: rank for token, rank in ranks.items() if rank < last or len(token) == 1}
        assert counts.sum() + saved[n:].sum() == Tokenizer.from_ranks(smaller, "gpt2").count(text)


def test_what_cannot_be_undone() -> None:
    twice = Tokenizer.from_ranks({bytes([b]): b for b in range(256)}, "none")
    assert not can_be_undone(vocabulary_of(twice))
    low = vocabulary_of(Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None))
    assert can_be_undone(low)
    object.__setattr__(low, "merges", low.merges[::-1])
    assert not can_be_undone(low)


def test_points_and_stretches() -> None:
    assert curve_points(0) == [0] and curve_points(1) == [0, 1]
    points = curve_points(16_000)
    assert points[0] == 0 and points[-1] == 16_000 and points == sorted(set(points)) and len(points) < 70
    assert stretches(10) == [(k, k + 1) for k in range(10)]
    assert stretches(7_935)[0] == (0, 435) and stretches(7_935)[-1] == (7_435, 7_935)
    for n in (1, 24, 25, 999, 100_000):
        found = stretches(n)
        assert len(found) <= 24 and found[0][0] == 0 and found[-1][1] == n
        assert [stop for _, stop in found[:-1]] == [first for first, _ in found[1:]]
    assert stretches(0) == []
