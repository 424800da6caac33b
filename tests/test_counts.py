import mmap
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe import counts as counts_module
from fastbpe.counts import ChunkCounts, CorpusTotals
from fastbpe.errors import FormatError, ParameterError
from fastbpe.pattern.named import NAMED

chunks = st.binary(min_size=1, max_size=20)
tables = st.dictionaries(chunks, st.integers(1, 2**40), max_size=20)


def arrays(*rows: tuple[bytes, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(chunk for chunk, _ in rows), np.uint8)
    starts = np.cumsum([0] + [len(chunk) for chunk, _ in rows], dtype=np.int64)
    return data, starts, np.array([count for _, count in rows], np.int64)


@given(tables)
def test_rows_keep_their_order(table: dict[bytes, int]) -> None:
    counts = ChunkCounts.from_dict(table)
    assert list(counts.items()) == list(table.items())
    assert len(counts) == len(table)
    assert counts.total == sum(table.values())
    assert counts.n_bytes == sum(len(chunk) * count for chunk, count in table.items())


@given(tables, tables)
def test_a_sum_has_the_rows_of_the_first_then_new_ones(a: dict[bytes, int], b: dict[bytes, int]) -> None:
    total = dict(a)
    for chunk, count in b.items():
        total[chunk] = total.get(chunk, 0) + count
    assert list((ChunkCounts.from_dict(a) + ChunkCounts.from_dict(b)).items()) == list(total.items())
    assert total == Counter(a) + Counter(b)


def test_a_sum_adds_what_was_read() -> None:
    a = ChunkCounts(*arrays((b"ab", 1)), corpus=CorpusTotals(1, 2, 3, "a: 7"))
    b = ChunkCounts(*arrays((b"ab", 1)), corpus=CorpusTotals(10, 20, 30, "b: 8"))
    assert (a + b).corpus == CorpusTotals(11, 22, 33, "a: 7")
    assert (ChunkCounts(*arrays()) + b).corpus == b.corpus


def test_sums_past_64_bits_are_refused() -> None:
    half = ChunkCounts.from_dict({b"a": 2**62})
    with pytest.raises(ParameterError, match=r"2\*\*63"):
        half + half
    assert (half + ChunkCounts.from_dict({b"a": 2**62 - 1})).total == 2**63 - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": "b+"}, "different pattern"),
        ({"special_tokens": ("<x>",)}, "different special tokens"),
        ({"unmatched": "isolate"}, "different unmatched"),
    ],
)
def test_counts_of_other_rules_do_not_add_up(change: dict, message: str) -> None:
    a = ChunkCounts.from_dict({b"ab": 5}, pattern="a+")
    b = ChunkCounts.from_dict({b"ab": 5}, **{"pattern": "a+", **change})
    with pytest.raises(ParameterError, match=message):
        a + b
    assert a != b


@given(tables, tables, st.integers(1, 6), st.integers(1, 6))
def test_counts_of_different_denominators_add_exactly(
    a: dict[bytes, int], b: dict[bytes, int], first: int, second: int
) -> None:
    total = ChunkCounts.from_dict(a).times(Fraction(1, first)) + ChunkCounts.from_dict(b).times(f"7/{second}")
    expected = {chunk: Fraction(n, first) for chunk, n in a.items()}
    for chunk, n in b.items():
        expected[chunk] = expected.get(chunk, Fraction(0)) + Fraction(7 * n, second)
    assert {chunk: Fraction(n, total.denominator) for chunk, n in total.items()} == expected
    assert [chunk for chunk, _ in total.items()] == list(expected)
    kept = total.at_least(3)
    assert [chunk for chunk, _ in kept.items()] == [chunk for chunk, n in expected.items() if n >= 3]


def test_weighted_counts_are_saved_with_what_was_counted(tmp_path: Path) -> None:
    source = {"name": "zh", "files": 1, "documents": 2, "bytes": 3, "weights": [["zh", "5/2"]]}
    counts = ChunkCounts(*arrays((b"ab", 5)), denominator=2, sources=(source,))
    counts.save(tmp_path / "c.npz")
    loaded = ChunkCounts.load(tmp_path / "c.npz")
    assert loaded == counts and loaded.sources == (source,)
    assert loaded.facts()["denominator"] == 2
    assert loaded.facts()["weights"] == [[["zh", "5/2"]]]
    assert loaded != ChunkCounts(*arrays((b"ab", 5)))
    assert counts.times("0.5").times(2).sources[0]["times"] == "1"
    assert (counts + counts).sources == (source, source)


