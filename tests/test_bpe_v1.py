"""formats/bpe_v1.py: the text file, there and back, and what it refuses."""

from pathlib import Path

import pytest

from fastbpe.errors import DataError, FormatError, ParameterError
from fastbpe.formats import bpe_v1
from fastbpe.tokenizer import Tokenizer

MERGES = [(101, 115), (256, 116), (257, 32)]
FILE = "#bpe v1\nspecial <|a|>\nspecial b c\n101 115\n256 116\n257 32\n"


def test_there_and_back(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges(MERGES, pattern="gpt2", special_tokens=["<|a|>", "b c"])
    path = tmp_path / "tok.txt"
    bpe_v1.save(tokenizer, path)
    assert path.read_text() == FILE
    assert bpe_v1.load(path, "gpt2") == tokenizer
    assert bpe_v1.load(path, None) != tokenizer


def test_no_merges_no_specials() -> None:
    assert bpe_v1.dumps(bpe_v1.loads("#bpe v1\n", None)) == "#bpe v1\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1: ''"),
        ("#bpe v2\n101 115\n", "line 1: '#bpe v2'"),
        ("#bpe v1 \n", "line 1"),
        ("#bpe v1\n101 115\n101\n", "line 3: '101'"),
        ("#bpe v1\n101 115 3\n", "line 2"),
        ("#bpe v1\n101 115\n\n", "line 3: ''"),
        ("#bpe v1\n101 -1\n", "line 2"),
        ("#bpe v1\n101 ٣\n", "line 2"),
        ("#bpe v1\r\n101 115\r\n", "line 1"),
        ("#bpe v1\n256 115\n", "line 2: id 256 is not known"),
        ("#bpe v1\n101 115\nspecial late\n", "line 3"),
        ("#bpe v1\n101 115\n101 115\n", "merged before|twice|already"),
        ("#bpe v1\nspecial \n", "is not a name|empty"),
        ("#bpe v1\nspecial a\nspecial a\n", "twice|unique|repeat|more than once"),
    ],
)
def test_wrong_files_are_refused(text: str, place: str) -> None:
    with pytest.raises((DataError, ParameterError), match=place):
        bpe_v1.loads(text, None)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text("#version: 0.2\n")
    with pytest.raises(FormatError, match=r"other\.txt: line 1"):
        bpe_v1.load(path, None)
    path.write_bytes(b"#bpe v1\nspecial \xff\n")
    with pytest.raises(FormatError, match=r"other\.txt: not UTF-8 at byte 16"):
        bpe_v1.load(path, None)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", " a"])
def test_names_that_a_line_cannot_hold(tmp_path: Path, name: str) -> None:
    tokenizer = Tokenizer.from_merges(MERGES, pattern=None, special_tokens=[name])
    with pytest.raises(ParameterError, match="cannot hold the special token"):
        bpe_v1.save(tokenizer, tmp_path / "tok.txt")
    assert not list(tmp_path.iterdir())


def test_ids_of_another_layout_are_refused() -> None:
    tokenizer = Tokenizer.from_merges(MERGES, pattern=None, special_tokens=["x"], special_placement="first")
    with pytest.raises(ParameterError, match="only ids in the order"):
        bpe_v1.dumps(tokenizer)
