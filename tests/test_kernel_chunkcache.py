import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.chunkcache import ChunkMemory, NotKept

IDS = st.integers(0, 2**32 - 1)
CHUNKS = st.binary(min_size=1, max_size=15) | st.binary(min_size=16, max_size=256)


@given(
    st.sampled_from([1, 1 << 16, 1 << 22]),
    st.dictionaries(CHUNKS, st.lists(IDS, min_size=1, max_size=256), max_size=60),
)
def test_what_comes_out_is_what_went_in(max_bytes, entries):
    entries = {chunk: ids[: len(chunk)] for chunk, ids in entries.items()}
    cache = ChunkMemory(max_bytes)
    for chunk, ids in entries.items():
        assert cache.get(chunk) is None
        cache.put(chunk, ids)
        assert cache.get(chunk) == ids
    for chunk, ids in entries.items():
        assert cache.get(chunk) in (ids, None)
    cache.clear()
    assert all(cache.get(chunk) is None for chunk in entries)


@given(st.lists(CHUNKS | st.binary(min_size=1, max_size=2), min_size=1, max_size=64), st.data())
def test_many_at_a_time_as_far_as_all_are_in_front(chunks, data):
    cache = ChunkMemory(1 << 16)
    kept = {}
    for chunk in chunks:
        if data.draw(st.booleans()):
            kept[chunk] = data.draw(st.lists(IDS, min_size=1, max_size=min(len(chunk), 5)))
            cache.put(chunk, kept[chunk])
    ids, n = cache.get_many(chunks)
    assert all(len(chunk) < 16 and len(cache.get(chunk)) <= 3 for chunk in chunks[:n])
    assert ids == [id for chunk in chunks[:n] for id in kept[chunk]]
    if n < len(chunks):
        cache.put(b"another", [1])
        found = cache.get(chunks[n])  # which brings it into its own slot
        if found and len(found) <= 3 and len(chunks[n]) < 16:
            assert cache.get_many(chunks[n : n + 1]) == (found, 1)


@pytest.mark.parametrize("form", ["%d", "many %d", "%d of more than 15 bytes"])
def test_growth_keeps_most_and_the_bound_holds(form):
    for max_bytes in (1, 1 << 19, 1 << 24):
        cache = ChunkMemory(max_bytes)
        chunks = [(form % i).encode() for i in range(20_000)]
        ids = {chunk: [i] * (6 if len(chunk) > 6 else 1) for i, chunk in enumerate(chunks)}
        for chunk in chunks:
            cache.put(chunk, ids[chunk])
        found = [cache.get(chunk) for chunk in chunks]
        assert all(got in (ids[chunk], None) for chunk, got in zip(chunks, found, strict=True))
        assert cache.n_bytes <= max(max_bytes, 12288)
        assert sum(got is not None for got in found) > {1: 20, 1 << 19: 1000, 1 << 24: 17_000}[max_bytes]


@pytest.mark.parametrize("form", ["%d", "%d of more than 15 bytes"])
def test_what_is_used_stays(form):
    cache = ChunkMemory(1 << 19)
    hot, lost = (form % -1).encode(), 0
    for i in range(1500):
        if cache.get(hot) is None:
            cache.put(hot, [1])
            lost += 1
        cache.put((form % i).encode(), [i])
    assert lost <= 2


def test_ids_of_any_size():
    cache = ChunkMemory(1 << 16)
    for chunk, ids in ((b"a", [2**28]), (b"bc", [1, 2**32 - 1]), (b"abcde", [2**32 - 1] * 5), (bytes(16), [2**31])):
        cache.put(chunk, ids)
        assert cache.get(chunk) == ids


def test_a_chunk_whose_ids_are_overwritten_enters_anew():
    cache = ChunkMemory(1)
    for _ in range(3):
        for i in range(200):
            chunk, ids = b"%d is long" % i, [i] * 8
            if cache.get(chunk) is None:
                cache.put(chunk, ids)
            assert cache.get(chunk) == ids


def test_bounds():
    cache = ChunkMemory(1 << 16)
    for chunk, ids in [(bytes(257), [1]), (b"a", [1, 2]), (b"a", [])]:
        with pytest.raises(NotKept):
            cache.put(chunk, ids)
    for chunk in (b"", bytes(257)):
        with pytest.raises(NotKept):
            cache.get(chunk)
