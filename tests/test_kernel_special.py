import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.kernels.special import SpecialTrie, last_behind, make_spans, occurrences

LETTERS = st.text("ab<", max_size=30).map(str.encode)
TOKENS = st.lists(st.text("ab<", min_size=1, max_size=5).map(str.encode), max_size=6, unique=True)


def naive_cuts(data, tokens):
    """[(start, stop, id)], leftmost, then longest."""
    cuts, at = [], 0
    while at < len(data):
        fits = [(len(token), id) for id, token in enumerate(tokens) if data.startswith(token, at)]
        if fits:
            length, id = max(fits)
            cuts.append((at, at + length, id))
            at += length
        else:
            at += 1
    return cuts


def trie_of(tokens):
    return SpecialTrie([(token, id) for id, token in enumerate(tokens)])


@given(LETTERS, TOKENS)
def test_find_is_leftmost_longest(data, tokens):
    trie = pickle.loads(pickle.dumps(trie_of(tokens)))
    cuts, at = [], 0
    while (found := trie.find(data, at)) is not None:
        cuts.append(found)
        at = found[1]
    assert cuts == naive_cuts(data, tokens)
    assert trie.longest == max(map(len, tokens), default=0)


@given(st.lists(LETTERS, max_size=4), TOKENS, st.sampled_from([-1, 70]), st.sampled_from([-1, 71]))
def test_make_spans_cuts_each_document(documents, tokens, bos, eos):
    data = b"".join(documents)
    ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
    starts = ends - np.array([len(document) for document in documents], np.int64)
    spans, firsts = make_spans(data, starts, ends, trie_of(tokens), bos, eos)
    expected, first = [], [0]
    for document, start, end in zip(documents, starts.tolist(), ends.tolist(), strict=True):
        expected += [(start, start, start, bos)] * (bos >= 0)
        at = start
        for cut_start, cut_stop, id in naive_cuts(document, tokens):
            expected += [(at, start + cut_start, start + cut_start, -1)] * (start + cut_start > at)
            at = start + cut_stop
            expected.append((start + cut_start, at, at, id))
        expected += [(at, end, end, -1)] * (end > at)
        expected += [(end, end, end, eos)] * (eos >= 0)
        first.append(len(expected))
    assert [tuple(row) for row in spans.tolist()] == expected
    assert firsts.tolist() == first
    assert spans.dtype == np.int64 and spans.shape[1] == 4 and firsts.dtype == np.int64


@given(LETTERS, TOKENS, st.integers(0, 30), st.integers(0, 30))
def test_occurrences_sees_every_overlap_and_what_the_end_cuts_off(data, tokens, lo, hi):
    lo, hi = sorted((min(lo, len(data)), min(hi, len(data))))
    overlaps = any(
        data.startswith(token, at) and at < hi and at + len(token) > lo for token in tokens for at in range(len(data))
    )
    cut_off = any(token.startswith(data[at:]) and len(token) > len(data) - at for token in tokens for at in range(hi))
    assert occurrences(trie_of(tokens), data, lo, hi) == (lo < hi and (overlaps or cut_off))


@given(LETTERS, LETTERS, TOKENS, st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_behind_a_token_it_is_sure_to_be_found(data, after, tokens, lo, hi, begin):
    lo, hi = sorted((min(lo, len(data)), min(hi, len(data))))
    begin = min(begin, len(data))
    place = last_behind(trie_of(tokens), data, lo, hi, begin)
    ends = {begin + stop for _, stop, _ in naive_cuts(data[begin:] + after, tokens)}
    assert place == -1 or (lo <= place < hi and place in ends)
    # Every token that no other can overlap is one.
    lone = [token for token in tokens if not any(cut_into(token, other) for other in tokens)]
    longest = max(map(len, tokens), default=0)
    sure = [
        at + len(token)
        for token in lone
        for at in range(begin, len(data) - longest + 1)
        if data.startswith(token, at) and lo <= at + len(token) < hi
    ]
    assert place >= max(sure, default=-1)


def cut_into(token, other):
    """Whether `other` may begin before `token` and end inside or behind it, or with it and be longer."""
    if other != token and (token in other or other in token):
        return True
    return any(other[-n:] == token[:n] for n in range(1, min(len(token), len(other)) + (token != other)))


def test_behind_tokens_that_overlap_there_is_no_place():
    assert last_behind(trie_of([b"<<"]), b"<" * 100, 0, 100, 0) == 2
    assert last_behind(trie_of([b"<<"]), b"<" * 100, 3, 100, 0) == -1
    assert last_behind(trie_of([b"<<"]), b"<" * 50 + b"a<<b" + b"<" * 50, 3, 104, 0) == 56


def test_no_trie_leaves_text_whole():
    spans, firsts = make_spans(b"abc", np.array([0], np.int64), np.array([3], np.int64))
    assert spans.tolist() == [[0, 3, 3, -1]] and firsts.tolist() == [0, 1]


@pytest.mark.parametrize(
    "tokens", [[(b"", 0)], [(b"a", 0), (b"a", 1)], [(b"a", -1)], [(b"a", 2**32 - 1)], [(b"a" * 1025, 0)]]
)
def test_bad_tokens_are_refused(tokens):
    with pytest.raises(ParameterError):
        SpecialTrie(tokens)


@pytest.mark.parametrize(
    ("starts", "ends"), [([0], []), ([-1], [1]), ([2], [1]), ([0], [4]), ([0, 1], [2, 3]), ([1, 0], [2, 1])]
)
def test_bad_documents_are_refused(starts, ends):
    with pytest.raises(ParameterError):
        make_spans(b"abc", np.array(starts, np.int64), np.array(ends, np.int64))


def test_bad_ranges_are_refused():
    trie = trie_of([b"a"])
    for lo, hi in [(-1, 1), (2, 1), (0, 4)]:
        with pytest.raises(ParameterError):
            occurrences(trie, b"abc", lo, hi)
        with pytest.raises(ParameterError):
            last_behind(trie, b"abc", lo, hi, 0)
    with pytest.raises(ParameterError):
        last_behind(trie, b"abc", 0, 3, 4)
    with pytest.raises(ParameterError):
        trie.find(b"abc", 4)
