"""cli/interrupt.py: Ctrl-C ends the process soon, whatever it is at."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fastbpe.cli.interrupt import GRACE, INTERRUPTED

pytestmark = pytest.mark.usefixtures("interruptible")

SAID = b"fastbpe: interrupted\n"


def child(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A process that says "up" when it may be interrupted."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )


def interrupt(process: subprocess.Popen[bytes], times: int = 1) -> float:
    """Seconds until the process has ended as one that was interrupted."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.readline() == b"up\n"
        start = time.monotonic()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert process.stderr.read() == SAID
        assert process.wait() == INTERRUPTED
    return time.monotonic() - start


def test_who_does_not_come_to_an_end_is_ended() -> None:
    code = """
import time
from fastbpe.cli import interrupt
interrupt.watch()
up = False
while True:
    try:
        if not up:
            up = True
            print("up", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        pass
"""
    assert interrupt(child(code)) >= GRACE
    interrupt(child(code), times=2)


def test_the_main_thread_in_a_kernel() -> None:
    code = """
import hashlib
from fastbpe.cli import interrupt
interrupt.watch()
try:
    print("up", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
except KeyboardInterrupt:  # before it was there
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""
    assert interrupt(child(code)) < 30


def test_an_interruption_while_modules_are_loaded() -> None:
    code = """
import sys, time
class Slow:
    def find_spec(self, name, *_):
        if name == "cyclopts":
            print("up", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow())
from fastbpe.cli import main
main()
"""
    assert interrupt(child(code)) < 30


def test_a_regular_expression_in_the_middle_of_a_document(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("abc" * 3_000_000)
    code = """
import sys
from fastbpe.pattern.regex_engine import RegexEngine
ends = RegexEngine.ends
def told(self, data):
    if len(data) > 1000:
        print("up", flush=True)
    return ends(self, data)
RegexEngine.ends = told
from fastbpe.cli import main
main()
"""
    pattern = r"(\w)\1+|[\s\S]"
    interrupt(
        child(
            code,
            "count",
            str(tmp_path / "long.txt"),
            "-o",
            str(tmp_path / "c.npz"),
            "--pattern",
            pattern,
            "--threads",
            "2",
        )
    )
    assert [path.name for path in tmp_path.iterdir()] == ["long.txt"]