def test_weights_that_counts_cannot_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"2\*\*63"):
        ChunkCounts.from_dict({b"a": 2**62}).times(2)
    with pytest.raises(ParameterError, match="digits"):
        ChunkCounts.from_dict({b"a": 1}).times("1/99991").times("1/99989")
    with pytest.raises(ParameterError, match="common"):
        ChunkCounts.from_dict({b"a": 1}).times("1/99991") + ChunkCounts.from_dict({b"a": 1}).times("1/99989")
    with pytest.raises(ParameterError, match="denominator"):
        ChunkCounts(*arrays((b"ab", 5)), denominator=0)


def test_the_order_of_special_tokens_is_no_hindrance() -> None:
    a = ChunkCounts.from_dict({b"ab": 5}, special_tokens=("<x>", "<y>"))
    b = ChunkCounts.from_dict({b"ab": 5}, special_tokens=("<y>", "<x>"))
    assert (a + b).special_tokens == ("<x>", "<y>")
    assert a != b


def test_a_name_becomes_the_pattern_text() -> None:
    assert ChunkCounts.from_dict({b"ab": 5}, pattern="gpt2").pattern == NAMED["gpt2"]
    assert ChunkCounts.from_dict({b"ab": 5}, pattern="none").pattern is None
    assert ChunkCounts.from_dict({b"ab": 5}, pattern=None).pattern is None
    assert ChunkCounts.from_dict({b"ab": 5}, pattern="a+").pattern == "a+"


@pytest.mark.parametrize(
    "table", [{b"": 1}, {"ab": 1}, {b"a": 0}, {b"a": -1}, {b"a": 1.5}, {b"a": True}, {b"a": 2**63}]
)
def test_a_bad_entry_is_refused(table: dict) -> None:
    with pytest.raises(ParameterError, match="chunk"):
        ChunkCounts.from_dict(table)


