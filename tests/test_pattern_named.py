import json
import lzma
import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from pattern_strategies import texts

from fastbpe.errors import PatternError
from fastbpe.pattern.named import NAMED, resolve
from fastbpe.pattern.parser import parse
from fastbpe.pattern.regex_engine import RegexEngine

GOLDEN = Path(__file__).parent / "data" / "golden_chunks_public.jsonl.xz"
ROWS = [json.loads(line) for line in lzma.decompress(GOLDEN.read_bytes()).decode().splitlines()]

# The golden rows' names, and the two spellings that have no name here: tiktoken's of GPT-2, S4's classic one.
CLASSIC = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT2_TIKTOKEN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
PATTERNS = {
    "gpt2": NAMED["gpt2"],
    "gpt2_tiktoken": GPT2_TIKTOKEN,
    "cl100k_base": NAMED["cl100k"],
    "o200k_base": NAMED["o200k"],
    "llama3": NAMED["llama3"],
    "qwen2": NAMED["qwen2"],
    "tekken": NAMED["tekken"],
    "seed004": CLASSIC,
    "seed004_fused": NAMED["poetry"],
    "seed002_re": NAMED["al1"],
}
AL1_PUBLISHED = r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+"


def test_names():
    assert list(NAMED) == ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "tekken", "poetry", "al1", "none"]
    assert NAMED["none"] is None
    assert resolve(None) == resolve("none") == ("none", None)
    assert resolve("gpt2") == resolve(NAMED["gpt2"]) == ("gpt2", NAMED["gpt2"])
    assert resolve("a+") == (None, "a+")
    assert resolve(["gpt2", "none", "a+"]) == (None, (NAMED["gpt2"], "a+"))
    for wrong in ("gpt3", "", 3):
        with pytest.raises(PatternError):
            resolve(wrong)


@pytest.mark.parametrize("name", [name for name, text in NAMED.items() if text is not None])
def test_every_pattern_parses(name):
    parse(NAMED[name])


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_golden_chunks(name):
    engine = RegexEngine(PATTERNS[name])
    rows = [row for row in ROWS if row["pattern"] == name]
    assert len(rows) >= 236
    for row in rows:
        data = row["text"].encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        assert np.diff(engine.ends(data), prepend=0).tolist() == row["lens"], row["text"]


def test_every_golden_row_is_checked():
    assert len(ROWS) == 2496
    assert {row["pattern"] for row in ROWS} == set(PATTERNS)


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="al1 follows Python 3.11, of Unicode 14")
def test_al1_is_python_re_on_every_character():
    engine = RegexEngine(NAMED["al1"])
    text = "".join(f"a{chr(c)} {chr(c)}0" for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)
    check_al1(engine, text)


@given(texts())
def test_al1_is_python_re(text):
    check_al1(AL1, text)


AL1 = RegexEngine(NAMED["al1"])


def check_al1(engine, text):
    expected = [len(chunk.encode()) for chunk in re.findall(AL1_PUBLISHED, text)]
    assert np.diff(engine.ends(text.encode()), prepend=0).tolist() == expected
