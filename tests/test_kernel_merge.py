"""kernels/merge.pyx against a full recount after every merge."""

import numpy as np
import pytest
import reference
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_corpora import corpora, learned, merger

from fastbpe.kernels.merge import Merger


@settings(deadline=None, max_examples=effort(300))
@given(
    corpora,
    st.integers(0, 60),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sampled_from(["lowest", "first"]),
    st.sampled_from([0, 2**16]),
    st.sampled_from([1, 3, 20]),
    st.sampled_from([0, 1, 4]),
)
def test_equals_recount(corpus, n_merges, min_frequency, max_token_length, tie_break, small, bits, candidates):
    expected, reason = reference.train(corpus, n_merges, min_frequency, max_token_length, tie_break)
    m = merger(
        corpus,
        n_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        tie_first=tie_break == "first",
        small=small,
        max_bucket_bits=bits,
        max_candidates=candidates,
    )
    m.run()
    assert learned(m) == expected
    assert m.stop_reason == reason


@settings(deadline=None, max_examples=effort(50))
@given(corpora, st.integers(1, 30), st.integers(1, 50))
def test_stopping_and_going_on_changes_nothing(corpus, n_merges, work):
    m = merger(corpus, n_merges, small=0)
    while m.stop_reason is None:
        m.run(work=work)
    whole = merger(corpus, n_merges)
    whole.run()
    assert [a.tolist() for a in m.merges()] == [a.tolist() for a in whole.merges()]
    assert m.stop_reason == whole.stop_reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 1]}, "starts must be"),
        ({"starts": [1, 2, 4]}, "starts must be"),
        ({"starts": [0, 5, 4]}, "starts falls at row 1"),
        ({"counts": [1, 0]}, "row 1 is 0"),
        ({"counts": [2**62, 1]}, r"2\*\*63"),
        ({"byte_ids": [0] * 256}, "permutation"),
        ({"n_merges": -1}, "n_merges must be"),
        ({"n_merges": 2**32}, "n_merges must be"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"max_bucket_bits": 0}, "max_bucket_bits"),
        ({"symbols": [0, 1]}, "without data"),
        ({"data": [], "symbols": [0, 9, 1, 1], "lengths": [1, 1]}, r"symbols\[1\] is 9"),
        ({"data": [], "symbols": [0, 1, 1, 1], "lengths": [1, 0]}, r"lengths\[1\] is 0"),
    ],
)
def test_arrays_are_checked_at_the_door(change, message):
    arrays = {"data": [1, 2, 3, 4], "starts": [0, 2, 4], "counts": [1, 1], "byte_ids": range(256)}
    dtypes = {"data": np.uint8, "byte_ids": np.uint32, "symbols": np.uint32}
    given = {**arrays, "n_merges": 1, **change}
    arguments = {
        name: np.array(value, dtypes.get(name, np.int64)) if isinstance(value, list | range) else value
        for name, value in given.items()
    }
    with pytest.raises(ValueError, match=message):
        Merger(**arguments)
