"""formats/checking.py: engines are asked when they are there, told of when not, and a difference is an error."""

import pytest
from check_formats import random_texts
from effort import effort
from exported import code, poems, trained
from vocabularies import vocabulary

from fastbpe.errors import FormatError
from fastbpe.formats import checking, export
from fastbpe.pattern.named import NAMED
from fastbpe.tokenizer import Tokenizer

#: Whose libraries read which format, and which patterns they can be given.
ENGINES = {
    "huggingface": ("tokenizers", "transformers"),
    "gpt2": ("tokenizers", "transformers"),
    "tiktoken": ("tiktoken",),
    "tekken": ("tiktoken",),
    "gguf": ("gguf",),
}
PATTERNS = {"gpt2": ["gpt2"], "gguf": ["gpt2", "llama3", "qwen2"]}
CASES = [(to, pattern) for to in ENGINES for pattern in PATTERNS.get(to, NAMED)]
MANY = effort(20_000, 20)


@pytest.mark.parametrize(("to", "pattern"), CASES)
def test_installed_libraries_agree_on_random_strings(tmp_path, to, pattern):
    """MANY strings, spread over the patterns; tools/check_formats.py gives all of them to each."""
    for library in ENGINES[to]:
        pytest.importorskip(library, reason=f"the library {library} is not installed")
    own = random_texts(MANY)[list(NAMED).index(pattern) :: len(NAMED)]
    tokenizer = trained(pattern, "first" if to == "tekken" else "last")
    report = export(tokenizer, tmp_path / "x", to, sample=[*own, code()[:30_000], poems()[:10_000]])
    assert [check.engine.split()[0] for check in report.checks] == ["fastbpe", *ENGINES[to]]
    assert all(check.texts > len(own) for check in report.checks)


def test_what_is_not_installed_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(checking.importlib.util, "find_spec", lambda name: None)
    report = export(trained(), tmp_path / "x", "huggingface")
    told = {check.engine: (check.texts, check.skipped) for check in report.checks[1:]}
    assert told == {"tokenizers": (0, "not installed"), "transformers": (0, "not installed")}


def test_a_difference_names_engine_text_and_place(tmp_path, monkeypatch):
    def wrong(tokenizer, folder, name):
        return lambda text: [*tokenizer.encode(text), 5] if text == "床b" else tokenizer.encode(text), True

    monkeypatch.setitem(checking._ENGINES["tiktoken"], "tiktoken", wrong)
    with pytest.raises(FormatError, match=r"check: tiktoken [\d.]+ gives other ids for '床b': from place \d on \[5\]"):
        export(trained(), tmp_path / "x", "tiktoken", sample=["床b"])
    assert not list(tmp_path.iterdir())


def test_bytes_that_are_not_utf8_are_compared_where_they_can_be(tmp_path):
    report = export(trained(), tmp_path / "x", "tiktoken", sample=[b"\xff"] * 50)
    assert report.checks[0].texts - report.checks[1].texts > 50


def test_gguf_with_other_tokens(tmp_path, monkeypatch):
    library = pytest.importorskip("gguf", reason="the package gguf is not installed")
    assert library
    export(trained(), tmp_path / "x", "gguf", check=False)
    with pytest.raises(FormatError, match="reads other tokens"):
        checking._gguf(Tokenizer.from_merges([(1, 2)], pattern="gpt2"), tmp_path, "x")


def test_transformers_gets_no_token_that_is_not_ours(tmp_path):
    """A class of transformers that has <|endoftext|> for its eos must not add it to a tokenizer without one."""
    pytest.importorskip("transformers", reason="the library transformers is not installed")
    tokenizer = trained("gpt2", specials=False, size=400)
    for to in ("huggingface", "gpt2"):
        export(tokenizer, tmp_path / to, to, sample=["a<|endoftext|>b"])


def test_roles_reach_transformers(tmp_path):
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    export(vocabulary("gpt2").with_special_tokens(["<s>"], bos_token="<s>"), tmp_path / "x", "huggingface", check=False)
    loaded = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "x"), local_files_only=True)
    assert loaded.bos_token_id == 50257 and loaded.eos_token_id is None
    assert loaded.decode(loaded.encode("a , b 's")) == "a , b 's"
