"""kernels/sweep.pyx: whatever is hot, its counts are those of a recount, and nothing else is that frequent."""

import reference
from hypothesis import given
from hypothesis import strategies as st
from merge_corpora import corpora, merger


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
