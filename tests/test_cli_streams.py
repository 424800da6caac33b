"""cli/streams.py: closed standard streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", [1, 2])
def test_closed_streams(number: int) -> None:
    """A file that is opened later does not get the number of a closed stream."""
    code = f"""
import os, sys
os.close({number})
sys.stdin = None
sys.{"stdout" if number == 1 else "stderr"} = None
from fastbpe.cli.streams import hold_closed_streams
hold_closed_streams()
assert open(os.devnull).fileno() > 2
print("text")
if {number} == 1:
    try:
        sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(error.strerror)
        os._exit(0)
print("text", file=sys.stderr)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert (result.stdout, result.stderr) == ((b"", b"Bad file descriptor") if number == 1 else (b"text\n", b""))
    assert result.returncode == 0
