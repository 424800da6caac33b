"""What is built for others: the sdist has the sources of the kernels, the wheel has the kernels and no generated C."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import fastbpe

pytestmark = pytest.mark.skipif("FASTBPE_BUILD" in os.environ, reason="once, with the release build's tests")

ROOT = Path(__file__).parent.parent
NOT_SOURCES = {".git", ".venv", "build", "dist", "demo", "__pycache__", ".pytest_cache", ".hypothesis"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Names in the sdist, without its folder, and in the wheel that is built from it."""
    place = tmp_path_factory.mktemp("packaging")
    tree = place / "tree"
    shutil.copytree(ROOT, tree, ignore=lambda _, names: [n for n in names if n in NOT_SOURCES or n.endswith(".so")])
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place / "dist"), str(tree)]
    # The quickest of the modes: what lies in the archives is the same in all.
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FASTBPE_BUILD": "debug"})
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    (sdist,) = (place / "dist").glob("*.tar.gz")
    (wheel,) = (place / "dist").glob("*.whl")
    assert sdist.name == f"fastbpe_engine-{fastbpe.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        return inside, set(archive.namelist())


def test_the_sdist_has_what_the_kernels_are_built_from(built: tuple[set[str], set[str]]) -> None:
    for path in (ROOT / "fastbpe").rglob("*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".h") or path.name == "py.typed":
            assert str(path.relative_to(ROOT)) in built[0]
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/reference.py"):
        assert name in built[0]


def test_the_wheel_has_kernels_and_stubs_but_no_c(built: tuple[set[str], set[str]]) -> None:
    kernels = {name.split(".")[0] for name in built[1] if name.endswith((".so", ".pyd"))}
    assert kernels == {str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "fastbpe").rglob("*.pyx")}
    for path in (ROOT / "fastbpe").rglob("*"):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            assert str(path.relative_to(ROOT)) in built[1]
    assert not [name for name in built[1] if name.endswith((".c", ".pyx", ".o")) or name.startswith("tests")]


@pytest.mark.parametrize("suffix", [".c", ".so"])
def test_the_sdist_has_nothing_generated(built: tuple[set[str], set[str]], suffix: str) -> None:
    assert not [name for name in built[0] if Path(name).suffix == suffix]


def test_what_builds_in_a_tree_builds_a_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
