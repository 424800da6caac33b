"""The benchmarks still run: one measurement of each kind, a comparison, and the parts that judge."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import compare
import measure
import numpy as np
import pytest
from documents import WAYS, cut, documents
from hypothesis import given
from hypothesis import strategies as st
from tables import row

from fastbpe.pipeline.train import train

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TEXT = "def f(x):\n    return x + 1\r\n\n# 床前明月光，\r疑是地上霜。\n" * 40


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT.encode())
    return path


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    root = {"PYTHONPATH": str(BENCHMARKS.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | root, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_training(corpus: Path) -> None:
    result = json.loads(run("measure.py", "train", "fastbpe", corpus, "--vocab-size=300", "--threads=1"))
    assert result["merges"] == 44
    assert list(result["digests"]) == ["44"]
    assert result["seconds"] > 0 and result["peak_mb"] > 0
    assert set(result["phases"]) == {"count", "merge"}


def test_a_failure_is_told(corpus: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "measure.py"), "train", "gigabpe", str(corpus), "--pattern=cl100k"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (1, "ValueError: gigabpe takes no pattern")


def test_encoding_and_its_reference(corpus: Path, tmp_path: Path) -> None:
    tokenizer = train([TEXT], 300)
    tokenizer.save(tmp_path / "tok.json")
    reference = tmp_path / "ids.npz"
    options = ("encode", "fastbpe", corpus, "--vocab", tmp_path / "tok.json", "--documents=5", "--passes=2")
    result = json.loads(run("measure.py", *options, f"--save={reference}"))
    assert result["documents"] == len(cut(TEXT.encode(), 5))
    assert len(result["seconds"]) == 2
    again = json.loads(run("measure.py", *options, f"--reference={reference}"))
    assert again["differing_documents"] == 0
    with np.load(reference) as ids:
        assert ids["ids"].tolist() == [id for text in cut(TEXT.encode(), 5) for id in tokenizer.encode(text)]


def test_a_comparison_prints_a_table(corpus: Path, tmp_path: Path) -> None:
    kept = tmp_path / "all.json"
    options = ("--peers", "fastbpe", "--corpus", corpus, "--vocab-size=300", "--runs=2", f"--json={kept}")
    printed = run("compare.py", "train", *options)
    assert "**train, corpus.txt, 2 threads** (300 ids, pattern gpt2)" in printed
    (line,) = [line for line in printed.splitlines() if line.startswith("| fastbpe")]
    assert " 1.00 | 1.00 " in line
    (table,) = json.loads(kept.read_text(encoding="utf-8"))["tables"]
    assert len(table["runs"]["fastbpe"]) == 2


def test_from_disk_to_disk(corpus: Path, tmp_path: Path) -> None:
    train([TEXT], 300).save(tmp_path / "tok.json")
    printed = run("bench_disk.py", corpus, "--vocab", tmp_path / "tok.json", "--threads=1", "--runs=2")
    lines = printed.splitlines()
    assert lines[0] == f"corpus.txt, {len(TEXT.encode()) / 1e6:.1f} MB, tok.json: MB/s, medians"
    assert [line.split()[:2] for line in lines[2:]] == [["1", way] for way in ("file", "separator", "lines")]


@given(st.text("ab\r\n床", max_size=40), st.integers(1, 9))
def test_documents_leave_nothing_out(text: str, n: int) -> None:
    assert "".join(cut(text.encode(), n)) == text


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_read_documents(corpus: Path, way: str) -> None:
    found = list(documents(corpus, way))
    assert "".join(found) == TEXT
    assert len(found) == {"file": 1, "lines": TEXT.count("\n"), "pieces": 1}[way]


def test_digests_tell_how_far_two_results_agree() -> None:
    tokens = [b"%d" % n for n in range(1100)]
    ours = measure.digests(tokens)
    assert list(ours) == [256, 512, 1024, 1100]
    theirs = measure.digests([*tokens[:600], b"x", *tokens[601:]])
    as_json = [json.loads(json.dumps(digests)) for digests in (ours, theirs)]
    assert compare.agreement(as_json[0], as_json[0]) == "all 1,100 merges"
    assert compare.agreement(*as_json) == "512 merges or a little more"


def test_documents_that_differ_are_counted() -> None:
    offsets = np.array([0, 2, 3, 3, 5])
    ids = np.array([1, 2, 3, 4, 5])
    assert measure.differing(ids, offsets, ids, offsets) == 0
    assert measure.differing(ids, offsets, np.array([1, 2, 9, 4, 9]), offsets) == 2
    assert measure.differing(ids, offsets, ids, np.array([0, 1, 3, 3, 5])) == 2


def test_ratios_are_of_runs_in_the_same_round() -> None:
    def runs(*seconds: float) -> list[dict[str, Any]]:
        common = {"version": "1", "bytes": 1, "peak_mb": 1.0, "cpu_seconds": 1.0, "phases": {}}
        return [common | {"round": number, "seconds": value} for number, value in enumerate(seconds)]

    found = row("other", runs(2.0, 9.0, 4.0), runs(1.0, 3.0, 1.0))
    assert found["first"] == {"min": 2.0, "median": 4.0, "ratio": 2.0, "paired": 3.0}
