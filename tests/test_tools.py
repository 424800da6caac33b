"""The checks that are too long for the tests still run: on a little text, and they tell what differs."""

import json
import lzma

import check_formats
import check_vocabularies
import pytest
from exported import trained
from vocabularies import DATA

from fastbpe.errors import FormatError
from fastbpe.formats import FORMATS, huggingface
from fastbpe.pipeline.train import train


def test_formats_on_a_text(tmp_path, monkeypatch, capsys):
    (tmp_path / "text").write_text("def f(x):\n    return x + 1  # 床前明月光\n" * 40)
    options = ["--pattern", "qwen2", "none", "--random", "10", "--vocab-size", "300"]
    monkeypatch.setattr("sys.argv", ["check_formats.py", str(tmp_path / "text"), *options])
    assert check_formats.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * 2 * len(FORMATS)
    kept = [line.split(": ")[0] for line in lines if "refused" not in line]
    assert "none, special tokens last, bpe-v1" in kept and "qwen2, special tokens first, gguf" in kept


def test_vocabularies_on_rows(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    (tmp_path / "gpt2.tiktoken.xz").symlink_to(DATA / "vocabs" / "gpt2.tiktoken.xz")
    (tmp_path / "small.tokenizer.json").write_bytes(huggingface.files(trained(), "")["tokenizer.json"])
    (tmp_path / "text").write_text("print('床前')\n")
    rows = lzma.decompress((DATA / "golden_public.jsonl.xz").read_bytes())
    rows += json.dumps({"vocab": "small", "mode": "hf", "text": "a", "ids": [1]}).encode()
    (tmp_path / "rows").write_bytes(rows)
    arguments = [str(tmp_path), str(tmp_path / "rows"), "--text", str(tmp_path / "text"), "--to", "tekken", "bpe-v1"]
    monkeypatch.setattr("sys.argv", ["check_vocabularies.py", *arguments])
    assert check_vocabularies.main() == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "small.tokenizer.json: 1 rows, 1 of them wrong, the first 'a'"
    assert told[1].endswith("on 1 texts, 0 of them wrong") and told[2].startswith("small.tokenizer.json to tekken: ref")
    assert told[4] == "gpt2.tiktoken: 262 rows, 0 of them wrong"
    assert told[3].startswith("small.tokenizer.json to bpe-v1: fastbpe ")


def test_a_difference_is_told(monkeypatch):
    tokenizer = train(["ab ab"], 261, special_tokens=check_formats.SPECIALS, min_frequency=1)
    other = train(["ab ab"], 260, special_tokens=check_formats.SPECIALS, min_frequency=1)
    monkeypatch.setattr(check_formats.fastbpe, "load", lambda *_, **__: other)
    with pytest.raises(FormatError, match="other ids for the text"):
        check_formats.check(tokenizer, "minbpe", {"the text": "ab ab"}, [])
