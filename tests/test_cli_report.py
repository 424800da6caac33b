"""fastbpe report."""

import json
import lzma
import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cli_runner import Shell, process
from vocabularies import DATA

import fastbpe
from fastbpe.cli.report import parsed_model
from fastbpe.errors import ParameterError
from fastbpe.report.cost import Model

TEXT = "明月出天山，苍茫云海间。\nfor x in range(10): print(x)\n"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    fastbpe.train([TEXT] * 3, 280, special_tokens=["<|e|>"]).save(path)
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT * 5 + "<|e|>", encoding="utf-8")
    return path


@pytest.fixture
def drawing() -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    pytest.importorskip("matplotlib", reason="the extra report is not installed")


@pytest.mark.usefixtures("drawing")
def test_a_page(fastbpe_command: Shell, tokenizer: Path, text: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, out, err = fastbpe_command("report", tokenizer, text, "-o", page, "--held-out", tokenizer)
    assert code == 0
    assert err.splitlines()[-1].startswith("draw: ") and "read: " in err
    assert out.splitlines()[0].startswith("Is the vocabulary too big? ")
    assert out.splitlines()[-1] == f"{page}: {tokenizer} on 2 sources"
    content = page.read_text(encoding="utf-8")
    assert str(text) in content and "held out" in content
    first = page.read_bytes()
    assert fastbpe_command("report", tokenizer, text, "-o", page, "--held-out", tokenizer, "--threads", "1").code == 0
    assert page.read_bytes() == first


@pytest.mark.usefixtures("drawing")
def test_charts_as_files(fastbpe_command: Shell, tokenizer: Path, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "charts"
    fastbpe_command("report", tokenizer, text, "--charts", folder).failed(2, str(folder), "not a directory")
    folder.mkdir()
    code, out, _ = fastbpe_command("report", tokenizer, text, "--charts", folder)
    assert code == 0 and out.startswith("Is the vocabulary too big?")
    names = ["completeness", "frequencies", "gains", "lengths", "scripts", "sizes", "sources"]
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.svg" for name in names]
    for path in folder.iterdir():
        assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_figures(fastbpe_command: Shell, tokenizer: Path, text: Path, tmp_path: Path) -> None:
    ranks = tmp_path / "ranks.tiktoken"
    ranks.write_bytes(lzma.decompress((DATA / "vocabs" / "gpt2.tiktoken.xz").read_bytes()))
    arguments = ["report", tokenizer, text, "--json", "--progress", "none", "--against", tokenizer]
    code, out, err = fastbpe_command(*arguments, "--against", f"gpt2={ranks}", "--model", "64:1M")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [card["name"] for card in found["tokenizers"]] == [str(tokenizer), f"{tokenizer} (2)", str(ranks)]
    assert found["tokenizers"][2]["pattern_name"] == "gpt2"
    assert [(model["width"], model["parameters"]) for model in found["cost"]] == [(64, 1_000_000)]
    assert found["sources"][0]["documents"] == 1
    lines = json.loads(fastbpe_command(*arguments, "--lines").out)
    assert lines["sources"][0]["documents"] == 11
    special = json.loads(fastbpe_command(*arguments, "--allowed-special", "all").out)
    assert special["efficiency"]["all"][0]["tokens"] < found["efficiency"]["all"][0]["tokens"]
    part = json.loads(fastbpe_command(*arguments, "--max-bytes", "20").out)
    assert part["sources"][0]["part"] == "the first 20 bytes"


@pytest.mark.usefixtures("drawing")
def test_names_of_files_are_only_names(fastbpe_command: Shell, tokenizer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    name = os.fsdecode(b"<script>alert(1)<" + "月\u202e".encode() + b"\xff\n\"'&.txt")
    (folder / name).write_text(TEXT, encoding="utf-8")
    page = tmp_path / "report.html"
    code, _, err = fastbpe_command("report", tokenizer, folder / name, "-o", page, "--progress", "none")
    assert (code, err) == (0, "")
    content = page.read_text(encoding="utf-8")
    assert "<script>alert" not in content and "&lt;script&gt;alert(1)&lt;月\\u202e\\xff↵&#34;&#39;&amp;.txt" in content


def test_standard_input_and_bytes_that_are_no_text(tokenizer: Path) -> None:
    outcome = process("report", tokenizer, "-", "--json", stdin=b"for x\xff")
    assert outcome.code == 0
    assert "fastbpe: 1 bytes are not UTF-8" in outcome.err
    assert json.loads(outcome.out)["sources"][0]["name"] == "standard input"


def test_errors(fastbpe_command: Shell, tokenizer: Path, text: Path, tmp_path: Path) -> None:
    fastbpe_command("report", tokenizer, text).failed(2, "name the page", "--json")
    fastbpe_command("report", tokenizer, "--json").failed(2, "no input")
    fastbpe_command("report", tokenizer, text, "-o", text).failed(2, str(text), "written over")
    fastbpe_command("report", tokenizer, text, "-o", tmp_path / "no" / "r.html").failed(2, "not a directory")
    fastbpe_command("report", tokenizer, tmp_path / "none.txt", "--json").failed(3, "none.txt", "no such file")
    fastbpe_command("report", tmp_path / "none.json", text, "--json").failed(1, "none.json", "check the path")
    fastbpe_command("report", tokenizer, text, "--json", "--against", "gpt2").failed(2, "gpt2=FILE")
    fastbpe_command("report", tokenizer, text, "--json", "--against", "x=y").failed(2, "x is no named pattern")
    fastbpe_command("report", tokenizer, text, "--json", "--against", "gpt2=y").failed(1, "y: no such file")
    fastbpe_command("report", tokenizer, text, "--json", "--max-bytes", "much").failed(2, "max_bytes", "much")
    fastbpe_command("report", tokenizer, text, "--json", "--model", "big").failed(2, "--model big", "768:124M")
    fastbpe_command("report", tokenizer, "-", "--json", "--held-out", "-").failed(2, "only once")
    empty = tmp_path / "empty.txt"
    empty.touch()
    fastbpe_command("report", tokenizer, empty, "--json", "--progress", "none").failed(3, "nothing to measure")


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_told_of_first(
    fastbpe_command: Shell, tokenizer: Path, text: Path, tmp_path: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    monkeypatch.setitem(sys.modules, missing, None)
    outcome = fastbpe_command("report", tokenizer, text, "-o", tmp_path / "r.html")
    outcome.failed(2, missing, "pip install 'fastbpe-engine[report]'")
    assert not (tmp_path / "r.html").exists()
    assert fastbpe_command("report", tokenizer, text, "--json").code == 0


def test_models() -> None:
    assert [parsed_model(word) for word in ("768:124M", "4096:7b", "64:1000", "2048:1.3G", "8:2k")] == [
        Model(768, 124_000_000), Model(4096, 7 * 10**9), Model(64, 1000), Model(2048, 1_300_000_000), Model(8, 2000),
    ]  # fmt: skip
    for word in ("768", "768:", ":1M", "x:1M", "0:1M", "768:-1M", "768:1T", "1:inf"):
        with pytest.raises(ParameterError, match="give a width"):
            parsed_model(word)
