"""kernels/wholechunks.pyx against a dict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.wholechunks import WholeTokens

tokens_of = st.lists(st.binary(min_size=1, max_size=40), unique=True, max_size=40)


def table(tokens):
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    return WholeTokens(
        np.frombuffer(b"".join(tokens), np.uint8), starts, np.arange(7, 7 + len(tokens), dtype=np.uint32)
    )


@given(tokens_of, st.lists(st.binary(max_size=41), max_size=20))
def test_equals_a_dict(tokens, others):
    whole, expected = table(tokens), {token: 7 + row for row, token in enumerate(tokens)}
    assert len(whole) == len(tokens)
    for chunk in tokens + others:
        assert whole.get(chunk) == expected.get(chunk)


def test_arrays_are_checked_at_the_door():
    data, ids = np.zeros(3, np.uint8), np.zeros(2, np.uint32)
    for starts, message in (([0, 1], "offsets"), ([0, 1, 2], "offsets"), ([0, 0, 3], "token 0 is empty")):
        with pytest.raises(ValueError, match=message):
            WholeTokens(data, np.array(starts, np.int64), ids)
