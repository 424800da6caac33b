"""fastbpe encode, verify and decode: text to shards and back."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_runner import Shell, process

from fastbpe.tokenizer import Tokenizer

TEXTS = {"a.txt": b"the cat\n", "b.txt": b"", "c.txt": b"<|e|> the the \xff dog"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "text" / name).write_bytes(text)
    merges = [(104, 101), (116, 256), (32, 257)]
    Tokenizer.from_merges(merges, pattern="gpt2", special_tokens=["<|e|>"], eos_token="<|e|>").save("tok.json")
    return tmp_path


def encode(command: Shell, *options: str) -> str:
    outcome = command("encode", "tok.json", "text", "-o", "shards", "--progress", "none", *options)
    assert outcome.code == 0, outcome
    return outcome.out


def test_there_and_back(fastbpe_command: Shell, place: Path) -> None:
    told = encode(fastbpe_command, "--eos", "<|e|>")
    size = sum(map(len, TEXTS.values()))
    assert told.startswith("shards: ")
    assert told.endswith(f" tokens of 3 documents ({size} bytes) in 1 shards of uint16\n")
    tokens = np.load(place / "shards" / "tokens_train_000000.npy")
    assert (tokens == 259).sum() == 3
    assert np.array_equal(tokens[-1:], [259])

    code, out, err = fastbpe_command("verify", "shards", "--source", "text", "--progress", "none")
    assert code == 0, err
    assert "all " in out
    raw = process("decode", "tok.json", "shards", cwd=place).out
    assert raw.encode(errors="surrogateescape") == b"".join(TEXTS.values())
    lines = process("decode", "tok.json", "shards", "--documents", "jsonl", cwd=place).out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == [text.decode("utf-8", "replace") for text in TEXTS.values()]


def test_messages(fastbpe_command: Shell, place: Path) -> None:
    err = fastbpe_command("encode", "tok.json", "text", "-o", "shards", "--progress", "none").err
    assert "no --eos" in err
    assert "<|e|> occurs 1 times in the text and was left as text" in err
    allowed = ("encode", "tok.json", "text", "-o", "allowed", "--progress", "none", "--allowed-special", "all")
    assert "left as text" not in fastbpe_command(*allowed, "--eos", "<|e|>").err


def test_lines_shards_and_prefix(fastbpe_command: Shell, place: Path) -> None:
    options = ("--lines", "--eos", "<|e|>", "--shard-tokens", "10", "--val-shards", "1", "--prefix", "x", "--json")
    facts = json.loads(encode(fastbpe_command, *options))
    assert facts["shards"] > 1
    names = sorted(path.name for path in (place / "shards").glob("*.npy"))
    assert names[:2] == ["x_train_000001.npy", "x_train_000002.npy"]
    assert names[-1] == "x_val_000000.npy"
    verified = fastbpe_command("verify", "shards", "--source", "text", "--progress", "none", "--json")
    assert json.loads(verified.out)["bytes"] == sum(map(len, TEXTS.values()))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["encode", "tok.json", "text", "-o", "text"], 2, ["text", "choose another directory"]),
        (["encode", "tok.json", "text", "-o", "s", "--eos", "<|z|>"], 2, ["<|z|>"]),
        (["encode", "tok.json", "text", "-o", "s", "--eos", "<|e|>", "--prefix", "train"], 2, ["train"]),
        (["encode", "tok.json", "text", "-o", "s", "--eos", "<|e|>", "--allowed-special", "q"], 2, ["q"]),
        (["encode", "text/a.txt", "text", "-o", "s", "--eos", "<|e|>"], 3, ["text/a.txt"]),
        (["encode", "none.json", "text", "-o", "s", "--eos", "<|e|>"], 1, ["none.json", "no such file"]),
        (["encode", "tok.json", "none", "-o", "s", "--eos", "<|e|>"], 3, ["none", "no such file"]),
        (["encode", "tok.json", "-o", "s", "--eos", "<|e|>"], 2, ["no input"]),
        (["decode", "tok.json", "text"], 3, ["text", "manifest.json"]),
        (["decode", "tok.json", "none"], 3, ["none", "no such directory"]),
        (["verify", "text"], 3, ["text", "manifest.json"]),
        (["verify", "none"], 3, ["none"]),
    ],
)
def test_errors(fastbpe_command: Shell, place: Path, arguments: list[str], code: int, words: list[str]) -> None:
    progress = ["--progress", "none"] if arguments[0] != "decode" else []
    fastbpe_command(*arguments, *progress).failed(code, *words)
    assert not Path("s").exists()
    assert sorted(path.name for path in place.iterdir()) == ["text", "tok.json"]


def test_what_changed_is_found(fastbpe_command: Shell, place: Path) -> None:
    encode(fastbpe_command, "--eos", "<|e|>")
    other = place / "other.json"
    Tokenizer.from_merges([(97, 97)], pattern="gpt2", special_tokens=["<|e|>"]).save(other)
    fastbpe_command("decode", other, "shards").failed(3, "shards")
    fastbpe_command("verify", "shards", "--tokenizer", other, "--progress", "none").failed(3)
    (place / "text" / "a.txt").write_bytes(b"the car\n")
    changed = fastbpe_command("verify", "shards", "--source", "text", "--progress", "none")
    changed.failed(3, "document 0", "differs")
    shard = place / "shards" / "tokens_train_000000.npy"
    damaged = bytearray(shard.read_bytes())
    damaged[-2] ^= 1
    shard.write_bytes(damaged)
    fastbpe_command("verify", "shards", "--progress", "none").failed(3, "tokens_train_000000.npy")
