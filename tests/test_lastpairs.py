import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kernel_ranktable import table_of, words

from fastbpe import lastpairs
from fastbpe.lastpairs import last_halves

LIMITS = [("MAX_WORK", 0), ("MAX_LATE", 0), ("MAX_LATE", 1 << 30)]


def arrays_of(ranks):
    tokens = sorted(ranks, key=ranks.get)
    ids = np.array([ranks[token] for token in tokens], np.uint32)
    byte_ids = np.array([ranks[bytes([byte])] for byte in range(256)], np.uint32)
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    return byte_ids, tokens, np.frombuffer(b"".join(tokens), np.uint8), starts, ids


def naive(ranks, token):
    """The last two parts of the token's bytes, by the rule of a rank table."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = map(bytes.__add__, parts, parts[1:])
        joined = [(ranks[pair], i) for i, pair in enumerate(pairs) if pair in ranks]
        if not joined:
            return [-1, -1]
        at = min(joined)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [ranks[part] for part in parts] if len(parts) == 2 else [-1, -1]


@pytest.mark.parametrize(("name", "limit"), LIMITS)
@given(st.lists(words, max_size=25), st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_the_last_pairs_of_any_table(name, limit, tokens, seed, n_late):
    """Of tables in any order, and of those that rise but for a few tokens."""
    ranks = table_of(tokens, np.random.default_rng(seed))
    if n_late < 6:
        rising = sorted(ranks, key=lambda token: (len(token), ranks[token]))
        late = sorted(rising[256:], key=ranks.get)[:n_late]
        listed = (
            rising[:256] + sorted(late, key=len, reverse=True) + [token for token in rising[256:] if token not in late]
        )
        ranks = {token: id for id, token in enumerate(listed)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lastpairs, name, limit)
        halves = last_halves(*arrays_of(ranks))
    expected = [naive(ranks, token) for token in sorted(ranks, key=ranks.get)]
    assert halves.dtype == np.int64 and halves.tolist() == expected


def test_tokens_that_hold_a_part():
    data, starts = np.frombuffer(b"abcabababc", np.uint8), np.array([0, 1, 3, 6, 8, 10])  # a bc aba ba bc
    assert lastpairs._holding([b"ba"], data, starts) == [2, 3]
    assert lastpairs._holding([b"ab", b"bc"], data, starts) == [1, 2, 4]
    assert lastpairs._holding([b"cab"], data, starts) == []
