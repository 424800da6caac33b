import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import token_bytes
from test_kernel_encode import invented, trained

from fastbpe.errors import ParameterError
from fastbpe.kernels.doublearray import trie_of
from fastbpe.kernels.tokens import tokens_of_merges


def trie_of_pairs(pairs):
    merges = np.array(pairs, np.int64).reshape(-1, 2)
    return trie_of(merges, *tokens_of_merges(merges))


@st.composite
def wide_tokens(draw):
    """Pairs that build parts of characters of three and four bytes, and what follows them, byte by byte."""
    row_of = {bytes([byte]): byte for byte in range(256)}
    pairs = []
    for word in draw(st.lists(st.text("一丁並🐀🐁a", min_size=1, max_size=3).map(str.encode), max_size=6)):
        for end in range(2, draw(st.integers(2, len(word) + 1))):
            if word[:end] not in row_of:
                row_of[word[:end]] = 256 + len(pairs)
                pairs.append((row_of[word[: end - 1]], word[end - 1]))
    return pairs


TEXTS = st.lists(
    st.text("ab\u00e9一丁並🐀🐁", min_size=1, max_size=6).map(str.encode) | st.binary(min_size=1, max_size=6),
    min_size=1,
    max_size=4,
).map(b"".join)


@given(trained() | invented() | wide_tokens(), st.lists(TEXTS, min_size=1, max_size=5))
def test_the_longest_token_is_found(pairs, texts):
    tokens = token_bytes(pairs)
    row_of = {token: row for row, token in tokens.items()}
    trie = trie_of_pairs(pairs)
    assert (trie is None) == (len(row_of) < len(tokens))
    if trie is None:
        return
    texts += [token + rest for token in tokens.values() for rest in (b"", b"a", b"\x80\x80")]
    for text in texts:
        longest = max((token for token in row_of if text.startswith(token)), key=len)
        assert trie.longest(text) == (row_of[longest], len(longest))


def test_many_tokens_lie_without_much_waste():
    pairs = np.random.default_rng(0).permutation(65536)[:20_000]
    merges = np.column_stack((pairs >> 8, pairs & 255))
    trie = trie_of_pairs(merges)
    assert len(pairs) < trie.n_slots < 70_000
    for row in (0, 7, 19_999):
        assert trie.longest(bytes(merges[row].tolist()) + b"x") == (256 + row, 2)


def test_arrays_that_do_not_fit_are_refused():
    merges = np.array([[97, 98], [256, 99]], np.int64)
    data, starts = tokens_of_merges(merges)
    assert trie_of(merges, data, starts).longest(b"abcd") == (257, 3)
    late, empty, long = merges.copy(), starts.copy(), starts.copy()
    late[0, 0], empty[257], long[-1] = 256, starts[256], len(data) + 1
    for bad in (
        (merges[:, :1].copy(), data, starts),
        (merges[:1], data, starts),
        (merges, data[:-1], starts),
        (merges, data, starts[1:]),
        (late, data, starts),
        (-merges, data, starts),
        (merges, data, empty),
        (merges, data, long),
    ):
        with pytest.raises(ParameterError, match="the bytes of their tokens"):
            trie_of(*bad)
    with pytest.raises(ParameterError, match="empty text"):
        trie_of(merges, data, starts).longest(b"")
