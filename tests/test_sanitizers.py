"""In the asan build: the sanitizer sees what a kernel does wrong. Skipped elsewhere, since other builds do not look."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASAN = os.environ.get("FASTBPE_BUILD") == "asan"
pytestmark = pytest.mark.skipif(not ASAN, reason="only the asan build reports overruns")


def test_a_planted_overrun_is_reported() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import planted_overrun; planted_overrun.overrun(10); print('went on')"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert "went on" not in result.stdout
    assert "heap-buffer-overflow" in result.stderr
