"""The checks that are too long for the tests still run: on a little text, and they tell what differs."""

import check_formats
import pytest

from fastbpe.errors import FormatError
from fastbpe.formats import FORMATS
from fastbpe.pipeline.train import train


def test_formats_on_a_text(tmp_path, monkeypatch, capsys):
    (tmp_path / "text").write_text("def f(x):\n    return x + 1  # 床前明月光\n" * 40)
    options = ["--pattern", "qwen2", "none", "--random", "20", "--vocab-size", "300"]
    monkeypatch.setattr("sys.argv", ["check_formats.py", str(tmp_path / "text"), *options])
    assert check_formats.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * 2 * len(FORMATS)
    kept = [line.split(": ")[0] for line in lines if "refused" not in line]
    assert "none, special tokens last, bpe-v1" in kept and "qwen2, special tokens first, gguf" in kept


def test_a_difference_is_told(monkeypatch):
    tokenizer = train(["ab ab"], 261, special_tokens=check_formats.SPECIALS, min_frequency=1)
    other = train(["ab ab"], 260, special_tokens=check_formats.SPECIALS, min_frequency=1)
    monkeypatch.setattr(check_formats.fastbpe, "load", lambda *_, **__: other)
    with pytest.raises(FormatError, match="other ids for the text"):
        check_formats.check(tokenizer, "minbpe", {"the text": "ab ab"}, [])
