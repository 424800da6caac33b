"""fastbpe inspect."""

import json
from pathlib import Path

import pytest
from cli_runner import Shell

from fastbpe.characters import CharTokenizer
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
    assert "No merge can build" not in out
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


def test_scripts_and_completeness(fastbpe_command: Shell, tokenizer: Path) -> None:
    rows = [line.split() for line in fastbpe_command("inspect", tokenizer).out.splitlines()]
    assert ["all", "128", "4", "129"] in rows
    assert ["Latin", "52", "3", "9"] in rows
    facts = json.loads(fastbpe_command("inspect", tokenizer, "--json").out)
    assert facts["completeness"] == {"whole characters": 128, "several characters": 4, "fragments": 129}
    assert facts["scripts"]["Latin"] == {"whole characters": 52, "several characters": 3, "fragments": 9}
    assert facts["unbuildable"] == []


def test_tokens_no_merge_can_build(fastbpe_command: Shell, tmp_path: Path) -> None:
    path = tmp_path / "ranks.json"
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"ab": 257, b"xyz\x1b": 258}
    Tokenizer.from_ranks(ranks, "none").save(path)
    out = fastbpe_command("inspect", path).out
    assert "256 bytes, 2 merges, 1 tokens that none makes, 0 special tokens" in out
    assert "No merge can build 1 tokens" in out and "258  |xyz\\x1b|" in out
    assert json.loads(fastbpe_command("inspect", path, "--json").out)["unbuildable"] == [
        {"id": 258, "token": "xyz\\x1b"}
    ]


def test_characters(fastbpe_command: Shell, tmp_path: Path) -> None:
    path = tmp_path / "characters.json"
    CharTokenizer.from_characters("月明 ", ["<s>"]).save(path)
    out = fastbpe_command("inspect", path).out
    assert "4 (largest 3): 3 characters, 1 special token\n" in out
    assert fastbpe_command("inspect", path, "--token", "月").out == "0 |月|\n"


def test_derivation(fastbpe_command: Shell, tokenizer: Path) -> None:
    expected = [
        "258 | est|  merge 2, count 3",
        "├─ 32 | |",
        "└─ 257 |est|  merge 1, count 8",
        "   ├─ 256 |es|  merge 0, count 9,000",
        "   │  ├─ 101 |e|",
        "   │  └─ 115 |s|",
        "   └─ 116 |t|",
    ]
    assert fastbpe_command("inspect", tokenizer, "--token", " est").out.splitlines() == expected
    assert fastbpe_command("inspect", tokenizer, "--token-id", "258").out.splitlines() == expected
    nodes = json.loads(fastbpe_command("inspect", tokenizer, "--token-id", "260", "--json").out)
    assert nodes == [
        {"depth": 0, "id": 260, "token": "[e6 9c]", "rank": 4, "count": 2},
        {"depth": 1, "id": 230, "token": "[e6]", "rank": None, "count": None},
        {"depth": 1, "id": 156, "token": "[9c]", "rank": None, "count": None},
    ]
    assert fastbpe_command("inspect", tokenizer, "--token", "<|e|>").out == "261 |<|e|>|\n"
    fastbpe_command("inspect", tokenizer, "--token", "nope").failed(3, "no token is b'nope'")
    fastbpe_command("inspect", tokenizer, "--token-id", "999").failed(3, "999")
    fastbpe_command("inspect", tokenizer, "--token-id", "-1").failed(3, "-1")
    fastbpe_command("inspect", tokenizer, "--token", "t", "--token-id", "1").failed(2, "one or the other")


def test_a_deep_derivation(fastbpe_command: Shell, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    Tokenizer.from_merges([(97, 97), *[(256 + k, 97) for k in range(2000)]], pattern=None).save(path)
    rows = fastbpe_command("inspect", path, "--token-id", "2256").out.splitlines()
    assert len(rows) == 2 * 2002 - 1
    assert rows[1].startswith("├─ 2255 ") and rows[-1] == "└─ 97 |a|"


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
