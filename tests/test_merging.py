"""merging.py against the reference, and the limits of the counts."""

import numpy as np
import pytest
import reference
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.counts import ChunkCounts
from fastbpe.errors import ParameterError
from fastbpe.merging import TIE_BREAKS, MergeRules, learn_merges

chunks = st.binary(min_size=1, max_size=10) | st.text("ab ", min_size=1, max_size=12).map(str.encode)
corpora = st.dictionaries(chunks, st.integers(1, 6), max_size=12)


@settings(deadline=None, max_examples=effort(200))
@given(corpora, st.integers(0, 40), st.integers(1, 3), st.none() | st.integers(1, 5), st.sampled_from(TIE_BREAKS))
def test_equals_the_reference(corpus, n_merges, min_frequency, max_token_length, tie_break):
    expected, reason = reference.train(corpus, n_merges, min_frequency, max_token_length, tie_break)
    parts = []
    rules = MergeRules(min_frequency, max_token_length, tie_break)
    learned = learn_merges(ChunkCounts.from_dict(corpus), n_merges, rules, parts.append)
    columns = (*learned.pairs.T.tolist(), learned.counts.tolist(), learned.tokens_after.tolist())
    assert list(zip(*columns, strict=True)) == expected
    assert learned.stop_reason == reason
    assert np.concatenate([np.zeros((0, 2), np.int64), *(p.pairs for p in parts)]).tolist() == learned.pairs.tolist()


def test_a_count_beyond_32_bits_is_merged_in_its_place():
    corpus = {b"xy": 5_000_000_000, b"ab": 4_999_999_999, b"cd": 5_000_000_001}
    assert learn_merges(ChunkCounts.from_dict(corpus), 3).pairs.tolist() == [list(b"cd"), list(b"xy"), list(b"ab")]


def test_a_total_beyond_32_bits_over_many_chunks():
    corpus = {b"ab" + bytes([x, y]): 2**20 for x in range(128, 200) for y in range(128, 200)} | {b"cd": 2**32}
    learned = learn_merges(ChunkCounts.from_dict(corpus), 2)
    assert learned.pairs[0].tolist() == list(b"ab")
    assert learned.counts.tolist() == [72 * 72 * 2**20, 2**32]


def test_totals_of_64_bits_are_refused():
    with pytest.raises(ParameterError, match=r"2\*\*63"):
        ChunkCounts.from_dict({b"ab": 2**61, b"abcd": 2**61})
    assert learn_merges(ChunkCounts.from_dict({b"ab": 2**60, b"cd": 2**60}), 2).counts.tolist() == [2**60, 2**60]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tie_break": "random"}, "tie_break='random': choose lowest, huggingface or first"),
        ({"min_frequency": 0}, "min_frequency=0"),
        ({"max_token_length": 0}, "max_token_length=0"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        MergeRules(**options)
