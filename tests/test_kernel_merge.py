"""kernels/merge.pyx against a full recount after every merge."""

import numpy as np
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.kernels.merge import Merger

IDENTITY = np.arange(256, dtype=np.uint32)


def merger(chunk_counts, n_merges, **options):
    data = np.frombuffer(b"".join(chunk_counts), np.uint8)
    starts = np.cumsum([0, *map(len, chunk_counts)], dtype=np.int64)
    counts = np.array(list(chunk_counts.values()), np.int64)
    return Merger(data, starts, counts, IDENTITY, n_merges, **options)


def learn(chunk_counts, n_merges, **options):
    m = merger(chunk_counts, n_merges, **options)
    m.run()
    pairs, counts, tokens = m.merges()
    return [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)], m.stop_reason


def flat(result):
    return [(*pair, count, tokens) for pair, count, tokens in result[0]], result[1]


few_letters = st.binary(max_size=12).map(lambda b: bytes(97 + x % 3 for x in b))
runs = st.lists(st.tuples(st.sampled_from(b"ab"), st.integers(1, 40)), max_size=4).map(
    lambda parts: b"".join(bytes([letter]) * n for letter, n in parts)
)
any_bytes = st.binary(max_size=8)
corpora = st.dictionaries(few_letters | runs | any_bytes, st.integers(1, 5) | st.integers(1, 10**10), max_size=12)


@settings(deadline=None, max_examples=300)
@given(
    corpora,
    st.integers(0, 60),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sampled_from(["lowest", "first"]),
    st.sampled_from([0, 2**16]),
    st.sampled_from([1, 3, 20]),
)
def test_equals_recount(corpus, n_merges, min_frequency, max_token_length, tie_break, small, bits):
    expected, reason = reference.train(corpus, n_merges, min_frequency, max_token_length, tie_break)
    m = merger(
        corpus,
        n_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        tie_first=tie_break == "first",
        small=small,
        max_bucket_bits=bits,
    )
    m.run()
    pairs, counts, tokens = m.merges()
    got = [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)]
    assert got == expected
    assert m.stop_reason == reason


@settings(deadline=None, max_examples=100)
@given(corpora, st.integers(1, 30), st.sampled_from([0, 2**16]))
def test_incremental_counts_equal_a_recount_after_each_merge(corpus, n_merges, small):
    m = merger(corpus, n_merges, small=small)
    words = [(list(chunk), weight) for chunk, weight in corpus.items()]
    for done in range(1, n_merges + 1):
        if m.run(until=done) < done:
            break
        pair = tuple(m.merges(done - 1)[0][0].tolist())
        words = [(reference.replace(ids, pair, 255 + done), weight) for ids, weight in words]
        recount = reference.pair_counts(words)
        hot, threshold = m.hot_pairs()
        assert {p: n for p, n in hot.items() if n >= threshold} == {p: n for p, n in recount.items() if n >= threshold}
        assert m.tokens == sum(len(ids) * weight for ids, weight in words)


@settings(deadline=None, max_examples=50)
@given(corpora, st.integers(1, 30), st.integers(1, 50))
def test_stopping_and_going_on_changes_nothing(corpus, n_merges, work):
    m = merger(corpus, n_merges, small=0)
    while m.stop_reason is None:
        m.run(work=work)
    whole = merger(corpus, n_merges)
    whole.run()
    assert [a.tolist() for a in m.merges()] == [a.tolist() for a in whole.merges()]
    assert m.stop_reason == whole.stop_reason
