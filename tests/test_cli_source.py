"""cli/source.py: which inputs are text and which are chunk counts."""

from pathlib import Path

import pytest

from fastbpe.cli.source import counts_source, text_source
from fastbpe.counts import ChunkCounts
from fastbpe.errors import FormatError, ParameterError


def test_counts_are_added(tmp_path: Path) -> None:
    ChunkCounts.from_dict({b"ab": 5}).save(tmp_path / "a.npz")
    ChunkCounts.from_dict({b"cd": 1, b"ab": 2}).save(tmp_path / "b.npz")
    total = counts_source((str(tmp_path / "a.npz"), str(tmp_path / "b.npz")))
    assert total is not None
    assert dict(total.items()) == {b"ab": 7, b"cd": 1}


def test_text_is_not_counts(tmp_path: Path) -> None:
    assert counts_source(("a.txt", "-")) is None
    with pytest.raises(ParameterError, match="holds chunk counts and other inputs are text"):
        counts_source(("a.npz", "b.txt"))
    with pytest.raises(ParameterError, match="no input"):
        counts_source(())
    (tmp_path / "c.npz").write_bytes(b"no zip")
    with pytest.raises(FormatError, match=r"c\.npz"):
        counts_source((str(tmp_path / "c.npz"),))


def test_lines_and_separator_exclude_each_other() -> None:
    with pytest.raises(ParameterError, match="choose one"):
        text_source(("a.txt",), "x", True)
    assert text_source(("a.txt",), "\\n\\n", False).options.separator == b"\n\n"
