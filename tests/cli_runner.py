"""Runs the command line as users do, and in this process where only the outcome matters."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from fastbpe.cli.outcome import run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    def failed(self, code: int, *words: str) -> None:
        """It ended with this code and one line on standard error that holds the words; nothing came out."""
        assert self.code == code, self
        assert self.out == ""
        assert self.err.startswith("fastbpe: ")
        assert self.err.count("\n") == 1, self.err
        for word in words:
            assert word in self.err


def process(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str) -> Outcome:
    """`fastbpe ARGUMENTS` in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-m", "fastbpe", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
    )
    return Outcome(result.returncode, result.stdout.decode(errors="surrogateescape"), result.stderr.decode())


class Shell:
    """`fastbpe ARGUMENTS` in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Outcome:
        self._capture.readouterr()
        code = run([*map(str, arguments)])
        return Outcome(code, *self._capture.readouterr())
