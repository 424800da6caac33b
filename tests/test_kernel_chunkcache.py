import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.chunkcache import ChunkMemory, NotKept

IDS = st.integers(0, 2**28 - 1)


@given(
    st.booleans(),
    st.sampled_from([1, 1 << 16, 1 << 22]),
    st.dictionaries(st.binary(min_size=1, max_size=31), st.lists(IDS, min_size=1, max_size=8), max_size=60),
)
def test_what_comes_out_is_what_went_in(wide, max_bytes, entries):
    entries = {chunk: ids for chunk, ids in entries.items() if wide or (len(chunk) < 16 and len(ids) < 5)}
    cache = ChunkMemory(max_bytes)
    for chunk, ids in entries.items():
        assert cache.get(chunk, wide) is None
        cache.put(chunk, wide, ids)
        assert cache.get(chunk, wide) == ids
    for chunk, ids in entries.items():
        assert cache.get(chunk, wide) in (ids, None)
    cache.clear()
    assert all(cache.get(chunk, wide) is None for chunk in entries)


@pytest.mark.parametrize("wide", [False, True])
def test_growth_keeps_most_and_the_bound_holds(wide):
    for max_bytes in (1, 1 << 18):
        cache = ChunkMemory(max_bytes)
        chunks = [b"%d" % i for i in range(10_000)]
        for i, chunk in enumerate(chunks):
            cache.put(chunk, wide, [i])
        found = [cache.get(chunk, wide) for chunk in chunks]
        assert all(ids in ([i], None) for i, ids in enumerate(found))
        assert cache.n_bytes <= max(max_bytes, 8192)
        assert sum(ids is not None for ids in found) > (500 if max_bytes > 1 else 40)


def test_what_is_used_stays():
    cache = ChunkMemory(1)
    cache.put(b"hot", False, [1])
    for i in range(5000):
        cache.put(b"%d" % i, False, [i])
        if cache.get(b"hot", False) is None:
            pytest.fail(f"pushed out by chunk {i}")


def test_first_ids_that_need_the_upper_bits_are_not_kept():
    cache = ChunkMemory(1 << 16)
    for wide in (False, True):
        cache.put(b"a", wide, [2**28])
        assert cache.get(b"a", wide) is None
        cache.put(b"b", wide, [1, 2**32 - 1])
        assert cache.get(b"b", wide) == [1, 2**32 - 1]


def test_bounds_of_slots():
    cache = ChunkMemory(1 << 16)
    for chunk, wide, ids in [(bytes(16), False, [1]), (bytes(32), True, [1]), (b"a", False, [1] * 5), (b"", True, [1])]:
        with pytest.raises(NotKept):
            cache.put(chunk, wide, ids)
