import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.count import Counter

Rows = list[tuple[bytes, int]]

# Few letters, so that chunks repeat; lengths on both sides of 15; some chunks are all zeros, like an empty slot.
chunks = st.one_of(
    st.text("ab", min_size=1, max_size=5),
    st.text("ab\0", min_size=13, max_size=17),
    st.integers(1, 20).map(lambda n: "\0" * n),
    st.integers(0, 300).map(str),
).map(str.encode)
texts = st.lists(st.lists(chunks, max_size=40), min_size=1, max_size=8)
sizes = st.sampled_from([(0, 0), (0, 3), (1, 1), (2, 6), (13, 6)])


def rows(counter: Counter) -> Rows:
    data, starts, counts = counter.finish()
    assert (data.dtype, starts.dtype, counts.dtype) == (np.uint8, np.int64, np.int64)
    return [(data[a:b].tobytes(), int(n)) for a, b, n in zip(starts, starts[1:], counts, strict=False)]


def expected(pieces: list[list[bytes]]) -> Rows:
    found: dict[bytes, int] = {}
    for piece in pieces:
        for chunk in piece:
            found[chunk] = found.get(chunk, 0) + 1
    return list(found.items())


def ends_of(piece: list[bytes]) -> np.ndarray:
    return np.cumsum([len(chunk) for chunk in piece], dtype=np.int64)


@given(texts, sizes, st.randoms(use_true_random=False), st.sampled_from([1, 2, 5]))
def test_any_threads_and_any_order_give_the_same_rows(texts: list[list[bytes]], sizes, random, threads: int) -> None:
    counter = Counter(*sizes)
    work = []
    position = 0
    for piece in texts:
        data = b"".join(piece)
        work.append((data, None, position, None, ends_of(piece)))
        position += len(data)
    random.shuffle(work)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda arguments: counter.add(*arguments), work))
    assert rows(counter) == expected(texts)


@given(texts, sizes)
def test_spans_with_an_id_are_skipped(texts: list[list[bytes]], sizes) -> None:
    data, spans, ends, at = b"", [], [], 0
    for number, piece in enumerate(texts):
        for id, part in ((-1, b"".join(piece)), (number, b"<s>")):
            spans.append((at, at + len(part), at + len(part), id))
            if id < 0:
                ends.extend((ends_of(piece) + at).tolist())
            data += part
            at += len(part)
    counter = Counter(*sizes)
    counter.add(data, np.array(spans, np.int64), 7, None, np.array(ends, np.int64))
    assert rows(counter) == expected(texts)


@given(st.lists(st.tuples(st.lists(chunks, max_size=40), st.integers(1, 5)), max_size=8), sizes)
def test_chunks_count_as_often_as_the_multiplier_says(pieces: list[tuple[list[bytes], int]], sizes) -> None:
    counter = Counter(*sizes)
    found: dict[bytes, int] = {}
    position = 0
    for piece, multiplier in pieces:
        data = b"".join(piece)
        counter.add(data, None, position, None, ends_of(piece), multiplier)
        position += len(data)
        for chunk in piece:
            found[chunk] = found.get(chunk, 0) + multiplier
    assert rows(counter) == list(found.items())


@pytest.mark.parametrize("chunk", [b"ab", b"a" * 20])
def test_a_count_past_64_bits_is_refused(chunk: bytes) -> None:
    ends = np.arange(1, 5, dtype=np.int64) * len(chunk)
    counter = Counter()
    counter.add(chunk * 4, None, 0, None, ends, 2**61 - 1)
    assert rows(counter) == [(chunk, 4 * (2**61 - 1))]
    counter = Counter()
    with pytest.raises(OverflowError):
        counter.add(chunk * 4, None, 0, None, ends, 2**61)
        counter.finish()
    with pytest.raises(ValueError, match="multiplier"):
        Counter().add(chunk, None, 0, None, None, 0)


@given(texts)
def test_a_span_without_table_or_ends_is_one_chunk(texts: list[list[bytes]]) -> None:
    whole = [b"".join(piece) for piece in texts]
    ends = np.cumsum([0] + [len(text) for text in whole], dtype=np.int64)
    spans = np.stack([ends[:-1], ends[1:], ends[1:], np.full(len(whole), -1)], axis=1)
    counter = Counter()
    counter.add(b"".join(whole), spans)
    assert rows(counter) == expected([[text] for text in whole if text])


def test_many_distinct_chunks_from_threads_that_meet() -> None:
    pieces = [[b"%d" % (i % 5000 * 7919 ** (i % 5)) for i in range(k, k + 3000)] for k in range(0, 30_000, 1500)]
    ready = threading.Barrier(5)
    counter = Counter(4, 2)
    positions = np.cumsum([0] + [sum(map(len, piece)) for piece in pieces])

    def work(worker: int) -> None:
        ready.wait()
        for k in range(worker, len(pieces), 5):
            counter.add(b"".join(pieces[k]), None, int(positions[k]), None, ends_of(pieces[k]))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert rows(counter) == expected(pieces)


