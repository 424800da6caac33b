import struct

import pytest
from exported import trained

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import export, gguf, load
from fastbpe.tokenizer import Tokenizer


def file_of(pairs):
    """A header with these pairs; values are str, int, or lists of one of them."""

    def value(item):
        if isinstance(item, str):
            return 8, gguf._counted(item)
        if isinstance(item, list):
            rows = [value(row) for row in item]
            return 9, struct.pack("<IQ", rows[0][0] if rows else 4, len(rows)) + b"".join(row[1] for row in rows)
        return 4, struct.pack("<I", item)

    rows = [gguf._counted(key) + struct.pack("<I", kind) + row for key, (kind, row) in pairs_of(pairs, value)]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows)) + b"".join(rows)


def pairs_of(pairs, value):
    return [(key if "." in key else f"tokenizer.ggml.{key}", value(item)) for key, item in pairs.items()]


@pytest.fixture
def pairs(tmp_path):
    """The pairs of a good file, to be changed."""
    export(trained(), tmp_path / "good.gguf", "gguf", check=False)
    with (tmp_path / "good.gguf").open("rb") as file:
        found = gguf.metadata(file)
    return {key.removeprefix("tokenizer.ggml."): item for key, item in found.items() if "add_" not in key}


def loaded(tmp_path, pairs, **given):
    (tmp_path / "x.gguf").write_bytes(file_of(pairs))
    return load(tmp_path / "x.gguf", **given)


def test_the_pairs(tmp_path, pairs):
    assert pairs["general.architecture"] == "gpt2" and pairs["pre"] == "gpt-2" and pairs["model"] == "gpt2"
    assert pairs["tokens"][697:] == list(trained().special_tokens) and pairs["token_type"][696:] == [1, 3, 3, 3]
    assert pairs["eos_token_id"] == 697 and pairs["padding_token_id"] == 698 and "bos_token_id" not in pairs
    assert loaded(tmp_path, pairs) == trained()


def test_the_package_reads_it(tmp_path):
    library = pytest.importorskip("gguf", reason="the package gguf is not installed")
    export(trained("llama3"), tmp_path / "v.gguf", "gguf", check=False)
    reader = library.GGUFReader(str(tmp_path / "v.gguf"))
    assert reader.get_field("tokenizer.ggml.pre").contents() == "llama-bpe"
    assert reader.get_field("tokenizer.ggml.add_bos_token").contents() is False
    assert len(reader.get_field("tokenizer.ggml.merges").contents()) == len(trained("llama3").merges)
    assert not reader.tensors


def test_what_is_read_besides(tmp_path, pairs):
    pairs |= {"pre": "phi-2", "tokens": [*pairs["tokens"], "[PAD1]"], "token_type": [*pairs["token_type"], 5]}
    pairs["other.weights"] = [1, 2, 3]
    assert loaded(tmp_path, pairs) == trained()
    del pairs["token_type"]
    with pytest.raises(FormatError, match=r"tokens\[700\]: ' ' in 'a b'"):
        loaded(tmp_path, {**pairs, "tokens": [*pairs["tokens"][:-1], "a b"]})


def test_patterns(tmp_path, pairs):
    with pytest.raises(FormatError, match=r"ggml\.pre: 'gpt-4o' is no pattern that llama\.cpp and we read"):
        loaded(tmp_path, {**pairs, "pre": "gpt-4o"})
    assert loaded(tmp_path, {**pairs, "pre": "gpt-4o"}, pattern="o200k").pattern_name == "o200k"
    assert loaded(tmp_path, {**pairs, "pre": "llama-bpe"}).model.whole_chunk_first
    with pytest.raises(ParameterError, match="pattern: a GGUF file has its own"):
        loaded(tmp_path, pairs, pattern="o200k")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"model": "llama"}, "model: SentencePiece"),
        ({"model": "bert"}, "model: WordPiece"),
        ({"tokens": ["a", "a"], "token_type": [1, 1]}, r"tokens\[1\]: 'a' is token 0 too"),
        ({"tokens": ["<s>", "<s>"], "token_type": [3, 3]}, r"tokens\[1\]: '<s>' is token 0 too"),
        ({"tokens": ["a b"], "token_type": [1]}, r"tokens\[0\]"),
        ({"tokens": ["a"], "token_type": [6]}, r"token_type\[0\]: 6"),
        ({"tokens": ["a"], "token_type": [1, 1]}, "token_type: not a type for each"),
        ({"tokens": 5}, "tokens: not a list of strings"),
        ({"merges": [1, 2]}, "merges: not a list of strings"),
        ({"merges": ["a zz"]}, r"merges\[0\]: 'a zz'"),
        ({"merges": ["abc"]}, r"merges\[0\]: 'abc'"),
        ({"tokens": ["a"], "token_type": [1], "merges": []}, "no token for byte"),
    ],
    ids=str,
)
def test_wrong_files(tmp_path, pairs, change, place):
    with pytest.raises(FormatError, match=place) as caught:
        loaded(tmp_path, {**pairs, **change})
    assert "x.gguf" in str(caught.value)


def test_a_key_twice(tmp_path):
    row = gguf._counted("k") + struct.pack("<IB", 0, 7)
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + row + row)
    with pytest.raises(FormatError, match="the key 'k' again"):
        load(tmp_path / "x.gguf")


@pytest.mark.parametrize(
    ("names", "why"),
    [(["<s><", "<s>"], "overlaps"), (["ab"], "also a special token"), (["[UNUSED5]"], None)],
)
def test_special_tokens_that_llama_cpp_takes_otherwise(names, why):
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=names)
    if why is None:
        assert gguf.files(tokenizer, "x")
        return
    with pytest.raises(ParameterError, match=why):
        gguf.files(tokenizer, "x")


def test_gaps_are_filled():
    ranks = {bytes([byte]): byte for byte in range(256)}
    with pytest.raises(ParameterError, match="a token is called so"):
        gguf.files(Tokenizer.from_ranks(ranks, "gpt2", {"[UNUSED256]": 257}), "x")


def test_gaps_without_end_are_refused():
    ranks = {bytes([byte]): byte for byte in range(256)}
    with pytest.raises(ParameterError, match="lists every id up to the largest, 4294967294, of which 257 are tokens"):
        gguf.files(Tokenizer.from_ranks(ranks, "gpt2", {"<s>": 2**32 - 2}), "x")
