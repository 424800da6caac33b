import json
import signal
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.count import Counter
from fastbpe.pipeline.runs import Runs, _load

chunks = st.one_of(st.text("ab", min_size=1, max_size=4), st.text("ab", min_size=14, max_size=18)).map(str.encode)


def rows(data: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> list[tuple[bytes, int]]:
    return [(data[a:b].tobytes(), int(n)) for a, b, n in zip(starts, starts[1:], counts, strict=False)]


def expected(pieces: list[list[bytes]]) -> list[tuple[bytes, int]]:
    found: dict[bytes, int] = {}
    for piece in pieces:
        for chunk in piece:
            found[chunk] = found.get(chunk, 0) + 1
    return list(found.items())


def counted(pieces: list[list[bytes]], spill: list[int], bits: int, bytes_at_once: int) -> list[tuple[bytes, int]]:
    """Counts pieces; after each, partitions whose number is in `spill` go to files."""
    counter, runs, position = Counter(1, bits, True), Runs(), 0
    for piece in pieces:
        counter.add(b"".join(piece), None, position, None, np.cumsum([len(chunk) for chunk in piece], dtype=np.int64))
        position += sum(map(len, piece))
        for partition in spill:
            runs.write([(partition % (1 << bits), counter.take(partition % (1 << bits)))])
    counter.flush()
    for partition in range(1 << bits):
        runs.write([(partition, counter.take(partition))])
    table = runs.table(bytes_at_once)
    runs.close()
    return rows(*table)


@given(
    st.lists(st.lists(chunks, max_size=30), max_size=6),
    st.lists(st.integers(0, 7), max_size=4),
    st.integers(0, 3),
    st.sampled_from([300, 1500, 300_000]),
)
def test_runs_sum_up_to_the_counts(pieces, spill: list[int], bits: int, bytes_at_once: int) -> None:
    assert counted(pieces, spill, bits, bytes_at_once) == expected(pieces)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=9), st.booleans())
def test_runs_are_mapped_where_their_items_may_lie(sizes: list[int], in_one_file: bool) -> None:
    runs = Runs()
    written = [
        (0, (np.full(n, 97, np.uint8), np.array([0, n]), np.array([k + 1]), np.array([k]))) for k, n in enumerate(sizes)
    ]
    for some in [written] if in_one_file else [[one] for one in written]:
        runs.write(some)
    for place, (_, run) in zip(runs._written[0], written, strict=True):
        loaded = _load(place)
        assert all(array.flags.aligned for array in loaded)
        assert all(map(np.array_equal, loaded, run))
    runs.close()


def test_many_rows_and_big_chunks() -> None:
    pieces = [[b"%d" % (i * k % 5003) for i in range(1, 4000)] + [b"x" * (70_000 + k % 2)] for k in range(1, 9)]
    assert counted(pieces, list(range(64)), 6, 150_000) == expected(pieces)


def test_a_partition_of_long_chunks_is_summed_in_parts() -> None:
    pieces = [[bytes([97 + k]) * 300_000 for k in range(start, start + 4)] for start in range(0, 20, 2)]
    counter, runs, position = Counter(1, 0, True), Runs(), 0
    for piece in pieces:
        counter.add(b"".join(piece), None, position, None, np.cumsum([len(chunk) for chunk in piece], dtype=np.int64))
        position += sum(map(len, piece))
        runs.write([(0, counter.take(0))])
    tracemalloc.start()
    table = runs.table(2_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000  # and 22 chunks have three times as many bytes
    assert rows(*table) == expected(pieces)
    runs.close()


@pytest.mark.parametrize("length", [40, 4000, 100_000])
def test_few_rows_are_in_memory_while_they_are_brought_into_order(length: int) -> None:
    n = 4_000_000 // length
    data = np.arange(n * length // 8, dtype=np.int64).view(np.uint8)
    counter, runs = Counter(1, 4, True), Runs()
    counter.add(data, None, 0, None, length * np.arange(1, n + 1, dtype=np.int64))
    for partition in range(16):
        counter.flush()
        runs.write([(partition, counter.take(partition))])
    tracemalloc.start()
    table = runs.table(1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert np.array_equal(table[0], data)
    runs.close()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runs = Runs()
    assert not runs and not list(tmp_path.iterdir())
    runs.close()
    counter = Counter()
    counter.add(b"abc")
    counter.flush()
    for partition in range(64):
        runs.write([(partition, counter.take(partition))])
    assert runs and list(tmp_path.iterdir())
    table = runs.table(3000)
    runs.close()
    assert not list(tmp_path.iterdir())
    assert rows(*table) == [(b"abc", 1)]


def test_runs_that_are_kept_outlive_their_maker(tmp_path: Path) -> None:
    pieces = [[b"a", b"bb", b"a"], [b"ccc", b"a"], [b"bb", b"d" * 20]]
    folder = tmp_path / "runs"
    position, places = 0, None
    for k, piece in enumerate(pieces):
        counter, runs = Counter(1, 1, True), Runs(folder, places)
        counter.add(b"".join(piece), None, position, None, np.cumsum([len(chunk) for chunk in piece], dtype=np.int64))
        position += sum(map(len, piece))
        counter.flush()
        runs.write((partition, counter.take(partition)) for partition in range(2))
        places = runs.places
        assert len(list(folder.iterdir())) == k + 1
        counter.add(b"lost", None, position)
        counter.flush()
        runs.write(((partition, counter.take(partition)) for partition in range(2)), lasting=k == 0)
        assert len(list(folder.iterdir())) == k + 2  # a lasting file more, or a temporary folder
        runs.close()
    for _ in range(2):
        (folder / "fastbpe-killed").mkdir()
        (folder / "fastbpe-killed" / "data.npy").touch()
        runs = Runs(folder, json.loads(json.dumps(places)))
        assert rows(*runs.table(600)) == expected(pieces)
        runs.close()
    assert {path.name for path in folder.iterdir()} == {name for of in places.values() for name, _ in of}


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for limit, chunks_written in ((10_000, 0), (60_000, 2)):  # while runs are written, while they are summed
            counter, runs = Counter(1, 0, True), Runs()
            for k in range(2):
                data = bytes([97 + k]) * 40_000
                counter.add(data, None, k * len(data))
                if chunks_written:
                    runs.write([(0, counter.take(0))])
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            with pytest.raises(OSError, match="File too large") as info:
                runs.table(1000) if chunks_written else runs.write([(0, counter.take(0))])
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert str(info.value.filename).startswith(str(tmp_path))
            runs.close()
            assert not list(tmp_path.iterdir())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
