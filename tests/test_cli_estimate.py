"""--dry-run of train and count."""

import json
from pathlib import Path

from cli_runner import Shell


def test_nothing_is_done(fastbpe_command: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some text, some more text\n" * 1000)
    train = ("train", path, "-o", tmp_path / "t.json", "--vocab-size", "300", "--dry-run")
    count = ("count", path, "-o", tmp_path / "c.npz", "--dry-run")
    for command, names in ((train, {"merging", "counting", "disk"}), (count, {"counting", "memory"})):
        code, out, err = fastbpe_command(*command)
        assert code == 0, err
        assert names <= {line.split()[0] for line in out.splitlines()}
        assert json.loads(fastbpe_command(*command, "--json").out)["text_bytes"] == 26_000
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_counts_and_refusals(fastbpe_command: Shell, tmp_path: Path) -> None:
    path, counts = tmp_path / "a.txt", tmp_path / "c.npz"
    path.write_text("some text, some more text\n" * 1000)
    assert fastbpe_command("count", path, "-o", counts).code == 0
    command = ("train", counts, "-o", tmp_path / "t.json", "--vocab-size", "300", "--dry-run")
    code, out, err = fastbpe_command(*command)
    assert code == 0, err
    assert "counting" not in out and "merging" in out
    fastbpe_command("train", "-", "-o", tmp_path / "t.json", "--vocab-size", "300", "--dry-run").failed(2, "dry run")
    fastbpe_command("train", path, "-o", tmp_path / "t.json", "--vocab-size", "3", "--dry-run").failed(
        2, "the floor of 256"
    )
    for command in (("train", "--vocab-size", "300"), ("count",)):
        options = ("-o", counts, "--weight", "zh/*=2", "--dry-run")
        fastbpe_command(*command, path, *options).failed(2, "zh/*", "no source")
