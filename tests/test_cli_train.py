"""fastbpe train, from files to tokenizer files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Shell, process

from fastbpe.pipeline.memory import resident_memory
from fastbpe.tokenizer import Tokenizer

TEXT = "low low lower lowest newest newest widest\n" * 20


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_a_tokenizer_file(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "tok.json"
    command = ("train", text, "-o", out, "--vocab-size", "270", "--pattern", "gpt2", "--special", "<|e|>")
    code, told, err = fastbpe_command(*command, "--eos", "<|e|>")
    assert code == 0, err
    assert told == f"{out}: 270 ids, 13 merges, stopped by vocab_size\n"
    tokenizer = Tokenizer.load(out)
    assert tokenizer.vocab_size == 270
    assert tokenizer.pattern_name == "gpt2"
    assert tokenizer.special_tokens == {"<|e|>": 269}
    assert tokenizer.eos_id == 269
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "tok.json"]


def test_the_same_command_gives_the_same_bytes(text: Path, tmp_path: Path) -> None:
    for name, threads in (("a.json", "1"), ("b.json", "4")):
        result = process("train", text, "-o", name, "--vocab-size", "280", "--threads", threads, cwd=tmp_path)
        assert result.code == 0, result
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_json_and_progress_for_programs(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    command = ("train", text, "-o", tmp_path / "tok.json", "--vocab-size", "9999", "--json", "--progress", "json")
    code, out, err = fastbpe_command(*command)
    assert code == 0
    facts = json.loads(out)
    assert facts["stop_reason"] == "min_frequency"
    assert facts["vocab_size"] == 256 + facts["merges"]
    events = [json.loads(line) for line in err.splitlines()]
    assert [event["phase"] for event in events if event["finished"]] == ["count", "merge"]


def test_several_sizes_from_one_training(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    special = ("--special", "<s>", "--pattern", "gpt2")
    command = ("train", text, "-o", tmp_path / "tok-{size}.json", "--vocab-size", "270,265,9999", *special)
    assert fastbpe_command(*command).code == 0
    for size in ("265", "270", "9999"):
        alone = tmp_path / "alone.json"
        assert fastbpe_command("train", text, "-o", alone, "--vocab-size", size, *special).code == 0
        assert (tmp_path / f"tok-{size}.json").read_bytes() == alone.read_bytes()


def test_fewer_ids_than_were_asked_for(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    command = ("train", text, "-o", tmp_path / "{size}.json", "--vocab-size", "270,9999", "--progress", "none")
    code, out, err = fastbpe_command(*command, "--min-frequency", "20")
    assert (code, err) == (0, "")
    enough, few = out.splitlines()
    assert enough == f"{tmp_path}/270.json: 270 ids, 14 merges, stopped by vocab_size"
    assert few.startswith(f"{tmp_path}/9999.json: 2")
    assert " ids of 9,999, " in few
    told = "stopped by min_frequency: no other pair occurs 20 times; more text gives more"
    assert few.endswith(f"{told}, or a lower --min-frequency")
    assert fastbpe_command(*command, "--min-frequency", "1").out.endswith("occurs 1 time; more text gives more\n")


def test_records_that_were_all_left_out(fastbpe_command: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "abc", "lang": "en"}\n' * 3)
    command = ("train", tmp_path / "a.jsonl", "-o", tmp_path / "tok.json", "--vocab-size", "300")
    told = "0 documents, 0 bytes; skipped were 3, the first: left out by where"
    fastbpe_command(*command, "--where", "lang=fr", "--progress", "none").failed(3, told)


def test_chunk_counts_in_place_of_text(fastbpe_command: Shell, tmp_path: Path) -> None:
    for name, text in (("a", TEXT), ("b", TEXT.upper())):
        (tmp_path / f"{name}.txt").write_text(text)
        code = fastbpe_command("count", tmp_path / f"{name}.txt", "-o", tmp_path / f"{name}.npz", "--pattern", "gpt2")
        assert code.code == 0
    from_counts, from_text = tmp_path / "counts.json", tmp_path / "text.json"
    names = [tmp_path / name for name in ("a.npz", "b.npz")]
    assert fastbpe_command("train", *names, "-o", from_counts, "--vocab-size", "290").code == 0
    names = [tmp_path / name for name in ("a.txt", "b.txt")]
    options = ("--vocab-size", "290", "--pattern", "gpt2")
    assert fastbpe_command("train", *names, "-o", from_text, *options).code == 0
    assert Tokenizer.load(from_counts) == Tokenizer.load(from_text)
    for unfit, words in (
        (["--pattern", "cl100k"], ["cl100k", "leave it out"]),
        (["--unmatched", "isolate"], ["made with 'refuse'"]),
        (
            ["--lines", "--separator", "x", "--errors", "strict"],
            ["--separator, --lines, --errors say how text is read"],
        ),
        (["--on-error", "stop"], ["--on-error", "chunk counts"]),
        (["--threads", "0"], ["threads"]),
    ):
        fastbpe_command("train", tmp_path / "a.npz", "-o", from_counts, *options[:2], *unfit).failed(2, *words)


def test_documents_and_standard_input(tmp_path: Path) -> None:
    arguments = ("train", "-", "-o", tmp_path / "tok.json", "--vocab-size", "259", "--pattern", "none")
    result = process(*arguments, "--separator", "\\n--\\n", stdin=b"ab\n--\nab\n--\nab\n")
    assert result.code == 0, result
    assert Tokenizer.load(tmp_path / "tok.json").token_bytes(256) == b"ab"


def test_what_is_not_utf8_is_told(fastbpe_command: Shell, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"abab\xff")
    arguments = (
        "train",
        tmp_path / "bad.txt",
        "-o",
        tmp_path / "tok.json",
        "--vocab-size",
        "257",
        "--progress",
        "none",
    )
    code, _, err = fastbpe_command(*arguments, "--pattern", "none")
    assert code == 0
    assert err.startswith("fastbpe: 1 byte is not UTF-8, the first at ")
    assert "bad.txt" in err
    assert err.count("\n") == 1


def test_bounds(fastbpe_command: Shell, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("rare often often often")
    arguments = (
        "train",
        tmp_path / "text.txt",
        "-o",
        tmp_path / "tok.json",
        "--vocab-size",
        "999",
        "--pattern",
        "gpt2",
    )
    bounds = ("--min-chunk-count", "2", "--min-frequency", "1", "--memory", "16GB")
    assert fastbpe_command(*arguments, *bounds).code == 0
    tokenizer = Tokenizer.load(tmp_path / "tok.json")
    assert tokenizer.count(" often") == 1
    assert tokenizer.count("rare") == 4
    fastbpe_command(*arguments, "--memory", "lots").failed(2, "lots")


def test_the_log_of_merges(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    log = tmp_path / "merges.tsv"
    command = ("train", text, "-o", tmp_path / "tok.json", "--vocab-size", "262", "--log", log)
    assert fastbpe_command(*command).code == 0
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    assert lines[0][:4] == ["id", "left", "right", "token"]
    assert len(lines) == 7
    assert [int(line[0]) for line in lines[1:]] == list(range(256, 262))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["text.txt", "-o", "tok.json", "--vocab-size", "256", "--special", "x"], 2, ["257"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "big"], 2, ["--vocab-size 'big'", "number"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--pattern", "gpt5"], 2, ["gpt5", "gpt2", "cl100k"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--pattern", "(["], 2, []),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--pattern", "a+"], 2, ["isolate"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--eos", "x"], 2, ["x"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--min-frequency", "0"], 2, ["min_frequency"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300,400"], 2, ["{size}"]),
        (["text.txt", "-o", "no/tok.json", "--vocab-size", "300"], 2, ["no is not a directory"]),
        (["text.txt", "-o", ".", "--vocab-size", "300"], 2, ["is a directory"]),
        (["missing.txt", "-o", "tok.json", "--vocab-size", "300"], 3, ["missing.txt", "no such file"]),
        (["*.md", "-o", "tok.json", "--vocab-size", "300"], 3, ["*.md", "no file matches"]),
        (["empty.txt", "-o", "tok.json", "--vocab-size", "300"], 3, ["no text to train on", "1 document,"]),
        (["folder", "-o", "tok.json", "--vocab-size", "300"], 3, ["no text to train on", "0 documents"]),
        (["image.txt", "-o", "tok.json", "--vocab-size", "300"], 3, ["image.txt", "a PNG image"]),
        (["bad.txt", "-o", "tok.json", "--vocab-size", "300", "--errors", "strict"], 3, ["bad.txt", "3"]),
        (["bad.npz", "-o", "tok.json", "--vocab-size", "300"], 3, ["bad.npz"]),
        (["-o", "tok.json", "--vocab-size", "300"], 2, ["no input"]),
        (["text.txt", "-o", "tok.json", "--vocab-size", "300", "--lines", "--separator", "x"], 2, ["choose one"]),
    ],
)
def test_errors(
    fastbpe_command: Shell,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    words: list[str],
) -> None:
    monkeypatch.chdir(text.parent)
    Path("empty.txt").touch()
    Path("folder").mkdir()
    Path("image.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    Path("bad.txt").write_bytes(b"abc\xff")
    Path("bad.npz").write_bytes(b"no zip")
    fastbpe_command("train", *arguments, "--progress", "none").failed(code, *words)
    assert not Path("tok.json").exists()


def test_a_full_disk(text: Path) -> None:
    result = process("train", text, "-o", "/dev/full", "--vocab-size", "300", "--progress", "none")
    result.failed(1, "/dev/full", "no space left", "free some space")


def test_merging_above_the_memory_bound_keeps_the_counts(fastbpe_command: Shell, tmp_path: Path) -> None:
    text, out, saved = (tmp_path / name for name in ("text.txt", "tok.json", "tok.counts.npz"))
    text.write_text("".join(f"{i:x}" for i in range(100_000)))
    train = ("train", text, "-o", out, "--vocab-size", "4294967288", "--pattern", "none")
    # Enough to count, and not to merge: for each byte of text a merge is within reach.
    code, told, err = fastbpe_command(*train, "--threads", "1", "--memory", str(resident_memory() + 45_000_000))
    assert (code, told) == (1, "")
    assert "above the bound of" in err
    assert f"the counts are in {saved}" in err
    assert not out.exists()
    code, told, err = fastbpe_command("train", saved, "-o", out, "--vocab-size", "270")
    assert code == 0, err
    assert Tokenizer.load(out).vocab_size == 270


def test_rare_chunks_can_be_left_out(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "tok.json"
    code, _, err = fastbpe_command("train", text, "-o", out, "--vocab-size", "270", "--min-chunk-count", "30")
    assert code == 0, err
    assert Tokenizer.load(out).record["corpus"]["dropped_distinct_chunks"] > 0


def test_what_would_be_lost_is_refused(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    fastbpe_command("train", text, "-o", text, "--vocab-size", "270").failed(2, "text.txt is one of the inputs")
    out = tmp_path / "tok.json"
    train = ("train", text, "-o", out, "--vocab-size", "270")
    fastbpe_command(*train, "--log", text).failed(2, "text.txt is one of the inputs")
    fastbpe_command(*train, "--log", out).failed(2, "is the tokenizer file")
    fastbpe_command(*train, "--pattern", "").failed(2, "no pattern is called")
    assert text.read_text() == TEXT


def test_sizes_that_no_tokenizer_has(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    train = ("train", text, "-o", tmp_path / "tok.json", "--vocab-size")
    fastbpe_command(*train, str(10**30)).failed(2, "do not fit in 32 bits")
    train = ("train", text, "-o", tmp_path / "tok-{size}.json", "--special", "<s>", "--vocab-size")
    fastbpe_command(*train, "256,300", "--log", tmp_path / "log").failed(2, "vocab_size=256 is below the floor of 257")
    assert not (tmp_path / "log").exists(), "before anything is learned"
    # There may be as many ids as 32 bits can tell apart: memory is taken for what the text can give.
    assert fastbpe_command(*train, str(2**32 - 8)).code == 0


def test_weights_of_text_and_of_counts(fastbpe_command: Shell, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a", "b")]
    for name, text in zip(names, (TEXT, TEXT.upper()), strict=True):
        name.with_suffix(".txt").write_text(text)
        assert fastbpe_command("count", name.with_suffix(".txt"), "-o", name.with_suffix(".npz")).code == 0
    merges = []
    for suffix in (".txt", ".npz"):
        inputs = [name.with_suffix(suffix) for name in names]
        command = ("train", *inputs, "-o", tmp_path / "tok.json", "--vocab-size", "300", "--weight", "b.*=2.5")
        code, _, err = fastbpe_command(*command)
        assert code == 0, err
        merges.append(Tokenizer.load(tmp_path / "tok.json").merges.tolist())
    assert merges[0] == merges[1]
    told = fastbpe_command("inspect", tmp_path / "tok.json").out
    assert "denominator  2" in told
    fastbpe_command(*command, "--weight", "c.npz=2").failed(2, "'c.npz'")


def test_the_normalizer(fastbpe_command, tmp_path):
    text, counts, tok = tmp_path / "a.txt", tmp_path / "c.npz", tmp_path / "tok.json"
    text.write_text("e\u0301e\u0301 e\u0301", encoding="utf-8")
    assert fastbpe_command("count", text, "-o", counts, "--normalizer", "NFC").code == 0
    assert fastbpe_command("train", counts, "-o", tok, "--vocab-size", "257").code == 0
    from_counts = Tokenizer.load(tok)
    assert from_counts.model.normalizer == "NFC"
    assert fastbpe_command("train", text, "-o", tok, "--vocab-size", "257", "--normalizer", "NFC").code == 0
    assert Tokenizer.load(tok) == from_counts
    refused = fastbpe_command("train", counts, "-o", tok, "--vocab-size", "257", "--normalizer", "NFKC")
    assert refused.code == 2 and "'NFKC'" in refused.err
    shards = tmp_path / "shards"
    assert fastbpe_command("encode", tok, text, "-o", shards).code == 0
    verified = fastbpe_command("verify", shards, "--source", text)
    assert verified.code == 0 and "came back, compared in NFC" in verified.out


@pytest.mark.usefixtures("interruptible")
def test_interrupted_while_it_counts(tmp_path: Path) -> None:
    """From a pipe that gives text and does not end."""
    command = [sys.executable, "-m", "fastbpe", "train", "-", "-o", "tok.json", "--vocab-size", "300"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--log", "m.tsv"], cwd=tmp_path, env=environment, **pipes) as process:
        process.stdin.write(TEXT.encode() * 10_000)  # more than the pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b"fastbpe: interrupted\n"
        process.stdin.close()
    assert not list(tmp_path.iterdir())
