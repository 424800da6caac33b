"""The documents: what they point to exists, what they name is there, the Python they show runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *("docs/tour.md", "docs/choosing.md", "docs/formats.md", "docs/inputs.md", "docs/shards.md", "docs/training.md"),
    *("benchmarks/README.md", "corpora/README.md"),
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("fastbpe/kernels/merge.pyx", ["run", "merge", "best_pair"]),
        ("fastbpe/kernels/sweep.pyx", ["sweep"]),
        ("fastbpe/kernels/heap.pxd", ["heap_before"]),
        ("fastbpe/kernels/split.pyx", ["chunks_fill"]),
        ("fastbpe/kernels/scan.pyx", ["scan_fill"]),
        ("fastbpe/pattern/automaton.py", ["compile_pattern"]),
        ("fastbpe/pattern/tables.py", ["certain_cuts"]),
        ("fastbpe/pattern/splitter.py", ["last_cut"]),
        ("fastbpe/merging.py", ["learn_merges"]),
        ("tests/reference.py", ["train"]),
    ],
)
def test_the_tour_names_what_is_there(path: str, names: list[str]) -> None:
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    source = (ROOT / path).read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in tour or f".{name}`" in tour
        assert re.search(rf"^\s*(def|cdef [\w* ]+?|cdef inline [\w* ]+?) {name}\(", source, re.M), f"{path}: {name}"


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert len(code.replace("\n\n", "\n").splitlines()) == 5
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("def main():\n    return 0\n" * 100)
    exec(compile(code, "README.md", "exec"), {})


def test_the_commands_exist() -> None:
    from fastbpe.cli.app import COMMANDS

    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS)
    assert set(re.findall(r"^    fastbpe (\w+)", text, re.M)) <= set(COMMANDS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", text, re.M):
        assert re.search(rf"^{target}:", makefile, re.M)
