from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fastbpe.errors import ParameterError
from fastbpe.pipeline.bounded import BoundedCounter, table_bytes
from fastbpe.pipeline.memory import available_memory

PIECES = [[b"%d" % (i * k % 4001) * (1 + i % 9) for i in range(1, 3000)] for k in range(1, 13)]


def counted(bound: int, threads: int) -> tuple[list[tuple[bytes, int]], bool]:
    work, position = [], 0
    for piece in PIECES:
        data = np.frombuffer(b"".join(piece), np.uint8)
        spans = np.array([[0, len(data), len(data), -1]])
        work.append((data, spans, position, None, np.cumsum([len(chunk) for chunk in piece], dtype=np.int64)))
        position += len(data)
    with BoundedCounter(bound, 4, 3) as counter:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda arguments: counter.add(*arguments), work))
        data, starts, counts = counter.finish()
    rows = [(data[a:b].tobytes(), int(n)) for a, b, n in zip(starts, starts[1:], counts, strict=False)]
    return rows, isinstance(data.base, np.memmap)


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_the_rows_are_the_same_with_any_bound(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    expected: dict[bytes, int] = {}
    for piece in PIECES:
        for chunk in piece:
            expected[chunk] = expected.get(chunk, 0) + 1
    for bound, spills in ((1 << 30, False), (1 << 20, True), (200_000, True), (0, True)):
        rows, mapped = counted(bound, threads)
        assert rows == list(expected.items())
        assert mapped == spills
        assert not list(tmp_path.iterdir())


def test_an_error_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = np.frombuffer(b"a chunk of many bytes", np.uint8)
    with pytest.raises(KeyError), BoundedCounter(0) as counter:
        counter.add(data, np.array([[0, 21, 21, -1]]), 0, None, None)
        assert list(tmp_path.iterdir())
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_a_bound_that_is_too_small_names_the_least() -> None:
    with pytest.raises(ParameterError, match=r"memory='20MB' is too little .* at least \d+MB"):
        table_bytes("20MB", 2)
    assert table_bytes("2GB", 2) < 10**9
    assert table_bytes(None, 10**6) > 0
    assert table_bytes(None, 1) < available_memory()
