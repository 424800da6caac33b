"""kernels/merging.pyx: words laid out from ids are merged as the same words laid out from bytes."""

import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st
from merge_corpora import IDENTITY, corpora, learned

from fastbpe.kernels.merge import Merger


@given(corpora, st.integers(0, 10), st.integers(0, 10), st.integers(1, 3), st.none() | st.integers(1, 6))
def test_goes_on_from_words_merged_before(corpus, first, more, min_frequency, max_token_length):
    limits = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    expected, _ = reference.train(corpus, first + more, **limits)
    begun = expected[:first]
    lengths = [1] * 256
    for left, right, _, _ in begun:
        lengths.append(lengths[left] + lengths[right])
    words = [reference.encode_chunk(chunk, [pair[:2] for pair in begun]) for chunk in corpus]
    m = Merger(
        np.zeros(0, np.uint8),
        np.cumsum([0, *map(len, words)], dtype=np.int64),
        np.array(list(corpus.values()), np.int64),
        IDENTITY,
        more,
        symbols=np.array([i for word in words for i in word], np.uint32),
        lengths=np.array(lengths, np.int64),
        **limits,
    )
    m.run()
    assert learned(m) == expected[first:]
