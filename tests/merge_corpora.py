"""Small corpora for the tests of the merge kernels, and the Merger on them."""

import numpy as np
from hypothesis import strategies as st

from fastbpe.kernels.merge import Merger

IDENTITY = np.arange(256, dtype=np.uint32)


def merger(chunk_counts, n_merges, **options):
    data = np.frombuffer(b"".join(chunk_counts), np.uint8)
    starts = np.cumsum([0, *map(len, chunk_counts)], dtype=np.int64)
    counts = np.array(list(chunk_counts.values()), np.int64)
    return Merger(data, starts, counts, IDENTITY, n_merges, **options)


def learned(m):
    """What a merger has learned, in the form of reference.train."""
    pairs, counts, tokens = m.merges()
    return [(*p, c, t) for p, c, t in zip(pairs.tolist(), counts.tolist(), tokens.tolist(), strict=True)]


few_letters = st.binary(max_size=12).map(lambda b: bytes(97 + x % 3 for x in b))
runs = st.lists(st.tuples(st.sampled_from(b"ab"), st.integers(1, 40)), max_size=4).map(
    lambda parts: b"".join(bytes([letter]) * n for letter, n in parts)
)
any_bytes = st.binary(max_size=8)
corpora = st.dictionaries(few_letters | runs | any_bytes, st.integers(1, 5) | st.integers(1, 10**10), max_size=12)
