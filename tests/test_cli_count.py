"""fastbpe count."""

import json
from pathlib import Path

import pytest
from cli_runner import Shell

from fastbpe.counts import ChunkCounts


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"the cat, the dog<s>\n\xff the")
    return path


def test_a_file_of_counts(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.npz"
    command = ("count", text, "-o", out, "--pattern", "gpt2", "--special", "<s>", "--progress", "none")
    code, told, err = fastbpe_command(*command)
    assert code == 0
    counts = ChunkCounts.load(out)
    assert dict(counts.items())[b" the"] == 2
    assert counts.special_tokens == ("<s>",)
    assert told.startswith(f"{out}: {len(counts)} distinct chunks, {counts.total} in all, of 1 document (")
    assert "1 byte is not UTF-8" in err
    assert "text.txt" in err


def test_json(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.npz"
    outcome = fastbpe_command("count", text, "-o", out, "--lines", "--json", "--progress", "none")
    facts = json.loads(outcome.out)
    assert facts["documents"] == 2
    assert facts["bytes"] == text.stat().st_size
    assert facts["invalid_bytes"] == 1
    assert facts["distinct_chunks"] == len(ChunkCounts.load(out))


def test_errors(fastbpe_command: Shell, text: Path, tmp_path: Path) -> None:
    fastbpe_command("count", text, "-o", tmp_path / "c.json").failed(2, "c.json", "name the file .npz")
    fastbpe_command("count", tmp_path / "none", "-o", tmp_path / "c.npz").failed(3, "none", "no such file")
    strict = ("count", text, "-o", tmp_path / "c.npz", "--errors", "strict", "--progress", "none")
    fastbpe_command(*strict).failed(3, "text.txt")
    assert not (tmp_path / "c.npz").exists()


def test_weights(fastbpe_command: Shell, tmp_path: Path) -> None:
    for name in ("zh", "en"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("hello hello")
    out = tmp_path / "c.npz"
    command = ("count", tmp_path / "zh", tmp_path / "en", "-o", out, "--weight", "zh/*=2.5", "--weight", "en=0.25")
    code, told, err = fastbpe_command(*command)
    assert code == 0, err
    assert "2 distinct chunks, 5.5 by weight in all" in told
    counts = ChunkCounts.load(out)
    assert (counts.denominator, counts.counts.tolist()) == (4, [11, 11])
    assert json.loads(fastbpe_command(*command, "--json").out)["chunks"] == "5.5"
    fastbpe_command(*command, "--weight", "fr/*=2").failed(2, "'fr/*'")
    fastbpe_command(*command, "--weight", "fr").failed(2, "--weight fr", "zh/*=2.5")
    fastbpe_command(*command, "--weight", "fr=x").failed(2, "'fr'", "'x'")


def test_a_sample(fastbpe_command: Shell, tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "c.npz"
    path.write_text("".join(f"line {i}\n" for i in range(1000)))
    command = ("count", path, "-o", out, "--lines", "--max-bytes", "2kB")
    files = []
    for seed in ("1", "1", "2"):
        code, _, err = fastbpe_command(*command, "--sample-seed", seed)
        assert code == 0, err
        files.append(out.read_bytes())
    assert files[0] == files[1] != files[2]
    assert 1500 < ChunkCounts.load(out).corpus.n_bytes <= 2000
    fastbpe_command("count", path, "-o", out, "--sample-seed", "1").failed(2, "give max_bytes")
    fastbpe_command("train", out, "-o", tmp_path / "t.json", "--vocab-size", "300", "--max-bytes", "1kB").failed(2)
