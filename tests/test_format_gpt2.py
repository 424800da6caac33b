import json

import pytest
from exported import hard, trained

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import gpt2, load
from fastbpe.tokenizer import Tokenizer


def put(folder, tokenizer, only=("vocab.json", "merges.txt")):
    for name, content in gpt2.files(tokenizer, "x").items():
        if name in only:
            (folder / name).write_bytes(content)


def test_from_either_file(tmp_path):
    put(tmp_path, hard(pattern="gpt2"), gpt2.files(hard(pattern="gpt2"), "x"))
    assert load(tmp_path / "vocab.json") == load(tmp_path / "merges.txt") == hard(pattern="gpt2")
    (tmp_path / "merges.txt").rename(tmp_path / "vocab.bpe")
    (tmp_path / "vocab.json").rename(tmp_path / "encoder.json")
    assert load(tmp_path / "vocab.bpe") == load(tmp_path) == hard(pattern="gpt2")


def test_special_tokens_are_not_guessed(tmp_path):
    put(tmp_path, trained())
    with pytest.raises(FormatError, match=r"no merge builds '<\|endoftext\|>' \(3 tokens"):
        load(tmp_path / "vocab.json")
    named = load(tmp_path / "vocab.json", special_tokens=["<|endoftext|>", "<|pad|>", "<s>"], eos_token="<|endoftext|>")
    assert named.special_tokens == trained().special_tokens and named.eos_id == trained().eos_id
    assert not load(tmp_path / "vocab.json", special_tokens=[]).special_tokens
    more = load(tmp_path / "vocab.json", special_tokens=["<|endoftext|>", "<x>"])
    assert more.special_tokens == {"<|endoftext|>": 697, "<x>": 700}
    with pytest.raises(ParameterError, match="has the id 697"):
        load(tmp_path / "vocab.json", special_tokens={"<|endoftext|>": 5})


def test_another_pattern_may_be_given(tmp_path):
    put(tmp_path, trained("gpt2", specials=False, size=400))
    assert load(tmp_path / "vocab.json", pattern="cl100k", normalizer="NFC").pattern_name == "cl100k"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("a", "line 3: 'a' is not two tokens"),
        ("a b c", "line 3"),
        ("a zz", "line 3: 'zz'"),
        ("<s> a", "line 3: '<s>'"),
        ("", "line 3"),
    ],
)
def test_wrong_merges(tmp_path, line, place):
    put(tmp_path, trained(), gpt2.files(trained(), "x"))
    lines = (tmp_path / "merges.txt").read_text().split("\n")
    (tmp_path / "merges.txt").write_text("\n".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(FormatError, match=place):
        load(tmp_path / "vocab.json")


def test_line_ends_of_windows(tmp_path):
    put(tmp_path, trained(), gpt2.files(trained(), "x"))
    merges = tmp_path / "merges.txt"
    merges.write_bytes(merges.read_bytes().replace(b"\n", b"\r\n"))
    assert load(merges) == trained()


def test_wrong_vocabularies(tmp_path):
    put(tmp_path, trained(), gpt2.files(trained(), "x"))
    vocabulary = json.loads((tmp_path / "vocab.json").read_text())
    wrong = (({"a b": 900}, "' ' in 'a b'"), ({"zz": 5}, "twice"), ({"zz": -1}, "-1"), ({"zz": 2**32}, "4294967296"))
    for change, place in wrong:
        (tmp_path / "vocab.json").write_text(json.dumps({**vocabulary, **change}))
        with pytest.raises(FormatError, match=place):
            load(tmp_path / "vocab.json")
    (tmp_path / "vocab.json").write_text("[]")
    with pytest.raises(FormatError, match=r"vocab\.json.*at least 256"):
        load(tmp_path / "merges.txt")


def test_what_readers_take_for_something_else():
    merges = [(ord("#"), ord("v"))]
    for k, letter in enumerate("ersion"):
        merges.append((256 + k, ord(letter)))
    merges.append((256 + len("ersion"), ord("!")))
    with pytest.raises(ParameterError, match="'#version !' for a version line"):
        gpt2.files(Tokenizer.from_merges(merges, pattern="gpt2"), "x")
    with pytest.raises(ParameterError, match="'ab' is one of those"):
        gpt2.files(Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=["ab"]), "x")
