"""The examples give the published output of the four walk-throughs.

Every entry of seeds_golden.json passes through them, but for those that LEFT_OUT names; the example's docstring has the
reason. The Tang figures are those of seed003_result.json and seed003_merges.json.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import al1
import mini_llama
import numpy as np
import printing
import project1
import pytest
import tang_poetry
import train_gpt_data
from java_random import JavaRandom

import fastbpe

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
GOLDEN = {
    example["id"]: example["expected"]
    for example in json.loads((DATA / "seeds" / "seeds_golden.json").read_text(encoding="utf-8"))["examples"]
}
TANG = json.loads((DATA / "tang" / "seed003_result.json").read_text(encoding="utf-8"))
MERGES = json.loads((DATA / "tang" / "seed003_merges.json").read_text(encoding="utf-8"))
EXAMPLES = [project1, al1, tang_poetry, mini_llama]
SECTIONS = {name: section for example in EXAMPLES for name, section in example.SECTIONS.items()}
LEFT_OUT = {
    "000/qwen2_ids": project1,
    "000/ex10's look-ups": project1,
    "000/ex12's 1.23 bytes per token": project1,
    "seconds": tang_poetry,
    "276 ids": mini_llama,
}


def published(name: str) -> Any:
    """What an example must give: all that is printed but for what is left out."""
    expected = GOLDEN[name]
    if name == "000/ex10":
        return [[n, tokens] for n, tokens, *_ in expected]
    if name == "000/ex12":
        return {key: value for key, value in expected.items() if key != "bytes_per_token"}
    return expected


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in LEFT_OUT])
def test_published_output(name: str) -> None:
    assert SECTIONS[name]() == published(name)


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_said(what: str) -> None:
    assert what in " ".join((LEFT_OUT[what].__doc__ or "").split())


def test_the_size_below_the_floor() -> None:
    assert "262" in al1.too_small()


def test_tang_texts_and_tokens() -> None:
    figures = {**tang_poetry.data(), **tang_poetry.encoded(), **tang_poetry.learned(), **tang_poetry.characters()}
    assert {name: TANG[name] for name in figures} == figures


def test_tang_merge_log() -> None:
    assert tang_poetry.merge_log() == [[int(step), *row] for step, row in TANG["steps"].items()]
    _, log = tang_poetry.trained()
    assert log.pairs.tolist() == MERGES["merges"]
    assert log.counts.tolist() == MERGES["counts"]
    assert log.tokens_after.tolist() == MERGES["lengths_after"]
    steps = range(100, 1_500, 200)
    assert [row[-1] for row in tang_poetry.merge_log(steps)] == [
        MERGES["tied_pairs_at_top"][step - 1] for step in steps
    ]


def test_tang_poem_in_tokens() -> None:
    cut = tang_poetry.cut()
    assert TANG["example"] == tang_poetry.POEM
    assert [token.strip("[]") for token in cut["example_cut"]] == TANG["example_cut"]
    assert "[e5 b8]" in cut["example_cut"]
    assert cut["english_example"] == TANG["english_example"]


def script(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_scripts_print_every_section(example: Any) -> None:
    out = script(f"examples/{example.__name__}.py")
    titles = [f"{name}  {section.__doc__.splitlines()[0]}" for name, section in example.SECTIONS.items()]
    assert [line for line in out.splitlines() if line and line[0] != " "] == titles


def test_tables() -> None:
    value = {"n": 1_234_567, "share": 0.5, "yes": True, "ids": [1, 2], "none": [], "tokens": ["a", " b", "\n"]}
    assert printing.lines(value, "") == [
        "n       1,234,567",
        "share   0.5000",
        "yes     yes",
        "ids     1 2",
        "none    none",
        "tokens  │a│ b│\\n│",
    ]
    assert printing.lines([["月", 5], ["ab c", 10]], "") == ["月     5", "ab c  10"]
    assert printing.lines([["name", "n"], ["a", 10]], "") == ["name   n", "a     10"]
    assert printing.lines([[1], [2, 3]], "-") == ["-1", "-2 3"]
    nested = printing.lines({"x": {" y": 1}, "file": "a\nb\nc\n"}, "")
    assert nested == ["x", "    ' y'  1", "file", "    a", "    b", "    c"]


def test_java_random_is_javas() -> None:
    # The first numbers of new java.util.Random(42).nextInt(10), and of its nextInt(16), as the JDK gives them.
    random = JavaRandom(42)
    assert [random.next_int(10) for _ in range(5)] == [0, 3, 8, 4, 0]


@pytest.fixture
def shards(tmp_path: Path) -> tuple[fastbpe.Tokenizer, Path]:
    for i in range(30):
        (tmp_path / f"{i}.txt").write_text(f"document {i} says: {'the cat sat on the mat. ' * (i % 7 + 3)}")
    return train_gpt_data.make_shards([str(tmp_path / "*.txt")], tmp_path, 300)


def test_numpy_batches(shards: tuple[fastbpe.Tokenizer, Path]) -> None:
    tokenizer, path = shards
    batches = list(train_gpt_data.numpy_batches(path, length=8, size=4))
    assert len(batches) > 5
    tokens = fastbpe.TokenShards(path)[:].tolist()
    train = fastbpe.TokenShards(path).manifest.shards[-1].tokens
    windows = Counter(tuple(tokens[i : i + 9]) for i in range(len(tokens) - train, len(tokens) - 8, 8))
    for x, y in batches:
        assert (x.shape, x.dtype, y.shape) == ((4, 8), np.int64, (4, 8))
        assert np.array_equal(x[:, 1:], y[:, :-1])
        windows.subtract((*a, b[-1]) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    assert set(windows.values()) <= {0, 1}  # each window at most once
    assert windows.total() < 4  # and all but those that make no batch
    assert tokenizer == fastbpe.load(path.parent / "tok.json")


def test_torch_batches(shards: tuple[fastbpe.Tokenizer, Path]) -> None:
    torch = pytest.importorskip("torch", reason="batches are PyTorch's only where it is installed (extra torch)")
    _, path = shards
    expected = list(train_gpt_data.numpy_batches(path, 8, 4))
    got = list(train_gpt_data.batches(path, 8, 4))
    assert len(got) == len(expected)
    for (x, y), (a, b) in zip(got, expected, strict=True):
        assert x.dtype == y.dtype == torch.int64
        assert np.array_equal(x.numpy(), a)
        assert np.array_equal(y.numpy(), b)


def test_train_gpt_data_prints_batches(shards: tuple[fastbpe.Tokenizer, Path], tmp_path: Path) -> None:
    arguments = ["--vocab-size", "300", "--length", "8", "--batch", "2", "--steps", "2"]
    out = script("examples/train_gpt_data.py", str(tmp_path / "new"), str(tmp_path / "*.txt"), *arguments)
    kind = "ndarray" if importlib.util.find_spec("torch") is None else "Tensor"
    assert f"step 1: x {kind} (2, 8)" in out
    assert "y[0] begins" in out
