import pytest

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import load, minbpe
from fastbpe.tokenizer import Tokenizer

FILE = "minbpe v1\n\\w+|\\W\n2\n<|long|> 900\n<s> 258\n97 98\n256 99\n"


def test_a_file(tmp_path):
    (tmp_path / "x.model").write_text(FILE)
    loaded = load(tmp_path / "x.model")
    assert loaded.special_tokens == {"<s>": 258, "<|long|>": 900}
    assert loaded.encode("abc<s>", allowed_special="all") == [257, 258]
    assert loaded.pattern == r"\w+|\W"
    assert minbpe.files(loaded, "x") == {"x": FILE.encode()}
    with pytest.raises(ParameterError, match="pattern: a minbpe file has its own"):
        load(tmp_path / "x.model", pattern="gpt2")


def test_no_pattern(tmp_path):
    (tmp_path / "x.model").write_text("minbpe v1\n\n0\n97 98\n")
    assert load(tmp_path / "x.model") == Tokenizer.from_merges([(97, 98)], pattern=None)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("minbpe v1\n", "line 3"),
        ("minbpe v1\n\nx\n", "line 3"),
        ("minbpe v1\n\n1\n<s>\n", "line 4"),
        ("minbpe v1\n\n1\na b 7\n", "line 4"),
        ("minbpe v1\n\n2\n<s> 700\n<s> 701\n", "line 5"),
        ("minbpe v1\n\n1\n<s> 4294967296\n", "line 4"),
        ("minbpe v1\n\n0\n97\n", "line 4"),
        ("minbpe v1\n(a\n0\n97 98\n", "pattern"),
    ],
)
def test_wrong_files(tmp_path, text, place):
    (tmp_path / "x.model").write_text(text)
    with pytest.raises(FormatError, match=place):
        load(tmp_path / "x.model")


@pytest.mark.parametrize(
    ("pattern", "names", "why"),
    [("a|[^a]|a ", [], "strips it"), ("[\n]|[^\n]", [], "strips it"), ("gpt2", ["a b"], "white space")],
)
def test_what_a_line_cannot_hold(pattern, names, why):
    with pytest.raises(ParameterError, match=why):
        minbpe.files(Tokenizer.from_merges([], pattern=pattern, special_tokens=names), "x")
