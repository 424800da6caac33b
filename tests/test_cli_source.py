"""cli/source.py: which inputs are text and which are chunk counts."""

from pathlib import Path

import pytest

from fastbpe.cli.options import Reading
from fastbpe.cli.source import counts_source, text_source, told
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
        text_source(("a.txt",), Reading(separator="x", lines=True))
    assert text_source(("a.txt",), Reading(separator="\\n\\n")).options.separator == b"\n\n"


def test_where() -> None:
    assert text_source(("a",), Reading(where=("lang=Python", "x.y=a=b"))).options.where == (
        ("lang", "Python"),
        ("x.y", "a=b"),
    )
    for words in (("lang",), ("=x",), ("a=1", "a=2")):
        with pytest.raises(ParameterError, match="--where"):
            text_source(("a",), Reading(where=words))


def source(**more: object) -> dict[str, object]:
    return {"documents": 1, "skipped": {}, "skipped_examples": [], "rejected": 0, "damaged": [], **more}


def test_what_is_told_in_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert told([source()]) == 0
    assert capsys.readouterr().err == ""
    bad = {"skipped": {"hidden": 1, "not valid JSON": 2}, "skipped_examples": [["a.jsonl, line 3", "not valid JSON"]]}
    assert told([source(**bad, rejected=2), source(skipped={"hidden": 2})]) == 0
    line = "fastbpe: 5 skipped, 2 bad records among them: 3 hidden, 2 not valid JSON; "
    assert capsys.readouterr().err == line + "the first: a.jsonl, line 3 (not valid JSON)\n"
    hidden = {"skipped": {"hidden": 1}, "skipped_examples": [["d/.x", "hidden"]]}
    told([source(**hidden), source(**bad, rejected=2)])
    assert capsys.readouterr().err.endswith("the first: a.jsonl, line 3 (not valid JSON)\n")
    assert told([source(**bad, rejected=2, documents=0)]) == 3
    assert told([source(damaged=[["a.gz", "is cut short"]])]) == 3
    assert "fastbpe: a.gz: is cut short\n" in capsys.readouterr().err
