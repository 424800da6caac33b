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


COMPILED = "kernels/heap"  # the kernel that is compiled from the sdist, so that it is known to be possible


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Names in the sdist, without its folder, and in the wheel that is built from it.

    What this tree has compiled is laid into the unpacked sdist, where it counts as up to date; but for one kernel.
    """
    place = tmp_path_factory.mktemp("packaging")
    tree = place / "tree"
    shutil.copytree(ROOT, tree, ignore=lambda _, names: [n for n in names if n in NOT_SOURCES or n.endswith(".so")])
    build("sdist", tree, place, "none")
    (sdist,) = place.glob("*.tar.gz")
    assert sdist.name == f"fastbpe_engine-{fastbpe.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(place, filter="data")
    unpacked = place / sdist.name.removesuffix(".tar.gz")
    for part in (ROOT / "build").glob("*"):
        if part.name in ("c", "mode") or part.name.startswith("lib."):
            (shutil.copytree if part.is_dir() else shutil.copy2)(part, unpacked / "build" / part.name)
    for planted in (unpacked / "build").glob("lib.*/tests"):  # what a sanitizer's build has left there
        shutil.rmtree(planted)
    for stale in (unpacked / "build").glob(f"*/fastbpe/{COMPILED}.*"):
        stale.unlink()
    build("wheel", unpacked, place, "release")
    assert (unpacked / "build" / "c" / "fastbpe" / f"{COMPILED}.c").exists()
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return inside, set(archive.namelist())


def build(what: str, tree: Path, place: Path, mode: str) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{what}", "--outdir", str(place), str(tree)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FASTBPE_BUILD": mode})
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


def test_the_sdist_has_what_the_kernels_are_built_from(built: tuple[set[str], set[str]]) -> None:
    for path in (ROOT / "fastbpe").rglob("*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".h", ".jinja", ".css", ".js") or path.name == "py.typed":
            assert str(path.relative_to(ROOT)) in built[0]
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        if line.startswith("recursive-include "):
            folder, *patterns = line.split()[1:]
            assert all(list((ROOT / folder).rglob(pattern)) for pattern in patterns), f"{line}: some match nothing"
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/reference.py"):
        assert name in built[0]


def test_the_wheel_has_kernels_and_stubs_but_no_c(built: tuple[set[str], set[str]]) -> None:
    kernels = {name.split(".")[0] for name in built[1] if name.endswith((".so", ".pyd"))}
    assert kernels == {str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "fastbpe").rglob("*.pyx")}
    for path in (ROOT / "fastbpe").rglob("*"):
        if path.suffix in (".py", ".pyi", ".jinja", ".css", ".js") or path.name == "py.typed":
            assert str(path.relative_to(ROOT)) in built[1]
    assert not [name for name in built[1] if name.endswith((".c", ".pyx", ".o")) or name.startswith("tests")]


@pytest.mark.parametrize("suffix", [".c", ".so"])
def test_the_sdist_has_nothing_generated(built: tuple[set[str], set[str]], suffix: str) -> None:
    assert not [name for name in built[0] if Path(name).suffix == suffix]


def test_what_builds_in_a_tree_builds_a_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
