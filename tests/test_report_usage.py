"""report/usage.py: sums over batches are those of a plain count."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.report.characters import group_names
from fastbpe.report.usage import TextFigures, Usage, covering, gini, rank_frequency
from fastbpe.report.vocabulary import vocabulary_of
from fastbpe.tokenizer import Tokenizer

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 32), (230, 156)], pattern=None)
documents = st.lists(
    st.one_of(st.text("ab 月\n", max_size=8).map(str.encode), st.binary(max_size=4)), min_size=1, max_size=5
)


@given(st.lists(documents, min_size=1, max_size=3))
def test_texts_are_summed_up(batches: list[list[bytes]]) -> None:
    figures = TextFigures()
    for batch in batches:
        figures.add(batch, b"".join(batch))
    everything = [document for batch in batches for document in batch]
    texts = [document.decode("utf-8", "surrogateescape") for document in everything]
    assert figures.documents == len(everything)
    assert figures.n_bytes == sum(map(len, everything))
    # A document may end within a character that the next one's bytes complete: batches are one text here.
    joined = [b"".join(batch).decode("utf-8", "surrogateescape") for batch in batches]
    assert figures.characters == sum(map(len, joined))
    if all(text.isprintable() or "\n" in text for text in texts) and not any(
        "\udc80" <= c <= "\udcff" for t in texts for c in t
    ):
        assert figures.words == sum(len(text.split()) for text in texts)
        assert figures.invalid_bytes == 0


@given(documents)
def test_tokens_of_groups_add_up(batch: list[bytes]) -> None:
    usage = Usage(vocabulary_of(TOKENIZER))
    ids, _ = TOKENIZER.encode_batch_to_numpy(batch)
    data = b"".join(batch)
    usage.add(ids, TextFigures().add(batch, data))
    assert usage.tokens == len(ids)
    assert {row: n for row, n in enumerate(usage.counts.tolist()) if n} == dict(Counter(ids.tolist()))
    assert usage.group_tokens.sum() == pytest.approx(len(ids))


def test_a_token_counts_for_each_group_by_its_bytes() -> None:
    usage = Usage(vocabulary_of(TOKENIZER))
    text = "ab 月".encode()
    usage.add(TOKENIZER.encode_to_numpy(text), TextFigures().add([text], text))
    found = dict(zip(group_names(), usage.group_tokens.tolist(), strict=True))
    assert {name: round(n, 6) for name, n in found.items() if n} == {"Latin": 0.666667, "spaces": 0.333333, "Han": 2.0}


def test_small_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ab ab 月月 b".encode() * 9
    ids = TOKENIZER.encode_to_numpy(text)
    whole, parts = Usage(vocabulary_of(TOKENIZER)), Usage(vocabulary_of(TOKENIZER))
    whole.add(ids, TextFigures().add([text], text))
    monkeypatch.setattr("fastbpe.report.usage.SLICE_TOKENS", 5)
    parts.add(ids, TextFigures().add([text], text))
    assert parts.group_tokens == pytest.approx(whole.group_tokens)
    assert parts.counts.tolist() == whole.counts.tolist()


def test_ranks_and_shares() -> None:
    counts = np.array([0, 5, 1, 100, 5])
    assert rank_frequency(counts) == [(1, 100), (2, 5), (3, 5), (4, 1)]
    assert rank_frequency(np.zeros(3, np.int64)) == []
    assert len(rank_frequency(np.arange(10_000))) <= 200
    assert [covering(counts, share) for share in (0.5, 0.9, 0.91, 0.99, 1.0)] == [1, 1, 2, 3, 4]
    assert covering(np.zeros(3, np.int64), 0.5) == 0


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=8))
def test_gini_by_its_definition(values: list[float]) -> None:
    mean = sum(values) / len(values)
    expected = sum(abs(a - b) for a in values for b in values) / (2 * len(values) ** 2 * mean)
    assert gini(values) == pytest.approx(expected, abs=1e-9)


def test_gini_needs_two() -> None:
    assert gini([]) is None and gini([1.0]) is None and gini([0.0, 0.0]) is None
    assert gini([2.0, 2.0, 2.0]) == pytest.approx(0)
