"""The house's rules that a reader relies on: imports run one way, every source file has its tests and stubs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "fastbpe"
SOURCES = sorted(path for path in PACKAGE.rglob("*.p*") if path.suffix in (".py", ".pyx", ".pxd"))

# From the bottom up: a module may import from its own floor and from those below.
FLOORS = [
    {"errors", "alphabet", "atomic", "npy_header", "text", "weight", "threads", "cgroup"},
    {"kernels"},
    {"pattern"},
    {
        *("counts", "cuts", "lastpairs", "merging", "model", "normalizing", "pieces", "specials", "stream"),
        *("vocabulary", "tokenizer", "characters"),
    },
    {"corpus", "shards", "formats"},
    {"pipeline"},
    {"compat", "cluster", "data", "report"},
    {"cli", "__main__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}

# Sources without a test file of their own, and why.
TESTED_ELSEWHERE = {
    "pattern/ast.py": "plain dataclasses, built and read by the parser's tests",
    "__init__.py": "hands names on",
    "__main__.py": "one call, made by the CLI's tests",
    "cli/__init__.py": "the entry point, through which every CLI test that starts a process goes",
}


def imported(path: Path) -> Iterator[str]:
    """Dotted names of this package's modules that a file imports, wherever in the file it does."""
    text = path.read_text(encoding="utf-8")
    package = ["fastbpe", *path.relative_to(PACKAGE).parts[:-1]]
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from from_import(node.module or "", node.level, [alias.name for alias in node.names], package)
        return
    for line in text.splitlines():
        if match := re.match(r"\s*from\s+(\.*)([\w.]*)\s+c?import\s+(.*)", line):
            names = re.findall(r"(\w+)(?:\s+as\s+\w+)?\s*,?", match[3])
            yield from from_import(match[2], len(match[1]), names, package)
        elif match := re.match(r"\s*c?import\s+([\w.]+)", line):
            yield match[1]


def from_import(module: str, level: int, names: list[str], package: list[str]) -> Iterator[str]:
    base = ".".join([*package[: len(package) + 1 - level], module] if level else [module]).rstrip(".")
    if base == "fastbpe":
        yield from (f"{base}.{name}" for name in names)
    else:
        yield base  # whatever is taken of it: the names may stand on lines of their own


def test_the_sources_are_there() -> None:
    assert len(SOURCES) > 10
    assert {path.suffix for path in SOURCES} >= {".py", ".pyx", ".pxd"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    if place.name == "__init__.py" and len(place.parts) == 1:
        return  # hands the public names on
    own = place.parts[0].split(".")[0]
    assert own in FLOOR_OF, f"{place} belongs to no floor"
    for name in imported(path):
        if name.split(".")[0] != "fastbpe" or name == "fastbpe.__version__":
            continue
        assert name != "fastbpe", f"{place} imports the package itself"
        other = name.split(".")[1]
        assert other in FLOOR_OF, f"{place} imports {name}: import it from the module that defines it"
        assert FLOOR_OF[other] <= FLOOR_OF[own], f"{place} imports {name}, which lies above it"


def test_an_upward_import_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_layering.PACKAGE", tmp_path)
    (tmp_path / "kernels").mkdir()
    python, cython = tmp_path / "counts.py", tmp_path / "kernels" / "x.pyx"
    python.write_text("def f():\n    from fastbpe.pipeline import train\n    from fastbpe import Tokenizer, pattern\n")
    cython.write_text(
        "from fastbpe.kernels.packed cimport (\n    pack,\n)\nfrom ..tokenizer import T as U\ncimport fastbpe.a\n"
    )
    assert list(imported(python)) == ["fastbpe.pipeline", "fastbpe.Tokenizer", "fastbpe.pattern"]
    assert list(imported(cython)) == ["fastbpe.kernels.packed", "fastbpe.tokenizer", "fastbpe.a"]
    with pytest.raises(AssertionError, match="lies above it"):
        test_imports_run_downwards(python)
    with pytest.raises(AssertionError, match="lies above it"):
        test_imports_run_downwards(cython)


def test_imports_by_name_are_few() -> None:
    # They would go unseen above. __init__ hands names on; Tokenizer.save and .load are formats', which lie above.
    texts = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in SOURCES}
    assert {name for name, text in texts.items() if "import_module(" in text} == {"__init__.py", "tokenizer.py"}


def holds_code(path: Path) -> bool:
    if path.suffix == ".pxd":
        return False  # tested through the door of the same name
    if path.suffix == ".py":
        body = ast.parse(path.read_text(encoding="utf-8")).body
        return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)
    return True


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if holds_code(path)], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_every_source_has_its_test(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    if str(place) in TESTED_ELSEWHERE:
        return
    package = place.parent.name or "fastbpe"
    stem = package if place.stem == "__init__" else place.stem.lstrip("_")
    singular = {"kernels": "kernel", "formats": "format"}.get(package, package)
    names = {f"test_{stem}.py", f"test_{package}_{stem}.py", f"test_{singular}_{stem}.py"}
    if package in ("kernels", "cli"):
        names = {f"test_{singular}_{stem}.py"}
    assert any((ROOT / "tests" / name).exists() for name in names), f"{place} has none of {sorted(names)}"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.pxd")), ids=lambda path: path.name)
def test_inline_code_has_a_door(path: Path) -> None:
    if "cdef inline" in path.read_text(encoding="utf-8"):
        assert path.with_suffix(".pyx").exists(), "Python reaches a .pxd through a .pyx of the same name"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.pyx")), ids=lambda path: path.name)
def test_every_compiled_module_has_a_stub(path: Path) -> None:
    assert path.with_suffix(".pyi").exists()


def test_no_directive_outside_the_build() -> None:
    for path in SOURCES:
        if path.suffix != ".py":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^#\s*(cython|distutils):", text, re.M), f"{path.name}: directives stand in setup.py"
            assert "cimport numpy" not in text, path.name
