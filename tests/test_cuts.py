"""cuts.py: places where a text may be cut, with and without a normalizer."""

import sys
import unicodedata
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe import cuts as module
from fastbpe.cuts import Cuts
from fastbpe.kernels.special import SpecialTrie
from fastbpe.normalizing import normalized
from fastbpe.pattern.splitter import Splitter

SPLITTERS = {name: Splitter(name) for name in ("gpt2", "cl100k", "o200k", "poetry")}
MARKS = [(b"<s>", 3), ("\u212b<".encode(), 4)]
# Letters with marks that join, reorder or do not; compatibility characters that become other kinds; Hangul in parts.
PIECES = ["a", "e", " ", "\n", "1", "'s", "\u0301", "\u0323", "\u00e9", "\uff1cs\uff1e", "<s>", "<", "\uff0c"]
PIECES += ["\u212b", "\ufb01", "\u2460", "\u3000", "\u1100", "\u1161", "\u11a8", "\u65e5", "\u304b", "\u3099", "\ufdfa"]
LEADS = [bytes([byte]) for byte in (0xE3, 0xCC, 0x81, 0x99, 0xFF)]
texts = st.lists(st.sampled_from([piece.encode() for piece in PIECES] + LEADS), max_size=24).map(b"".join)


@pytest.mark.parametrize("name", SPLITTERS)
@given(texts, texts, texts, st.sampled_from([None, "NFC", "NFKC"]), st.booleans(), st.sampled_from([1, 8, 512]))
def test_cutting_changes_nothing(name, before, text, after, form, special, look):
    """Whatever stands before the part that was looked at, and whatever follows."""
    splitter = SPLITTERS[name]
    trie = SpecialTrie(MARKS) if special else None
    known = before + text
    with patch.object(module, "NORMALIZED_BYTES", look), patch.object(module, "HEAD_BYTES", look):
        cut = Cuts(splitter, trie, form).last(bytearray(known), len(before), len(known), 0)
    assert cut == -1 or len(before) < cut < len(known)
    if cut < 0:
        return
    whole = known + after
    normal = [part if form is None else normalized(part, form) for part in (whole, whole[:cut], whole[cut:])]
    if not special:
        assert normal[0] == normal[1] + normal[2]
        assert len(normal[1]) in splitter.ends(normal[0]).tolist()
    for mark, _ in MARKS if special else []:
        for at in range(len(whole)):
            assert not (whole.startswith(mark, at) and at < cut < at + len(mark))


@given(texts, st.sampled_from(["NFC", "NFKC"]))
def test_arrays_and_bytearrays_are_the_same(text, form):
    cuts = Cuts(SPLITTERS["gpt2"], None, form)
    array = np.frombuffer(text, np.uint8)
    assert cuts.last(array, 0, len(text), 0) == cuts.last(bytearray(text), 0, len(text), 0)


def test_ordinary_text_is_cut_near_its_end():
    english = ("It was a na\u00efve caf\u00e9, " * 400).encode()
    chinese = ("\u767d\u65e5\u4f9d\u5c71\u76e1\uff0c\u9ec3\u6cb3\u5165\u6d77\u6d41\u3002\n" * 400).encode()
    marked = unicodedata.normalize("NFD", english.decode()).encode()
    for text in (b"plain words and more\n" * 400, english, chinese, marked):
        for form in ("NFC", "NFKC"):
            cut = Cuts(SPLITTERS["cl100k"], None, form).last(bytearray(text), 0, len(text), 0)
            assert len(text) - 200 < cut < len(text)


def test_a_text_without_a_place_is_looked_at_once(monkeypatch):
    looked = []
    parts = module._parts
    monkeypatch.setattr(module, "_parts", lambda text, form: looked.append(len(text)) or parts(text, form))
    text = bytearray("\u65e5".encode() * 100_000)
    assert Cuts(SPLITTERS["cl100k"], None, "NFC").last(text, 0, len(text), 0) == -1
    assert sum(looked) < 2 * len(text) and max(looked) <= module.LONGEST_LOOK
    assert Cuts(Splitter(None), None, "NFC").last(text, 0, len(text), 0) == -1
    assert sum(looked) < 2 * len(text)


def test_where_nothing_is_joined():
    """No character that begins anew is the second of any pair that Unicode composes."""
    seconds = set()
    for code in range(0x80, sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) > 1 and not parts[0].startswith("<"):
            seconds.update(chr(int(part, 16)) for part in parts[1:])
    assert len(seconds) > 50
    assert not [second for second in seconds if module.begins_anew(second)]
