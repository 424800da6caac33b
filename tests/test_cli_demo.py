"""fastbpe demo, on a small library of its own."""

import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from cli_runner import Shell

from fastbpe.cli.demo import library_patterns, program


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the standard library, with a package and with what others installed."""
    library = tmp_path / "lib"
    for name in ("top.py", "json/__init__.py", "json/deep/inner.py", "site-packages/other.py", "data/notes.txt"):
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(f"def f():\n    return '{name}' * 3\n" * 50)
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(library)})
    monkeypatch.chdir(tmp_path)
    return library


def test_the_library_without_what_was_installed(library: Path) -> None:
    assert library_patterns() == [f"{library}/*.py", f"{library}/json/**/*.py"]


def test_the_whole_way(fastbpe_command: Shell, library: Path) -> None:
    for _ in range(2):  # the second replaces the first
        code, out, err = fastbpe_command("demo", "--vocab-size", "300", "--progress", "none")
        assert code == 0, err
        assert "3 files, 0.0 MB" in out
        for word in (
            "count ",
            "merge ",
            "encode ",
            "compare ",
            "distinct chunks ",
            "stopped by ",
            "every byte came back",
        ):
            assert word in out
        assert Path("demo/tok.json").is_file()
        assert Path("demo/shards/manifest.json").is_file()


def test_what_is_no_demo_is_left_alone(fastbpe_command: Shell, library: Path) -> None:
    Path("demo").mkdir()
    Path("demo/mine.txt").write_text("mine")
    fastbpe_command("demo").failed(2, "demo exists and is no earlier demo")
    assert Path("demo/mine.txt").read_text() == "mine"


def test_what_to_type_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/fastbpe")
    assert program() == "fastbpe"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", [".venv/bin/fastbpe", "demo"])
    assert program() == ".venv/bin/fastbpe"
    monkeypatch.setattr(sys, "argv", ["/somewhere/fastbpe/__main__.py", "demo"])
    assert program().endswith(" -m fastbpe")
