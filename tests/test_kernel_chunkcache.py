import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.chunkcache import ChunkMemory, NotKept

IDS = st.integers(0, 2**28 - 1)
CHUNKS = st.binary(min_size=1, max_size=15) | st.binary(min_size=16, max_size=256)


@given(
    st.booleans(),
    st.sampled_from([1, 1 << 16, 1 << 22]),
    st.dictionaries(CHUNKS, st.lists(IDS, min_size=1, max_size=256), max_size=60),
)
def test_what_comes_out_is_what_went_in(narrow, max_bytes, entries):
    longest, most = (15, 4) if narrow else (256, 256)
    entries = {chunk: ids[: min(most, len(chunk))] for chunk, ids in entries.items() if len(chunk) <= longest}
    cache = ChunkMemory(max_bytes)
    for chunk, ids in entries.items():
        assert cache.get(chunk, narrow) is None
        cache.put(chunk, narrow, ids)
        assert cache.get(chunk, narrow) == ids
    for chunk, ids in entries.items():
        assert cache.get(chunk, narrow) in (ids, None)
    cache.clear()
    assert all(cache.get(chunk, narrow) is None for chunk in entries)


@pytest.mark.parametrize("narrow", [False, True])
def test_growth_keeps_most_and_the_bound_holds(narrow):
    for max_bytes in (1, 1 << 19, 1 << 24):
        cache = ChunkMemory(max_bytes)
        chunks = [b"%d" % i for i in range(20_000)]
        for i, chunk in enumerate(chunks):
            cache.put(chunk, narrow, [i])
        found = [cache.get(chunk, narrow) for chunk in chunks]
        assert all(ids in ([i], None) for i, ids in enumerate(found))
        assert cache.n_bytes <= max(max_bytes, 12288)
        assert sum(ids is not None for ids in found) > {1: 100, 1 << 19: 1500, 1 << 24: 17_000}[max_bytes]


@pytest.mark.parametrize("narrow", [False, True])
def test_what_is_used_stays(narrow):
    cache = ChunkMemory(1 << 18)
    cache.put(b"hot", narrow, [1])
    for i in range(1, 2000 if not narrow else 20_000):
        cache.put(b"%d" % i, narrow, [i])
        assert cache.get(b"hot", narrow) == [1], f"pushed out by chunk {i}"


def test_ids_that_need_the_upper_bits():
    cache = ChunkMemory(1 << 16)
    for narrow in (False, True):
        cache.put(b"a", narrow, [2**28])
        assert cache.get(b"a", narrow) == (None if narrow else [2**28])
        cache.put(b"bc", narrow, [1, 2**32 - 1])
        assert cache.get(b"bc", narrow) == [1, 2**32 - 1]


def test_bounds_of_slots():
    cache = ChunkMemory(1 << 16)
    for chunk, narrow, ids in [
        (bytes(16), True, [1]),
        (bytes(257), False, [1]),
        (bytes(9), True, [1] * 5),
        (b"a", False, [1, 2]),
        (b"", True, [1]),
    ]:
        with pytest.raises(NotKept):
            cache.put(chunk, narrow, ids)
