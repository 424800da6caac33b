"""fastbpe show."""

import json
from pathlib import Path

import pytest
from cli_runner import Shell, process

from fastbpe.tokenizer import Tokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    Tokenizer.from_merges(
        [(101, 115), (256, 116), (32, 257)], pattern=None, special_tokens=["<|e|>"], eos_token="<|e|>"
    ).save(path)
    return path


def test_without_colour(fastbpe_command: Shell, tokenizer: Path) -> None:
    code, out, err = fastbpe_command("show", tokenizer, "a test<|e|>\n月")
    assert (code, err) == (0, "")
    rows = out.splitlines()
    assert rows[0] == "a| |t|est|<|e|>|↵"
    assert rows[1] == "[e6]|[9c]|[88]"
    assert rows[2] == "97 32 116 257 259 10 230 156 136"
    assert rows[3] == "9 tokens for 15 bytes, 1.67 bytes each"


def test_colour_markers_and_plain_specials(fastbpe_command: Shell, tokenizer: Path) -> None:
    out = fastbpe_command("show", tokenizer, " est<|e|>", "--color", "always", "--markers", "gpt2").out
    assert out.startswith("\x1b[")
    assert "Ġest" in out
    plain = fastbpe_command("show", tokenizer, "<|e|>", "--allowed-special", "none").out
    assert plain.splitlines()[0] == "<|||e|||>"
    assert fastbpe_command("show", tokenizer, "x est", "--markers", "sentencepiece").out.startswith("▁x|▁est\n")


def test_json(fastbpe_command: Shell, tokenizer: Path) -> None:
    facts = json.loads(fastbpe_command("show", tokenizer, "est月", "--json").out)
    assert facts == {"ids": [257, 230, 156, 136], "tokens": ["est", [230], [156], [136]], "n_tokens": 4, "n_bytes": 6}


def test_standard_input_and_bytes_that_are_no_text(tokenizer: Path) -> None:
    assert process("show", tokenizer, "-", stdin=b"est\xff").out.splitlines()[0] == "est|[ff]"
    assert process("show", tokenizer, b"\xff".decode("utf-8", "surrogateescape")).out.splitlines()[0] == "[ff]"


def test_nothing_to_show(fastbpe_command: Shell, tokenizer: Path) -> None:
    assert fastbpe_command("show", tokenizer, "").out.splitlines()[-1] == "0 tokens for 0 bytes"


def test_errors(fastbpe_command: Shell, tokenizer: Path, tmp_path: Path) -> None:
    fastbpe_command("show", tokenizer, "x", "--allowed-special", "<|z|>").failed(2, "<|z|>", "not a special token")
    fastbpe_command("show", tokenizer).failed(2, "TEXT is missing")
    fastbpe_command("show", tmp_path / "none.json", "x").failed(1, "none.json", "no such file", "check the path")
    other = tmp_path / "other.json"
    other.write_text("{}")
    fastbpe_command("show", other, "x").failed(3, "other.json", "not a fastbpe tokenizer")


def test_one_above_the_other(fastbpe_command: Shell, tokenizer: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    Tokenizer.from_merges([(116, 32), (230, 156), (257, 136)], pattern=None).save(other)
    code, out, err = fastbpe_command("show", tokenizer, "a test 月\nest<|e|>", "--against", other, "--color", "never")
    assert (code, err) == (0, "")
    rows = out.splitlines()
    assert rows[:6] == [
        "1 a| |t|est| ╌|[e6]|[9c]|[88]|↵|",
        "2 a| |t|e|s|t |月╌╌╌╌╌╌╌╌╌╌╌╌|↵|",
        "",
        "1 est╌╌|<|e|>╌╌╌╌|",
        "2 e|s|t|<|||e|||>|",
        "",
    ]
    assert rows[6] == f"1 {tokenizer}"
    assert rows[8] == "11 tokens for 19 bytes, 1.73 bytes each"
    assert rows[9] == f"2 {other}"
    assert rows[11].startswith("16 tokens")


def test_rows_are_no_wider_than_the_window(
    fastbpe_command: Shell, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    out = fastbpe_command("show", tokenizer, "test " * 20, "--against", tokenizer).out
    rows = out.split("\n\n\n")[0].split(f"1 {tokenizer}")[0].splitlines()
    assert len(rows) > 9 and all(len(row) <= 24 for row in rows)


def test_against_in_json(fastbpe_command: Shell, tokenizer: Path) -> None:
    facts = json.loads(fastbpe_command("show", tokenizer, "est", "--against", tokenizer, "--json").out)
    assert facts["ids"] == [257]
    (other,) = facts["against"]
    assert (other["tokenizer"], other["ids"]) == (f"{tokenizer} (2)", [257])


def test_normalized_text_is_not_aligned(fastbpe_command: Shell, tokenizer: Path, tmp_path: Path) -> None:
    other = tmp_path / "nfc.json"
    Tokenizer.from_merges([(195, 169)], pattern=None, normalizer="NFC").save(other)
    rows = fastbpe_command("show", tokenizer, "e\u0301", "--against", other).out.splitlines()
    assert rows[:2] == ["1 e|[cc]|[81]", "2 é"]
