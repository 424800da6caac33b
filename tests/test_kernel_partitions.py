import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.partitions import merge_runs, sum_rows, trim

Rows = dict[bytes, int]

chunks = st.one_of(
    st.text("ab", min_size=1, max_size=4).map(str.encode),
    st.text("ab", min_size=13, max_size=18).map(str.encode),
    st.integers(0, 500).map(lambda n: b"%d" % n),
)
tables = st.lists(st.dictionaries(chunks, st.integers(1, 2**50), max_size=30), max_size=4)


def arrays(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = np.cumsum([0] + [len(chunk) for chunk in rows], dtype=np.int64)
    return np.frombuffer(b"".join(rows), np.uint8), starts, np.array(list(rows.values()), np.int64)


def rows(data: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> list[tuple[bytes, int]]:
    return [(data[a:b].tobytes(), int(n)) for a, b, n in zip(starts, starts[1:], counts, strict=False)]


@given(tables, st.sampled_from([0, 1, 6, 12]))
def test_tables_add_up_in_order(tables: list[Rows], partition_bits: int) -> None:
    expected: Rows = {}
    for table in tables:
        for chunk, count in table.items():
            expected[chunk] = expected.get(chunk, 0) + count
    assert rows(*sum_rows(map(arrays, tables), partition_bits)) == list(expected.items())


def test_large_tables() -> None:
    table = {b"%d" % (i * 7919 % 100_003) * (1 + i % 9): 1 + i for i in range(100_000)}
    total = rows(*sum_rows([arrays(table)] * 3))
    assert total == [(chunk, 3 * count) for chunk, count in table.items()]


def test_big_chunks() -> None:
    table = {b"a" * 100_000: 1, b"b" * 70_000: 2, b"c" * 1_000_000: 3}
    assert rows(*sum_rows([arrays(table), arrays({b"c" * 1_000_000: 4})])) == [
        *list(table.items())[:2],
        (b"c" * 10**6, 7),
    ]


@pytest.mark.parametrize("chunk", [b"a", b"a" * 20, b"a" * 70_000])
def test_counts_past_64_bits_are_refused(chunk: bytes) -> None:
    most, one = arrays({chunk: 2**63 - 2}), arrays({chunk: 1})
    assert rows(*sum_rows([most, one])) == [(chunk, 2**63 - 1)]
    with pytest.raises(OverflowError, match=r"2\*\*63"):
        sum_rows([most, one, one])


@pytest.mark.parametrize(
    ("starts", "counts", "message"),
    [
        ([0, 4], [], "one offset more"),
        ([1, 4], [1], "one offset more"),
        ([0, 3], [1], "one offset more"),
        ([0, 0, 4], [1, 1], "no chunk is empty"),
        ([0, 5, 4], [1, 1], "no chunk is empty"),
        ([0, 4], [0], "at least 1"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(starts: list[int], counts: list[int], message: str) -> None:
    table = np.frombuffer(b"abcd", np.uint8), np.array(starts, np.int64), np.array(counts, np.int64)
    with pytest.raises(ValueError, match=message):
        sum_rows([table])


@pytest.mark.parametrize("partition_bits", [-1, 13])
def test_bits_out_of_range_are_refused(partition_bits: int) -> None:
    with pytest.raises(ValueError, match="partition_bits must"):
        sum_rows([], partition_bits)


def test_runs_are_merged_by_position() -> None:
    a, b = arrays({b"x": 1, b"y": 2}), arrays({b"z" * 20: 3, b"x": 4})
    runs = [(*a, np.array([50, 70])), (*b, np.array([10, 20]))]
    data, starts, counts, firsts = merge_runs(iter(runs))
    assert rows(data, starts, counts) == [(b"z" * 20, 3), (b"x", 5), (b"y", 2)]
    assert firsts.tolist() == [10, 20, 70]
    for bad in ([10], [10, -1]):
        with pytest.raises(ValueError, match=r"firsts|position"):
            merge_runs([(*a, np.array(bad))])


@given(st.integers(1, 9))
def test_parts_of_runs_are_all_of_them(n_parts: int) -> None:
    chunks = {bytes([97 + k % 20]) * (1 + k // 20): k + 1 for k in range(500)}
    run = (*arrays(chunks), np.arange(500))
    found: dict[bytes, int] = {}
    for part in range(n_parts):
        of_part = dict(rows(*merge_runs([run, run], 2, part, n_parts)[:3]))
        assert n_parts == 1 or len(of_part) < 400
        assert not found.keys() & of_part.keys()
        found |= of_part
    assert found == {chunk: 2 * count for chunk, count in chunks.items()}
    with pytest.raises(ValueError, match="part must be"):
        merge_runs([run], 0, n_parts, n_parts)


def test_memory_can_be_given_back() -> None:
    trim()