@pytest.mark.parametrize("size", [65_535, 200_000, 3_000_000])
def test_big_chunks(size: int) -> None:
    counter = Counter()
    pieces = [b"ab" * (size // 2), b"ba" * (size // 2), b"ab" * (size // 2), b"c" * size + b"d"]
    for k, piece in enumerate(pieces):
        counter.add(bytearray(piece), None, k * size)
    counter.add(b"c" * size + b"xyz" * size, None, 4 * size + 1, None, np.array([size, 4 * size]))
    del piece
    assert rows(counter) == [
        (pieces[0], 2), (pieces[1], 1), (pieces[3], 1), (b"c" * size, 1), (b"xyz" * size, 1),
    ]  # fmt: skip


def test_sizes_tell_of_all_that_is_copied() -> None:
    counter = Counter(1, 1, True)
    empty = int(counter.sizes().sum())
    counter.add(b"".join(bytes([i]) * 100_000 for i in range(10)), None, 0, None, 100_000 * np.arange(1, 11))
    counter.flush()
    assert 1_000_000 <= int(counter.sizes().sum()) - empty < 1_100_000
    for partition in range(2):
        counter.take(partition)
    assert int(counter.sizes().sum()) == empty


def test_no_chunks() -> None:
    counter = Counter()
    counter.add(b"")
    counter.add(b"abc", np.empty((0, 4), np.int64))
    counter.add(b"abc", np.array([[1, 1, 1, -1], [1, 2, 2, 5]]))
    assert rows(counter) == []


def test_a_finished_counter_takes_no_more() -> None:
    counter = Counter()
    counter.finish()
    for call in (counter.finish, lambda: counter.add(b"a")):
        with pytest.raises(RuntimeError, match="taken out already"):
            call()


@pytest.mark.parametrize(
    ("spans", "position", "ends", "message"),
    [
        ([[0, 5, 5, -1]], 0, None, "spans"),
        ([[2, 1, 2, -1]], 0, None, "spans"),
        ([[0, 2, 1, -1]], 0, None, "spans"),
        (None, -1, None, "position"),
        (None, 2**63 - 4, None, "position"),
        (None, 0, [1, 2], "ends"),
        (None, 0, [0, 4], "ends"),
        (None, 0, [2, 2, 4], "ends"),
        (None, 0, [5], "ends"),
        (None, 0, [4, 4], "ends"),
        (None, 0, [4, 5], "ends"),
        ([[0, 2, 4, -1], [2, 4, 4, -1]], 0, [4], "ends"),
        ([[0, 2, 4, 1], [2, 4, 4, -1]], 0, [2, 4], "ends"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(spans, position, ends, message: str) -> None:
    spans = None if spans is None else np.array(spans, np.int64)
    ends = None if ends is None else np.array(ends, np.int64)
    counter = Counter()
    with pytest.raises(ValueError, match=message):
        counter.add(b"abcd", spans, position, None, ends)
    counter.add(b"abcd")
    assert rows(counter) == [(b"abcd", 1)]


@pytest.mark.parametrize("ends", [[4], np.array([4], np.int32), np.array([[4]])])
def test_ends_of_another_type_are_refused(ends) -> None:
    with pytest.raises(ValueError, match="one-dimensional int64"):
        Counter().add(b"abcd", None, 0, None, ends)


@pytest.mark.parametrize(("cache_bits", "partition_bits"), [(-1, 0), (25, 0), (0, -1), (0, 13)])
def test_sizes_out_of_range_are_refused(cache_bits: int, partition_bits: int) -> None:
    with pytest.raises(ValueError, match="cache_bits must"):
        Counter(cache_bits, partition_bits)


@given(texts, sizes)
def test_partitions_can_be_taken_one_by_one(texts: list[list[bytes]], sizes) -> None:
    counter = Counter(*sizes, True)
    found: dict[bytes, tuple[int, int]] = {}
    position = 0

    def take(partition: int) -> None:
        data, starts, counts, firsts = counter.take(partition)
        assert firsts.tolist() == sorted(firsts.tolist())
        for a, b, n, first in zip(starts, starts[1:], counts, firsts, strict=False):
            before = found.get(data[a:b].tobytes(), (0, first))
            found[data[a:b].tobytes()] = before[0] + n, min(before[1], first)

    for piece in texts:
        counter.add(b"".join(piece), None, position, None, ends_of(piece))
        position += sum(map(len, piece))
        take(0)
    counter.flush()
    assert (counter.sizes() > 0).all()
    for partition in range(len(counter.sizes())):
        take(partition)
    in_order = sorted(found.items(), key=lambda item: item[1][1])
    assert [(chunk, count) for chunk, (count, _) in in_order] == expected(texts)
    assert rows(counter) == []


def test_only_partitions_that_exist_can_be_taken() -> None:
    for partition in (-1, 64):
        with pytest.raises(ValueError, match="no such partition"):
            Counter().take(partition)
