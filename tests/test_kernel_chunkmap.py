import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.chunkmap import ChunkMapDoor

# Few letters and lengths around 15, so that chunks repeat and both kinds occur.
chunks = st.one_of(st.text("ab", min_size=1, max_size=4), st.text("ab", min_size=14, max_size=18)).map(str.encode)
additions = st.lists(st.tuples(chunks, st.integers(1, 2**50), st.integers(0, 2**62)), max_size=60)


def expected(rows: list[tuple[bytes, int, int]]) -> list[tuple[bytes, int, int]]:
    found: dict[bytes, tuple[int, int]] = {}
    for chunk, count, first in rows:
        before = found.get(chunk, (0, first))
        found[chunk] = before[0] + count, min(before[1], first)
    return [(chunk, *entry) for chunk, entry in found.items()]


@given(additions, st.sampled_from([1, 2, 128]))
def test_counts_add_up_and_first_is_the_smallest(rows: list[tuple[bytes, int, int]], capacity: int) -> None:
    door = ChunkMapDoor(capacity)
    for row in rows:
        door.add(*row)
    assert door.items() == expected(rows)


@given(additions, st.sampled_from([0, 5, 2**64 - 1]))
def test_long_chunks_of_one_hash_are_told_apart_by_their_bytes(rows: list[tuple[bytes, int, int]], hash: int) -> None:
    door = ChunkMapDoor()
    for row in rows:
        door.add(*row, hash=hash)
    assert door.items() == expected(rows)


def test_many_chunks() -> None:
    door = ChunkMapDoor()
    rows = [(str(i).encode() * (1 + i % 7), 1 + i % 5, i) for i in range(30_000)]
    for row in rows + rows:
        door.add(*row)
    assert door.items() == expected(rows + rows)


@pytest.mark.parametrize("size", [15, 16, 65534, 65535, 65536, 1_000_000])
def test_every_length_comes_back(size: int) -> None:
    door = ChunkMapDoor()
    rows = [(letter * size, 1, i) for i, letter in enumerate((b"a", b"b", b"a"))]
    for row in rows:
        door.add(*row)
    assert door.items() == expected(rows)


@pytest.mark.parametrize("chunk", [b"a", b"a" * 16])
def test_a_count_past_64_bits_is_refused(chunk: bytes) -> None:
    door = ChunkMapDoor()
    door.add(chunk, 2**63 - 2, 0)
    door.add(chunk, 1, 0)
    assert door.items() == [(chunk, 2**63 - 1, 0)]
    with pytest.raises(OverflowError, match="64 bits"):
        door.add(chunk, 1, 0)
