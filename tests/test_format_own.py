import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kernel_encode import trained

from fastbpe.errors import DataError, FormatError
from fastbpe.formats import load
from fastbpe.formats.own import dumps, loads
from fastbpe.tokenizer import Tokenizer

ABC = [(97, 98), (256, 99), (0xC3, 0xA9)]
RECORD = {"parameters": {"vocab_size": 261}, "note": "é"}


@pytest.fixture
def tok():
    return Tokenizer.from_merges(ABC, [5, 4, 3], None, ["<s>", "<日>"], bos_token="<s>", record=RECORD)


@given(trained(), st.sampled_from(["last", "first"]), st.booleans())
def test_round_trip(merges, placement, counted):
    counts = range(len(merges), 0, -1) if counted else None
    try:
        tok = Tokenizer.from_merges(merges, counts, None, ["<s>", "\n"], placement, eos_token="\n", record=RECORD)
    except DataError:
        return
    content = dumps(tok)
    again = loads(content)
    assert again == tok and again.record == RECORD and again.eos_id == tok.eos_id
    assert dumps(again) == content
    assert (again.model.counts is None) == (not counted or not merges)


def test_save_and_load(tok, tmp_path):
    path = tmp_path / "tok.json"
    tok.save(path)
    assert Tokenizer.load(path) == load(str(path)) == tok
    assert os.listdir(tmp_path) == ["tok.json"] and path.read_bytes() == dumps(tok)
    root = json.loads(path.read_text("utf-8"))
    assert root["tokens"][97] == [97, "a"] and root["tokens"][0xC3] == [0xC3, [0xC3]]
    assert root["tokens"][256:] == [[256, "ab"], [257, "abc"], [258, "é"], [259, "<s>"], [260, "<日>"]]
    assert root["merges"] == [[97, 98, 256, 5], [256, 99, 257, 4], [0xC3, 0xA9, 258, 3]]
    assert root["special_tokens"] == [[259, "<s>"], [260, "<日>"]] and root["roles"] == {"bos": "<s>"}


def test_a_failed_save_leaves_the_old_file(tok, tmp_path):
    with pytest.raises(OSError):
        tok.save(tmp_path / "no folder" / "tok.json")
    path = tmp_path / "tok.json"
    path.write_text("old")
    broken = Tokenizer.from_merges([], None, None, record={"x": object()})
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["tok.json"]


def change(key, value):
    def apply(root):
        root[key] = value

    return apply


def change_entry(key, row, value):
    def apply(root):
        root[key][row] = value

    return apply


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (change("format", "x"), "not a fastbpe tokenizer"),
        (change("version", 2), "version 2"),
        (change("priority", "rank table"), "a rank table has none"),
        (change("priority", "first come"), "priority"),
        (change("whole_chunk_first", 1), "whole_chunk_first"),
        (change("whole_chunk_first", True), "fingerprint"),
        (change("normalizer", "NFD"), "normalizer"),
        (change("normalizer", "NFC"), "fingerprint"),
        (change("fingerprint", "0"), "fingerprint"),
        (change("pattern", 3), "pattern: not a string"),
        (change("pattern", r"\s+|\S+"), "fingerprint"),
        (change("pattern", "(a"), "changed.json: "),
        (change("unmatched", "x"), "unmatched"),
        (change("roles", []), "roles"),
        (change("roles", {"bos": "<x>"}), "bos_token"),
        (change("roles", {"bos": 3}), "roles"),
        (change("kept_tokens", {}), "kept_tokens: not a list of names"),
        (change("kept_tokens", ["<x>"]), "kept_tokens: '<x>' is not among the special tokens"),
        (change("kept_tokens", ["<s>"]), "fingerprint"),
        (change("record", 3), "record"),
        (change("tokens", {}), "tokens: not a list"),
        (change("special_tokens", None), "special_tokens: not a list"),
        (change_entry("special_tokens", 0, [259]), r"special_tokens\[0\]"),
        (change_entry("special_tokens", 0, [260, "<日>"]), r"special_tokens\[1\]: '<日>' is listed twice"),
        (change_entry("special_tokens", 0, [258, "<s>"]), r"tokens\[258\]: 'é' is not what special_tokens"),
        (change_entry("special_tokens", 0, [300, "<s>"]), "none has the id 300"),
        (change_entry("tokens", 256, [255, "ab"]), r"tokens\[256\]: id 255 after"),
        (change_entry("tokens", 256, [2**32 - 1, "ab"]), r"tokens\[256\]: 4294967295 is not an id"),
        (change_entry("tokens", 256, [True, "ab"]), r"tokens\[256\]: True is not an id"),
        (change_entry("tokens", 256, [256, "b"]), r"tokens\[256\]: b'b' has the ids 98 and 256"),
        (change_entry("tokens", 256, [256, ""]), r"tokens\[256\]: .* empty"),
        (change_entry("tokens", 256, [256, [256]]), r"tokens\[256\]: \[256\] is neither"),
        (change_entry("tokens", 256, [256, 3]), r"tokens\[256\]: 3 is neither"),
        (change_entry("tokens", 256, [256, "\ud800"]), r"tokens\[256\]"),
        (change_entry("tokens", 256, "ab"), r"tokens\[256\]"),
        (change_entry("tokens", 256, [256, "ac"]), r"merges\[0\]"),
        (change_entry("merges", 1, [256, 99, 300, 4]), r"merges\[1\]: no token has the id 300"),
        (change_entry("merges", 1, [256, 98, 257, 4]), r"merges\[1\]"),
        (change_entry("merges", 1, [97, 98, 256, 4]), r"merges\[1\]: .* before"),
        (change_entry("merges", 1, [257, 99, 257, 4]), r"merges\[1\]"),
        (change_entry("merges", 1, [256, 99, 257]), r"merges\[1\]: not \[left"),
        (change_entry("merges", 1, [256, 99, 257, None]), r"merges\[1\]: has no count"),
        (change_entry("merges", 1, [256, 99, 257, 2**63]), r"merges\[1\]: the count"),
        (change_entry("merges", 1, [256, 99, 257, 1.5]), r"merges\[1\]: the count"),
    ],
)
def test_wrong_content_is_refused_by_file_and_place(tok, tmp_path, apply, message):
    root = json.loads(dumps(tok))
    apply(root)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(root))
    with pytest.raises(FormatError, match=message) as caught:
        load(path)
    assert "changed.json" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"format": NaN}',
        b"[" * 100_000,
        b'{"format": ' + b"9" * 5000 + b"}",
        b"\x80\x04].",
    ],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"other\.json"):
        load(path)
