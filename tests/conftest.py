"""Settings for all tests: hypothesis does not judge by the clock, and CI runs the same examples every time."""

import os
import signal
from collections.abc import Iterator

import pytest
from cli_runner import Shell
from effort import effort
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fastbpe",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=effort(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fastbpe")


@pytest.fixture
def fastbpe_command(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A job in the background, as tests may be, ignores Ctrl-C and hands that down to its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
