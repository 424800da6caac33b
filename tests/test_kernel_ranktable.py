"""kernels/ranktable.pyx, and encoding by rank tables, against the reference."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.ranktable import last_pairs, rank_pairs, rising_pairs
from fastbpe.tokenizer import Tokenizer

words = st.binary(min_size=2, max_size=7).map(lambda b: bytes(97 + x % 3 for x in b))
chunks = st.binary(max_size=40).map(lambda b: bytes(97 + x % 3 for x in b)) | st.binary(max_size=6)


def table_of(tokens, order):
    """A rank table whose bytes stand in some order among the other tokens."""
    listed = [bytes([byte]) for byte in range(256)] + list(dict.fromkeys(tokens))
    ids = order.permutation(len(listed) + 3)[: len(listed)]  # with holes
    return {token: int(id) for token, id in zip(listed, ids, strict=True)}


@given(st.lists(words, max_size=25), st.integers(0, 2**32 - 1), st.lists(chunks, max_size=8), st.booleans())
def test_encoding_equals_the_reference(tokens, seed, texts, whole_chunk_first):
    ranks = table_of(tokens, np.random.default_rng(seed))
    tokenizer = Tokenizer.from_ranks(ranks, None, whole_chunk_first=whole_chunk_first)
    for text in texts:
        assert tokenizer.encode(text) == reference.encode_chunk_by_ranks(text, ranks, whole_chunk_first)


@given(st.lists(words, max_size=25))
def test_encoding_equals_the_reference_where_ranks_rise_with_length(tokens):
    listed = [bytes([byte]) for byte in range(256)] + sorted(set(tokens), key=lambda token: (len(token), token))
    ranks = {token: id for id, token in enumerate(listed)}
    tokenizer = Tokenizer.from_ranks(ranks, None, id_offset=5)
    for text in [b"".join(tokens), *tokens]:
        expected = [id + 5 for id in reference.encode_chunk_by_ranks(text, ranks)]
        assert tokenizer.encode(text) == expected


@given(st.lists(words, max_size=20), st.integers(0, 2**32 - 1))
def test_pairs_are_all_cuts_into_tokens(tokens, seed):
    ranks = table_of(tokens, np.random.default_rng(seed))
    listed = sorted(ranks, key=ranks.get)
    rows = {token: row for row, token in enumerate(listed)}
    expected = [
        [rows[token[:i]], rows[token[i:]], row]
        for row, token in enumerate(listed)
        for i in range(1, len(token))
        if token[:i] in rows and token[i:] in rows
    ]
    assert rank_pairs(listed, rows).tolist() == expected


def test_the_last_pair_of_each_token():
    listed = [bytes([byte]) for byte in range(256)] + [b"ab", b"bc", b"abc", b"zzz"]
    ids = np.arange(len(listed), dtype=np.uint32)
    rows = {token: row for row, token in enumerate(listed)}
    table = MergeList(ids[:256], rank_pairs(listed, rows), shared_ranks=True)
    starts = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    halves = last_pairs(table, np.frombuffer(b"".join(listed), np.uint8), starts, ids)
    assert halves[256:].tolist() == [[97, 98], [98, 99], [256, 99], [-1, -1]]
    assert (halves[:256] == -1).all()


@given(st.lists(words, max_size=25), st.integers(0, 2**32 - 1), st.booleans())
def test_rising_pairs_are_the_last_pairs_where_they_say_so(tokens, seed, rising):
    ranks = table_of(tokens, np.random.default_rng(seed))
    if rising:
        listed = sorted(ranks, key=lambda token: (len(token), ranks[token]))
        ranks = {token: id for id, token in enumerate(listed)}
    listed = sorted(ranks, key=ranks.get)
    ids = np.array([ranks[token] for token in listed], np.uint32)
    rows = {token: row for row, token in enumerate(listed)}
    byte_ids = np.array([ranks[bytes([byte])] for byte in range(256)], np.uint32)
    data, starts = np.frombuffer(b"".join(listed), np.uint8), np.cumsum([0, *map(len, listed)], dtype=np.int64)
    pairs = rank_pairs(listed, rows)
    all_pairs = MergeList(byte_ids, ids.astype(np.int64)[pairs], shared_ranks=True)
    found = rising_pairs(byte_ids, data, starts, ids)
    higher = [(left, right, row) for left, right, row in pairs.tolist() if found[row, 0] < 0 and max(left, right) > row]
    if not higher:
        assert found.tolist() == last_pairs(all_pairs, data, starts, ids).tolist()
    assert not (rising and higher)


def test_arrays_are_checked_at_the_door():
    table = MergeList(np.arange(256, dtype=np.uint32), np.zeros((0, 3), np.int64))
    data, ids = np.zeros(3, np.uint8), np.zeros(2, np.uint32)
    for starts, message in (([0, 1], "offsets"), ([0, 1, 2], "offsets"), ([0, 0, 3], "token 0 is empty")):
        with pytest.raises(ValueError, match=message):
            last_pairs(table, data, np.array(starts, np.int64), ids)
        with pytest.raises(ValueError, match=message):
            rising_pairs(np.arange(256, dtype=np.uint32), data, np.array(starts, np.int64), ids)
