"""Settings for all tests: hypothesis does not judge by the clock, and CI runs the same examples every time."""

import os
import signal
import tempfile
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


@pytest.fixture(autouse=True, scope="session")
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that tests kill leave their temporary files where pytest removes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """For tests that write much: what they write need not outlive the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def fastbpe_command(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A job in the background, as tests may be, ignores Ctrl-C and hands that down to its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def unlisted_a(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories of the name "a" may not be listed, whoever asks: root may list those that are only made so."""
    scandir = os.scandir

    def refuse(path):  # type: ignore[no-untyped-def]
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