@pytest.mark.parametrize(
    ("data", "starts", "counts"),
    [
        (b"ab", [0, 2], [1, 1]),
        (b"ab", [1, 2], [1]),
        (b"ab", [0, 1], [1]),
        (b"ab", [], []),
        (b"ab", [0, 0, 2], [1, 1]),
        (b"ab", [0, 3, 2], [1, 1]),
        (b"ab", [0, 2], [0]),
        (b"ab", [0, 2], [2**62]),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(data: bytes, starts: list[int], counts: list[int]) -> None:
    with pytest.raises(ParameterError):
        ChunkCounts(np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(counts, np.int64))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_arrays_of_another_type_are_refused(place: int) -> None:
    parts = list(arrays((b"ab", 5)))
    for wrong in (parts[place].astype(np.int32), parts[place].reshape(1, -1)):
        with pytest.raises(ParameterError, match="one-dimensional"):
            ChunkCounts(*parts[:place], wrong, *parts[place + 1 :])


def test_the_arrays_cannot_be_written() -> None:
    counts = ChunkCounts.from_dict({b"ab": 5})
    for array in (counts.data, counts.starts, counts.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        counts.pattern = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        hash(counts)


def test_counts_equal_only_counts() -> None:
    assert ChunkCounts.from_dict({b"ab": 5}) != {b"ab": 5}
    assert ChunkCounts.from_dict({b"ab": 5}) != ChunkCounts.from_dict({b"a": 5})
    assert ChunkCounts.from_dict({b"ab": 5}) != ChunkCounts.from_dict({b"ab": 6})
    with pytest.raises(TypeError):
        ChunkCounts.from_dict({b"ab": 5}) + {b"ab": 5}  # type: ignore[operator]


@pytest.mark.parametrize("mapped", [False, True])
def test_a_saved_file_comes_back_and_equal_counts_give_equal_bytes(tmp_path: Path, mapped: bool) -> None:
    counts = ChunkCounts(
        *arrays((b"\xff\x00", 5), ("é".encode(), 5_000_000_000)),
        "a+",
        ("<é>", "x"),
        "isolate",
        CorpusTotals(3, 9, 1, "f: 2"),
    )
    counts.save(tmp_path / "a.npz")
    counts.save(str(tmp_path / "b.npz"))
    loaded = ChunkCounts.load(tmp_path / "a.npz", mapped)
    assert loaded == counts
    assert loaded.corpus == counts.corpus
    assert loaded.digest() == counts.digest() != replace(counts, denominator=3).digest()
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert archive["counts"].tolist() == [5, 5_000_000_000]


def test_patterns_in_a_row_are_kept(tmp_path: Path) -> None:
    counts = ChunkCounts.from_dict({b"ab": 5}, pattern=("a+", "b+"))
    counts.save(tmp_path / "a.npz")
    assert ChunkCounts.load(tmp_path / "a.npz") == counts
    assert ChunkCounts.load(tmp_path / "a.npz").pattern == ("a+", "b+")


def test_arrays_mapped_from_files_serve_as_well(tmp_path: Path) -> None:
    rows = arrays(*[(b"%d" % i, 1 + i) for i in range(200_000)])
    for name, array in zip("abc", rows, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = ChunkCounts(*(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "abc"))
    assert mapped == ChunkCounts(*rows)
    assert (mapped.total, mapped.n_bytes) == (sum(range(200_001)), ChunkCounts(*rows).n_bytes)
    mapped.save(tmp_path / "mapped.npz")
    ChunkCounts(*rows).save(tmp_path / "rows.npz")
    assert (tmp_path / "mapped.npz").read_bytes() == (tmp_path / "rows.npz").read_bytes()
    assert ChunkCounts.load(tmp_path / "mapped.npz") == mapped


@given(tables)
def test_what_is_loaded_may_stay_in_the_file(table: dict[bytes, int]) -> None:
    counts = ChunkCounts.from_dict(table, pattern="gpt2")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.npz")
        counts.save(path)
        loaded = ChunkCounts.load(path, mapped=True)
        for array in (loaded.data, loaded.starts, loaded.counts):
            assert any(isinstance(base, mmap.mmap) for base in bases(array))
            assert array.ctypes.data % 64 == 0
        assert loaded == counts
        with np.load(path) as archive:
            np.savez_compressed(Path(folder, "b.npz"), **archive)
        assert ChunkCounts.load(Path(folder, "b.npz"), mapped=True) == counts


def bases(array: object) -> Iterator[object]:
    while isinstance(array, np.ndarray):
        array = array.base
        yield array


@pytest.mark.parametrize("mapped", [False, True])
def test_no_counts_at_all_can_be_saved(tmp_path: Path, mapped: bool) -> None:
    ChunkCounts.from_dict({}).save(tmp_path / "a.npz")
    assert len(ChunkCounts.load(tmp_path / "a.npz", mapped)) == 0


def test_the_name_is_the_one_given(tmp_path: Path) -> None:
    ChunkCounts.from_dict({b"a": 1}).save(tmp_path / "counts")
    assert [path.name for path in tmp_path.iterdir()] == ["counts"]


def test_a_failed_save_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ChunkCounts.from_dict({b"a": 1}).save(tmp_path / "a.npz")
    before = (tmp_path / "a.npz").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(counts_module, "_write_array", full)
    with pytest.raises(OSError, match="No space"):
        ChunkCounts.from_dict({b"b": 2}).save(tmp_path / "a.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    assert (tmp_path / "a.npz").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04garbage", b"\x93NUMPY\x01\x00"])
@pytest.mark.parametrize("mapped", [False, True])
def test_garbage_is_refused(mapped: bool, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.npz: not a file of chunk counts"):
        ChunkCounts.load(tmp_path / "a.npz", mapped)


@pytest.mark.parametrize("mapped", [False, True])
def test_other_numpy_files_are_refused(mapped: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    np.savez(tmp_path / "b.npz", data=np.arange(3))
    for name in ("a.npy", "b.npz"):
        with pytest.raises(FormatError, match=f"{name}: not a file of chunk counts"):
            ChunkCounts.load(tmp_path / name, mapped)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_missing_file_is_an_os_error(mapped: bool, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ChunkCounts.load(tmp_path / "a.npz", mapped)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version": 1', b'"version": 2', "version 2"),
        (b'"fastbpe chunk counts"', b'"fastbpe chunk points"', "not a file"),
        (b'"pattern": "a|[^a]"', b'"pattern": 1234', "not a text"),
        (b'"pattern": "a|[^a]"', b'"pattern": "(|."', r"a\.npz: no pattern that chunks were cut by: "),
        (b'"unmatched": "refuse"', b'"unmatched": "accept"', r"a\.npz: .*unmatched='accept'"),
        (b'"documents"', b'"dokuments"', "not a file"),
        (b'"documents": 0', b'"documents": "many"', "not in whole numbers"),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_a_changed_header_is_refused(mapped: bool, tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    ChunkCounts.from_dict({b"ab": 5}, pattern="a|[^a]").save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        parts = dict(archive)
    header = parts["header"].tobytes()
    assert old in header
    parts["header"] = np.frombuffer(header.replace(old, new), np.uint8)
    np.savez(tmp_path / "a.npz", **parts)
    with pytest.raises(FormatError, match=message):
        ChunkCounts.load(tmp_path / "a.npz", mapped)


@pytest.mark.parametrize("mapped", [False, True])
def test_damaged_arrays_are_refused(mapped: bool, tmp_path: Path) -> None:
    ChunkCounts.from_dict({b"ab": 5, b"c": 6}).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        parts = dict(archive)
    np.savez(tmp_path / "b.npz", **{**parts, "starts": np.array([0, 3, 2])})
    with pytest.raises(FormatError, match=r"b\.npz"):
        ChunkCounts.load(tmp_path / "b.npz", mapped)
    whole = (tmp_path / "a.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        place = whole.index(b"abc", archive.getinfo("data.npy").header_offset)
    (tmp_path / "a.npz").write_bytes(whole[:place] + b"X" + whole[place + 1 :])
    with pytest.raises(FormatError, match=r"a\.npz"):
        ChunkCounts.load(tmp_path / "a.npz", mapped)


@pytest.mark.parametrize("mapped", [False, True])
def test_an_archive_whose_parts_lie_nowhere_is_refused(mapped: bool, tmp_path: Path) -> None:
    ChunkCounts.from_dict({b"ab": 5}).save(tmp_path / "a.npz")
    whole = bytearray((tmp_path / "a.npz").read_bytes())
    whole[-3] ^= 0x80  # where the archive's directory starts, its highest byte
    (tmp_path / "a.npz").write_bytes(whole)
    with pytest.raises(FormatError, match=r"a\.npz: not a file of chunk counts"):
        ChunkCounts.load(tmp_path / "a.npz", mapped)


def test_rare_rows_of_many_are_left_out() -> None:
    rng = np.random.default_rng(1)
    counts, lengths = rng.integers(1, 4, 200_000), rng.integers(1, 5, 200_000)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    data = rng.integers(0, 256, starts[-1], dtype=np.uint8)
    kept = ChunkCounts(data, starts, counts).at_least(2)
    assert np.array_equal(kept.data, data[np.repeat(counts >= 2, lengths)])
    assert np.array_equal(np.diff(kept.starts), lengths[counts >= 2])
    assert np.array_equal(kept.counts, counts[counts >= 2])


@given(tables, st.integers(1, 2**40))
def test_rare_rows_can_be_left_out(table: dict[bytes, int], least: int) -> None:
    counts = ChunkCounts.from_dict(table, pattern="gpt2")
    kept = counts.at_least(least)
    assert counts.size_at_least(least) == (len(kept), len(kept.data))
    assert list(kept.items()) == [(chunk, count) for chunk, count in table.items() if count >= least]
    assert kept.pattern == counts.pattern


def test_the_normalizer_is_kept_and_compared(tmp_path: Path) -> None:
    counts = fastbpe.count_chunks(["e\u0301"], normalizer="NFC")
    assert list(counts.items()) == [("\u00e9".encode(), 1)]
    counts.save(tmp_path / "c.npz")
    again = ChunkCounts.load(tmp_path / "c.npz")
    assert again == counts and (again.normalizer, again.unicode_version) == ("NFC", counts.unicode_version)
    assert counts.facts()["unicode_version"] == counts.unicode_version
    assert (counts + again).normalizer == "NFC"
    with pytest.raises(ParameterError, match="normalizers"):
        counts + fastbpe.count_chunks(["a"])
    with pytest.raises(ParameterError, match="Unicode versions"):
        counts + replace(counts, unicode_version="1.1")
    with pytest.raises(ParameterError, match="NFD"):
        fastbpe.count_chunks(["a"], normalizer="NFD")
    assert ChunkCounts.from_dict({b"a": 1}, normalizer="NFKC").normalizer == "NFKC"
