"""fastbpe encode, verify and decode: text to shards and back."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from cli_runner import Shell, process

from fastbpe.shards import TokenShards
from fastbpe.shards.writer import ShardWriter
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
    assert told.endswith(f" tokens of 3 documents ({size} bytes) in 1 shard of uint16\n")
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
    assert "no --eos (<|e|> would be the tokenizer's): only the index tells" in err
    assert "<|e|> occurs 1 time in the text and was left as text" in err
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


def bad_inputs(place: Path) -> None:
    (place / "d").mkdir()
    lines = [json.dumps({"content": text, "lang": lang}) for text, lang in (("the cat", "en"), ("le chat", "fr"))]
    (place / "d" / "a.jsonl").write_text("\n".join([lines[0], "broken", lines[1], "{}"]))
    (place / "d" / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines * 50).encode())[:-9])


def test_bad_records_are_told_of_and_a_cut_archive_is_no_success(fastbpe_command: Shell, place: Path) -> None:
    bad_inputs(place)
    common = ("--progress", "none")
    encoded = ("encode", "tok.json", "d/a.jsonl", "--eos", "<|e|>", *common)
    code, out, err = fastbpe_command(*encoded, "-o", "s1")
    assert code == 0
    assert "of 2 documents" in out
    told = "fastbpe: 2 skipped, 2 bad records among them: 1 no field 'content', 1 not valid JSON; "
    assert err == told + "the first: d/a.jsonl, line 2 (not valid JSON)\n"
    (source,) = json.loads((place / "s1" / "manifest.json").read_text())["sources"]
    assert source["skipped_examples"][1] == ["d/a.jsonl, line 4", "no field 'content'"]

    code, out, err = fastbpe_command("encode", "tok.json", "d", "--eos", "<|e|>", *common, "-o", "s2")
    assert code == 3
    assert "s2: " in out
    assert "fastbpe: d/b.jsonl.gz: is cut short" in err
    assert fastbpe_command("verify", "s2", "--source", "d", *common).code == 0

    code, _, counted = fastbpe_command("count", "d", "-o", "c.npz", "--pattern", "gpt2", *common)
    assert (code, counted) == (3, err)
    code, _, trained = fastbpe_command("train", "d", "-o", "t.json", "--vocab-size", "260", *common)
    assert (code, trained) == (3, err)
    assert (place / "t.json").exists()
    for command in (("encode", "tok.json", "d", "-o", "s3", "--eos", "<|e|>"), ("count", "d", "-o", "c3.npz")):
        fastbpe_command(*command, *common, "--on-error", "stop").failed(3, "d/a.jsonl, line 2: not valid JSON")
    assert not (place / "s3").exists()


def test_rows(fastbpe_command: Shell, place: Path) -> None:
    told = ("encode", "tok.json", "text", "-o", "rows", "--eos", "<|e|>", "--pack", "8", "--progress", "none")
    fastbpe_command(*told).failed(2, "no pad role", "--pad")
    code, out, err = fastbpe_command(*told, "--pad", "<|e|>")
    assert code == 0
    shards = TokenShards("rows")
    assert f"{len(shards)} tokens in rows of 8, {shards.manifest.padding} of them padding, of 3 documents (" in out
    assert "fastbpe: 1 document longer than a row of 8 tokens goes on in the next rows\n" in err
    assert shards.rows == np.load("rows/tokens_train_000000.npy").reshape(-1, 8).shape[0]
    assert fastbpe_command("verify", "rows", "--source", "text", "--progress", "none").code == 0
    assert process("decode", "tok.json", "rows", cwd=place).out.encode(errors="surrogateescape") == b"".join(
        TEXTS.values()
    )
    facts = json.loads(fastbpe_command(*told, "--pad", "<|e|>", "--resume", "--json").out)
    assert (facts["padding"], facts["longer_than_row"]) == (shards.manifest.padding, 1)


def test_dry_run(fastbpe_command: Shell, place: Path) -> None:
    command = ("encode", "tok.json", "text", "-o", "out", "--eos", "<|e|>", "--dry-run")
    code, out, err = fastbpe_command(*command)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["text", "encoding", "tokens", "shards", "memory", "disk"]
    assert json.loads(fastbpe_command(*command, "--json").out)["files"] == 3
    fastbpe_command(*command, "--prefix", "train").failed(2, "train")
    assert not (place / "out").exists()


def test_an_interrupted_run_says_how_to_go_on(
    fastbpe_command: Shell, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "text" / "c.txt").write_bytes(b"the cat " * 100)
    command = (
        "encode",
        "tok.json",
        "text",
        "-o",
        "out",
        "--eos",
        "<|e|>",
        "--shard-tokens",
        "40",
        "--progress",
        "none",
    )

    def at_once(self: ShardWriter, state: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "finish", at_once)
        code, out, err = fastbpe_command(*[*command[:-3], "1000000", *command[-2:]])
    assert (code, out) == (130, "")
    assert err == "fastbpe: no shard was complete, nothing is kept in out\nfastbpe: interrupted\n"
    assert not (place / "out").exists()
    finish = ShardWriter.finish

    def interrupted(self: ShardWriter, state: object) -> None:
        finish(self, state)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "finish", interrupted)
        code, out, err = fastbpe_command(*command)
    assert (code, out) == (130, "")
    assert err == "fastbpe: --resume goes on with the shards in out\nfastbpe: interrupted\n"
    fastbpe_command(*command).failed(2, "out: holds a run that is not finished; --resume")
    assert fastbpe_command(*command, "--resume").code == 0
    assert fastbpe_command("verify", "out", "--source", "text", "--progress", "none").code == 0


def test_fields_filters_and_formats(fastbpe_command: Shell, place: Path) -> None:
    bad_inputs(place)
    options = ("--text-field", "content", "--where", "lang=fr", "--format", "llmc", "--shuffle", "1")
    arguments = (
        "encode",
        "tok.json",
        "d/a.jsonl",
        "-o",
        "s",
        "--eos",
        "<|e|>",
        *options,
        "--progress",
        "none",
        "--json",
    )
    code, out, _ = fastbpe_command(*arguments)
    assert code == 0
    assert json.loads(out)["documents"] == 1
    assert json.loads(out)["sources"][0]["skipped"]["left out by where"] == 2
    assert (place / "s" / "tokens_train_000000.bin").exists()
    assert process("decode", "tok.json", "s", cwd=place).out == "le chat"
    nothing = fastbpe_command(
        "encode", "tok.json", "text/a.txt", "-o", "n", "--eos", "<|e|>", "--text-field", "x", *options[8:]
    )
    assert nothing.code == 3  # no record was good
    assert "plain text, which has no field 'x'" in nothing.err
    assert "no document was left to encode: n holds no tokens" in nothing.err
    assert nothing.err.count("which has no field") == 1
    (place / "b.jsonl").write_text('{"body": "text"}\n')
    unnamed = fastbpe_command("encode", "tok.json", "b.jsonl", "-o", "b", "--eos", "<|e|>", "--progress", "none")
    assert unnamed.code == 3
    assert "no field 'text' or 'content'; the first: b.jsonl, line 1; check --text-field and --where\n" in unnamed.err
    refused = ("encode", "tok.json", "text", "-o", "r", "--eos", "<|e|>", "--format", "dolma", "--val-fraction", "0.1")
    fastbpe_command(*refused, "--progress", "none").failed(2, "dolma knows no splits")
