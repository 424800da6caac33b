"""cli/outcome.py: exit codes, one line for people, tracebacks only when asked for."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Shell, process

from fastbpe.cli import show as show_module
from fastbpe.cli.outcome import system_message
from fastbpe.errors import DataError, FastbpeError, ParameterError
from fastbpe.tokenizer import Tokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    Tokenizer.from_merges([(97, 97)], pattern=None).save(path)
    return path


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (FastbpeError("it did not work"), 1, "it did not work"),
        (ParameterError("choose\nanother"), 2, "choose another"),
        (DataError("line 3"), 3, "line 3"),
        (OSError(errno.ENOSPC, "No space left on device", "/a/b"), 1, "/a/b: no space left on device; free some"),
        (MemoryError(), 1, "out of memory: use fewer threads"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ImportError("cannot import name 'a'", name="fastbpe.kernels.split"), 1, "build or install it anew"),
        (ImportError("cannot import name 'a'", name="elsewhere"), 1, "unexpected ImportError: cannot import"),
        (ZeroDivisionError("division by zero"), 1, "unexpected ZeroDivisionError: division by zero; this is a fault"),
    ],
)
def test_codes(
    fastbpe_command: Shell,
    tokenizer: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    words: str,
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(show_module, "drawn", fails)
    fastbpe_command("show", tokenizer, "a").failed(code, words)
    monkeypatch.setenv("FASTBPE_DEBUG", "1")
    outcome = fastbpe_command("show", tokenizer, "a")
    assert outcome.code == code
    assert "Traceback" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bogus"], "unknown command 'bogus': choose train, count, "),
        (["--bogus"], "unknown option --bogus (see: fastbpe --help)"),
        (["train", "x"], "--output is missing (see: fastbpe train --help)"),
        (["train", "x", "-o", "y", "--vocab-size"], "--vocab-size is missing its value"),
        (["train", "x", "--vocabsize", "3"], "unknown option --vocabsize"),
        (["train", "x", "-o", "y", "--vocab-size", "3", "--tie-break", "z"], 'choose from: "lowest"'),
        (["show", "x"], "TEXT is missing (see: fastbpe show --help)"),
        (["show", "x", "y", "z"], "too many arguments: z"),
        (["inspect", "x", "--merges", "many"], '--merges: unable to convert "many"'),
        (["--bogus"], "--bogus"),
    ],
)
def test_usage(fastbpe_command: Shell, arguments: list[str], words: str) -> None:
    outcome = fastbpe_command(*arguments)
    outcome.failed(2)
    assert words.lower() in outcome.err.lower()


@pytest.mark.parametrize("command", ["train", "count", "encode", "decode", "verify", "show", "inspect", "demo"])
def test_help(fastbpe_command: Shell, command: str) -> None:
    code, out, err = fastbpe_command(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: fastbpe {command} ")
    assert "[OPTIONS]" in out


def test_help_and_version_as_processes() -> None:
    overview = process("--help")
    assert overview.code == 0
    assert "Exit codes: 0 done, 1 failed, 2 usage, 3 bad data, 130 interrupted" in overview.out
    assert process().out == overview.out
    assert process("--version").out.strip()
    process("bogus").failed(2, "unknown command")


def test_a_reader_that_goes_away(tokenizer: Path) -> None:
    text = "a\n" * 100_000
    command = [sys.executable, "-m", "fastbpe", "show", str(tokenizer), "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(text.encode())
        child.stdin.close()
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("inspect tok.json >&-", 1, "bad file descriptor; standard output is closed"),
        ("inspect tok.json <&- >&-", 1, "standard output is closed"),
        ("show tok.json - <&-", 3, "standard input is closed; pipe the text in"),
        ("count - -o c.npz <&-", 3, "standard input is closed; pipe the text in"),
        ("inspect tok.json >/dev/full", 1, "no space left on device"),
        ("bogus 2>&-", 2, None),
    ],
)
def test_closed_streams_are_told(tokenizer: Path, command: str, code: int, words: str | None) -> None:
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("a device that only Linux has")
    result = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m fastbpe {command}"],
        capture_output=True,
        cwd=tokenizer.parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        text=True,
    )
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.count("\n") == (0 if words is None else 1)
    assert words is None or words in result.stderr


def test_system_messages() -> None:
    assert system_message(FileNotFoundError(2, "No such file or directory", "x")) == (
        "x: no such file or directory; check the path"
    )
    assert system_message(OSError(errno.ENOSPC, "No space left on device")).startswith("no space left on device; free")
    assert system_message(OSError("odd")) == "odd"
    assert system_message(OSError(1, "Operation not permitted", b"\xff")).startswith("\udcff: operation")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["train", "count", "encode"])
def test_an_interruption_leaves_nothing_half_written(tokenizer: Path, command: str) -> None:
    place = tokenizer.parent
    arguments = {
        "train": ["-", "-o", "new.json", "--vocab-size", "300"],
        "count": ["-", "-o", "new.npz"],
        "encode": ["tok.json", "-", "-o", "shards"],
    }[command]
    with subprocess.Popen(
        [sys.executable, "-m", "fastbpe", command, *arguments, "--progress", "json"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    ) as child:
        assert child.stderr is not None
        assert b'"phase"' in child.stderr.readline()  # it is at work, waiting for text that never comes
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
        # Of an encoding that is stopped people want to know what there is to go on from.
        told = b"fastbpe: no shard was complete, nothing is kept in shards\n" if command == "encode" else b""
        assert child.stderr.read() == told + b"fastbpe: interrupted\n"
    assert [path.name for path in place.iterdir()] == ["tok.json"]
