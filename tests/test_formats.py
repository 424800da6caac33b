"""load: files are told by their content, and hostile ones are refused by file and place."""

import base64
import json
import pickle
import struct

import pytest
from exported import trained

import fastbpe
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import export, load
from fastbpe.formats import gguf as gguf_format
from fastbpe.tokenizer import Tokenizer

BYTES = {bytes([byte]): byte for byte in range(256)}


def test_our_own_file_is_told_by_content(tmp_path):
    tok = Tokenizer.from_merges([(97, 98)], None, None)
    tok.save(tmp_path / "no extension")
    assert load(tmp_path / "no extension") == tok
    root = json.loads((tmp_path / "no extension").read_text())
    (tmp_path / "sorted").write_text(json.dumps(root, sort_keys=True, indent=1))
    assert load(tmp_path / "sorted") == tok
    with pytest.raises(ParameterError, match="pattern: a file of ours has its own"):
        load(tmp_path / "sorted", pattern="gpt2")


def test_directories(tmp_path):
    for to in ("huggingface", "gpt2"):
        export(trained(), tmp_path / to, to, check=False)
        assert load(tmp_path / to) == fastbpe.load(str(tmp_path / to)) == trained()
    with pytest.raises(IsADirectoryError, match="is a directory without any of"):
        load(tmp_path)


def test_roles_by_the_user(tmp_path):
    export(trained("gpt2", "first"), tmp_path / "t.json", "tekken", check=False)
    assert load(tmp_path / "t.json").eos_id is None
    assert load(tmp_path / "t.json", eos_token="<s>").eos_id == 2
    with pytest.raises(ParameterError, match="not NFC"):
        load(tmp_path / "t.json", normalizer="NFD")


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
STRING = struct.pack("<Q", 3) + b"key"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\3\4", "compressed"),
        (b"\x1f\x8b\x08", "compressed"),
        (pickle.dumps({}, 4), "a pickle"),
        (b"", "empty"),
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0", "SentencePiece"),
        (b"[PAD]\n[UNK]\n[CLS]\n", "not JSON"),
        (b"hello\n[UNK]\n", "WordPiece"),
        (b"hello", "not a tokenizer file"),
        (b"{}", "not a fastbpe tokenizer"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"model": ' * 100_000, "nested too deeply"),
        (b"{" + b"," * (1 << 23) + b"}", "about 8388609 values"),
        (b'{"model": {"vocab": {"a": ' + b"9" * 5000 + b"}}}", "not JSON that can be read"),
        (b'{"model": {"type": "BPE", "vocab": ' + b"\xff", "not UTF-8 at byte"),
        (b"#bpe v2\n", "version line"),
        (b"#bpe v1\n", "pattern: a #bpe v1 file holds none"),
        (b"minbpe v2\n", "version line"),
        (b"minbpe v1\n\n99\n", "99 special tokens"),
        (b"minbpe v1\n\n0\n97 256\n", "id 256 is not known"),
        (b"minbpe v1\n\n0\n97 97\n97 97\n", "made already"),
        (b"minbpe v1\n\n1\n<s> 97\n", "97 of '<s>' is also a token's"),
        (
            b"minbpe v1\n\n0\n" + b"".join(b"%d %d\n" % ((97, 97) if k == 255 else (k, k)) for k in range(255, 300)),
            "longer than 128 MiB",
        ),
        (b"#version: 0.2\na b\n", "the other is not beside it"),
        (b"YQ== 0\nYQ= 1\n", "line 2"),
        (b"YQ== 0\nYQ== 1\n", "line 2: the token .* twice"),
        (b"YQ== 0\nYg== 0\n", "line 2: the rank 0 is that of line 1"),
        (b"YQ== 4294967295\n", "4294967295 is not a whole number"),
        (b"YQ== 0\nYg==\n", "line 2"),
        (b"YQ== 0\n" * 2 + b"\n" * (1 << 23), "lines: no tokenizer file"),
        (HEAD, "where the file ends"),
        (HEAD + struct.pack("<Q", 1 << 62), "a string of"),
        (HEAD + STRING + struct.pack("<IIQ", 9, 8, 1 << 40), "an array of"),
        (HEAD + STRING + struct.pack("<IIQ", 9, 8, 1 << 20), "where the file ends"),
        (HEAD + STRING + struct.pack("<I", 99), "a value of type 99"),
        (HEAD + STRING + struct.pack("<IIQIQIQIQ", 9, 9, 1, 9, 1, 9, 1, 9, 1), "an array of"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 1), "version"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 50), "pairs"),
        (HEAD + STRING + struct.pack("<IB", 0, 7), "tokenizer.ggml.model"),
    ],
)
def test_hostile_files(tmp_path, content, message):
    path = tmp_path / "bad.file"
    path.write_bytes(content)
    with pytest.raises((FormatError, ParameterError), match=message) as caught:
        load(path)
    if caught.type is FormatError:
        assert "bad.file" in str(caught.value)


def test_files_that_are_too_large(tmp_path, monkeypatch):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"YQ== 0\n")
        file.truncate(300 << 20)  # a hole
    with pytest.raises(FormatError, match="larger than 256 MiB"):
        load(path, pattern="gpt2")


def test_tokens_that_are_too_long(tmp_path):
    rows = [*BYTES.items(), (b"a" * 50_000, 256)]
    (tmp_path / "long").write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in rows))
    with pytest.raises(FormatError, match="too long"):
        load(tmp_path / "long", pattern="gpt2")


def test_gguf_is_read_without_its_tensors(tmp_path):
    export(trained(), tmp_path / "v.gguf", "gguf", check=False)
    with (tmp_path / "v.gguf").open("ab") as file:
        file.truncate(1 << 40)  # weights of a terabyte, or a hole
    assert load(tmp_path / "v.gguf") == trained()
    assert gguf_format.WHAT
