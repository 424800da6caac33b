"""--resume of train and count."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Shell

TEXT = "the cat and the dog and the bird\n" * 40

STOPPED = """
import itertools, os, signal, sys
import fastbpe.merging
from fastbpe.pipeline import checkpoint, count
from fastbpe.cli.outcome import run
from fastbpe.cli import interrupt
fastbpe.merging._WORK = 1
checkpoint.LATE, count.SEGMENT_BYTES = 0, 1
function, nth, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
whole, calls = getattr(checkpoint.Checkpoint, function), itertools.count(1)
def stopping(*arguments):
    whole(*arguments)
    if next(calls) == nth:
        os.kill(os.getpid(), number)
setattr(checkpoint.Checkpoint, function, stopping)
interrupt.watch()
os._exit(run(sys.argv[4:]))
"""


def stopped(function: str, nth: int, number: int, *arguments: str | Path) -> tuple[int, str]:
    """Runs the command in a process that sends itself a signal when it has come to a point; its code and its words."""
    command = [sys.executable, "-c", STOPPED, function, str(nth), str(int(number)), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    result = subprocess.run(command, capture_output=True, env=environment, text=True)
    return result.returncode, result.stderr


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{i}.txt" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_text(TEXT + f"{i} " * i)
    return paths


def check_stopped(code: int, err: str, number: int) -> None:
    if number == signal.SIGINT:
        assert code == 130
        assert "--resume goes on with what lies in" in err and "interrupted" in err
    else:
        assert code == -signal.SIGKILL, err


def done(err: str) -> dict[str, int]:
    """How much each phase had to do, as --progress json told."""
    return {event["phase"]: event["done"] for event in map(json.loads, err.splitlines()) if event["finished"]}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("function", "nth"), [("counted", 1), ("counted", 2), ("learned", 4)])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_training_that_was_stopped_goes_on(
    fastbpe_command: Shell, tmp_path: Path, texts: list[Path], function: str, nth: int, number: int
) -> None:
    whole, out, logs = tmp_path / "whole.json", tmp_path / "out.json", [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    options = ("--vocab-size", "275", "--progress", "json")
    assert fastbpe_command("train", *texts, "-o", whole, *options, "--log", logs[0]).code == 0
    command = ("train", *texts, "-o", out, *options, "--log", logs[1])
    check_stopped(*stopped(function, nth, number, *command), number)
    there = {path.name for path in tmp_path.iterdir()} - {"whole.json", "a.tsv", *(path.name for path in texts)}
    assert there == ({"out.json.work"} if function == "counted" else {"out.json.work", "b.tsv"})
    fastbpe_command(*command).failed(2, "out.json.work", "--resume")
    code, _, err = fastbpe_command(*command, "--resume")
    assert code == 0, err
    assert out.read_bytes() == whole.read_bytes()
    assert logs[0].read_bytes() == logs[1].read_bytes()
    assert not (tmp_path / "out.json.work").exists()
    assert done(err)["count"] < sum(path.stat().st_size for path in texts)
    assert done(err)["merge"] < 19 or function == "counted"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("function", "nth"), [("counted", 1), ("save_counts", 1)])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_counting_that_was_stopped_goes_on(
    fastbpe_command: Shell, tmp_path: Path, texts: list[Path], function: str, nth: int, number: int
) -> None:
    whole, out = tmp_path / "whole.npz", tmp_path / "out.npz"
    assert fastbpe_command("count", *texts, "-o", whole).code == 0
    command = ("count", *texts, "-o", out, "--progress", "json")
    check_stopped(*stopped(function, nth, number, *command), number)
    assert (tmp_path / "out.npz.work").exists() and not out.exists()
    fastbpe_command(*command).failed(2, "out.npz.work", "--resume")
    fastbpe_command(*command, "--resume", "--pattern", "gpt2").failed(2, "pattern was")
    code, _, err = fastbpe_command(*command, "--resume")
    assert code == 0, err
    assert out.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "out.npz.work").exists()
    assert done(err)["count"] < sum(path.stat().st_size for path in texts)


@pytest.mark.parametrize("command", [("train", "--vocab-size", "262"), ("count",)])
def test_resume_without_anything_to_go_on_from(
    fastbpe_command: Shell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    out = tmp_path / "out.npz"
    assert fastbpe_command(*command, tmp_path / "text.txt", "-o", out, "--resume").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.npz", "text.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_training_that_a_full_disk_stopped_says_that_it_can_go_on(
    fastbpe_command: Shell, tmp_path: Path, texts: list[Path]
) -> None:
    whole, out = tmp_path / "whole.json", tmp_path / "out.json"
    options = ("--vocab-size", "275", "--progress", "none")
    assert fastbpe_command("train", *texts, "-o", whole, *options).code == 0
    command = ("train", *texts, "-o", out, *options)
    code, err = stopped("learned", 10**6, signal.SIGKILL, *command, "--log", "/dev/full")
    assert code == 1
    assert f"--resume goes on with what lies in {out}.work" in err
    assert "/dev/full: no space left on device; free some space" in err
    code, _, err = fastbpe_command(*command, "--resume")
    assert code == 0, err
    assert out.read_bytes() == whole.read_bytes()
