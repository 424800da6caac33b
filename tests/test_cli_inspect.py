"""fastbpe inspect."""

import json
from pathlib import Path

import pytest
from cli_runner import Shell

from fastbpe.cli.inspect import _histogram
from fastbpe.tokenizer import Tokenizer

MERGES = [(101, 115), (256, 116), (32, 257), (10, 10), (230, 156)]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    Tokenizer.from_merges(
        MERGES,
        counts=[9000, 8, 3, 2, 2],
        pattern="gpt2",
        special_tokens=["<|e|>", "<|p|>"],
        eos_token="<|e|>",
        record={"parameters": {"vocab_size": 263}, "stop_reason": "vocab_size"},
    ).save(path)
    return path


def test_what_is_told(fastbpe_command: Shell, tokenizer: Path) -> None:
    code, out, err = fastbpe_command("inspect", tokenizer, "--merges", "2", "--longest", "1")
    assert (code, err) == (0, "")
    for line in [
        "263 (largest 262): 256 bytes, 5 merges, 2 special tokens",
        "(gpt2)",
        "261  <|e|>  (eos)\n",
        "262  <|p|>\n",
        "parameters   vocab_size 263\n",
        "stop_reason  vocab_size\n",
        "    1:     256  ████",
        "    4:       1  █\n",
        "258     4  | est|\n",
        "0          9,000  |e|s|\n",
        "      ...\n",
        "4              2  |[e6]|[9c]|\n",
    ]:
        assert line in out
    assert "|es|t|" in out
    assert "| |est|" not in out


def test_json(fastbpe_command: Shell, tokenizer: Path) -> None:
    facts = json.loads(fastbpe_command("inspect", tokenizer, "--json").out)
    assert facts["vocab_size"] == 263
    assert facts["roles"] == {"eos": "<|e|>"}
    assert facts["token_lengths"] == {"1": 256, "2": 3, "3": 1, "4": 1}
    assert [row["count"] for row in facts["listed_merges"]] == [9000, 8, 3, 2, 2]
    assert facts["listed_merges"][3]["token"] == "↵↵"


def test_bytes_only(fastbpe_command: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    Tokenizer.from_merges([], pattern=None).save(path)
    out = fastbpe_command("inspect", path, "--merges", "0", "--longest", "0").out
    assert "none: a document is one chunk" in out
    assert "not trained by fastbpe, or not recorded" in out
    assert "Merges" not in out


def test_errors(fastbpe_command: Shell, tmp_path: Path) -> None:
    fastbpe_command("inspect", tmp_path).failed(1, str(tmp_path), "is a directory", "name a file")
    fastbpe_command("inspect").failed(2, "TOKENIZER is missing")
    text = tmp_path / "text.txt"
    text.write_bytes(b"plain text\xff")
    fastbpe_command("inspect", text).failed(3, "text.txt")


def test_long_tokens_share_bars() -> None:
    assert [line.split("█")[0].split() for line in _histogram({1: 256, 32: 4, 33: 1, 64: 2, 65: 1})] == [
        ["1:", "256"],
        ["32:", "4"],
        ["33-64:", "3"],
        ["65-128:", "1"],
    ]
