"""load: files are told by their content, and hostile ones are refused by file and place."""

import base64
import copy
import json
import pickle
import struct

import pytest
from effort import effort
from exported import trained
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import FORMATS, export, load, own
from fastbpe.formats import gguf as gguf_format
from fastbpe.formats.exporting import _WRITERS
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


def test_a_pipe_is_no_file():
    with pytest.raises(FormatError, match="/dev/null: a pipe or a device"):
        load("/dev/null")


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
        (b"{" + b"," * (1 << 22) + b"}", "about 4194305 values"),
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
        (b"YQ== 0\n" * 2 + b"\n" * (1 << 22), "lines: no tokenizer file"),
        (HEAD, "where the file ends"),
        (HEAD + struct.pack("<Q", 1 << 62), "a string of"),
        (HEAD + STRING + struct.pack("<IIQ", 9, 8, 1 << 40), "an array of"),
        (HEAD + STRING + struct.pack("<IIQ", 9, 8, 1 << 20), "where the file ends"),
        (HEAD + STRING + struct.pack("<I", 99), "a value of type 99"),
        (HEAD + STRING + struct.pack("<IIQIQIQIQ", 9, 9, 1, 9, 1, 9, 1, 9, 1), "an array of"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 1), "version"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 50), "pairs"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 100_000), "100000 pairs"),
        (HEAD + STRING + struct.pack("<IB", 0, 7), "has no tokenizer.ggml.model"),
        (b"minbpe v1\n" + b"a" * 100_000 + b"\n0\n", "100,000 characters are too many"),
        (b"minbpe v1\n(?:(?:a{1000}){1000}){1000}\n0\n", "1,000,000,000 units"),
    ],
)
def test_hostile_files(tmp_path, content, message):
    path = tmp_path / "bad.file"
    path.write_bytes(content)
    with pytest.raises((FormatError, ParameterError), match=message) as caught:
        load(path)
    if caught.type is FormatError:
        assert "bad.file" in str(caught.value)


def good_files():
    """{format: {name: content}} of a small tokenizer, the file to load first in front."""
    found = {}
    for to in FORMATS:
        tokenizer = Tokenizer.from_merges(
            [(97, 98), (256, 99), (32, 97)],
            pattern="gpt2",
            special_tokens=["<s>", "</s>"],
            special_placement="first" if to == "tekken" else "last",
            eos_token="</s>",
        )
        found[to] = _WRITERS[to](tokenizer, "x")
    return found | {"own": {"x": own.dumps(tokenizer)}}


GOOD = good_files()
PARTS = st.sampled_from([b"", b"4294967296", b"-1", b"1e999", b"[", b"}", b'"', b"\\ud800", b"\xff", b"\0", b"\n"])
PARTS |= st.binary(max_size=3) | st.integers(0, 2**64 - 1).map(lambda number: struct.pack("<Q", number))
VALUES = st.sampled_from([None, True, -1, 97, 2**32, 10**30, 0.5, "", "ab", "<s>", "a b", "(a", [], {}, ["a"], [1, 2]])
VALUES |= st.sampled_from(["NFC", "rank table", {"type": "Sequence"}, {"type": "Split"}, {"type": "NFKC"}, {"id": 1}])


@st.composite
def damaged(draw, content):
    """Some bytes replaced; or, of a JSON text, values replaced, taken away and repeated."""
    if content[:1] not in (b"{", b"[") or draw(st.booleans()):
        for _ in range(draw(st.integers(1, 3))):
            start = draw(st.integers(0, len(content)))
            stop = start + draw(st.sampled_from([0, 1, 2, 8, 1000]))
            content = content[:start] + draw(PARTS) + content[stop:]
        return content
    root = json.loads(content)
    for _ in range(draw(st.integers(1, 2))):
        node, place = root, None
        for _ in range(draw(st.integers(1, 6))):
            keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            if not keys:
                break
            place = node, draw(st.sampled_from(keys))
            node = place[0][place[1]]
        if place is None:
            continue
        parent, key = place
        if (how := draw(st.integers(0, 3))) == 0:
            del parent[key]
        elif how == 1 and isinstance(parent, list):
            parent.insert(draw(st.integers(0, len(parent))), copy.deepcopy(node))
        else:
            parent[key] = copy.deepcopy(draw(VALUES))
    return json.dumps(root).encode()


@pytest.mark.parametrize("to", GOOD)
@given(data=st.data())
@settings(max_examples=effort(60))
def test_damaged_files_are_read_or_refused(tmp_path_factory, to, data):
    """Whatever stands in a file: what it gives is a tokenizer that works, or an error of ours."""
    folder = tmp_path_factory.mktemp("damaged")
    name = data.draw(st.sampled_from(list(GOOD[to])))
    for other, content in GOOD[to].items():
        (folder / other).write_bytes(data.draw(damaged(content)) if other == name else content)
    try:
        found = load(folder / next(iter(GOOD[to])), pattern="gpt2" if to == "bpe-v1" else None)
    except (FormatError, ParameterError):
        return
    text = b"abc <s> ab\xff\n"
    ids = found.encode(text, allowed_special="all")
    assert found.model.normalizer or found.decode_bytes(ids) == text
    assert own.loads(own.dumps(found)) == found


def test_files_that_are_too_large(tmp_path, monkeypatch):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"YQ== 0\n")
        file.truncate(300 << 20)  # a hole
    with pytest.raises(FormatError, match="larger than 256 MiB"):
        load(path, pattern="gpt2")
    path.write_bytes(b'{"format": "fastbpe tokenizer", ')
    with path.open("ab") as file:
        file.truncate(1 << 40)
    for read in (load, Tokenizer.load):
        with pytest.raises(FormatError, match="larger than 2048 MiB"):
            read(path)


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
