"""CharTokenizer: every character a token, against a dict of characters."""

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe.characters import CharacterEncoder, CharTokenizer
from fastbpe.errors import DataError, ParameterError, UnknownCharacterError
from fastbpe.formats import FORMATS, export, own
from fastbpe.pieces import PIECE_BYTES
from fastbpe.tokenizer import Tokenizer

ALPHABET = "ab é月🚀\n\0\U0010ffff"
SPECIALS = ["<s>", "</s>", "<|月亮|>"]
texts = st.text(alphabet=ALPHABET)


def tokenizer(placement: str = "last", characters: str = ALPHABET) -> CharTokenizer:
    return CharTokenizer.from_characters(characters, SPECIALS, placement, bos_token="<s>", eos_token="</s>")


def naive(tok: CharTokenizer, text: str) -> list[int]:
    first = min(tok.model.ids)
    return [int(first) + ALPHABET.index(character) for character in text]


@given(st.lists(texts, max_size=5), st.sampled_from(["last", "first"]))
def test_a_character_is_an_id(batch: list[str], placement: str) -> None:
    tok = tokenizer(placement)
    expected = [naive(tok, text) for text in batch]
    assert tok.encode_batch(batch) == expected
    assert [tok.encode(text.encode()) for text in batch] == expected
    assert tok.decode_batch(expected) == batch
    ids, offsets = tok.encode_batch_to_numpy(batch, threads=1)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert offsets.tolist() == np.cumsum([0, *map(len, batch)]).tolist()
    assert [tok.token_bytes(id).decode() for id in ids.tolist()] == list("".join(batch))


@given(st.lists(st.one_of(texts, st.sampled_from(SPECIALS)), max_size=6))
def test_special_tokens_are_cut_out(parts: list[str]) -> None:
    # The characters of "<|月亮|>" are not all known: allowed, it is one id all the same.
    tok = tokenizer()
    ids = [[tok.special_tokens[part]] if part in SPECIALS else naive(tok, part) for part in parts]
    flat = [id for part in ids for id in part]
    text = "".join(parts)
    assert tok.encode(text, "all", add_bos=True, add_eos=True) == [tok.bos_id, *flat, tok.eos_id]
    assert tok.decode(flat) == text
    batch = [text, "", text]
    assert tok.encode_batch(batch, "all", add_eos=True) == [[*flat, tok.eos_id], [tok.eos_id], [*flat, tok.eos_id]]


@given(st.text(alphabet=ALPHABET + "?字", min_size=1), st.data())
def test_unknown_characters_are_told_by_place(text: str, data: st.DataObject) -> None:
    tok = tokenizer()
    unknown = Counter(character for character in text if character not in ALPHABET)
    assert tok.unknown_characters(text) == unknown
    assert list(tok.unknown_characters(text)) == list(unknown)
    if not unknown:
        assert tok.encode(text) == naive(tok, text)
        return
    at = min(text.index(character) for character in unknown)
    offset = len(text[:at].encode())
    with pytest.raises(UnknownCharacterError) as caught:
        tok.encode(text)
    message = str(caught.value)
    assert message.startswith(f"character {at} of the text (byte {offset}): {text[at]!r} (U+{ord(text[at]):04X})")
    assert f"the {len(ALPHABET):,} characters" in message
    assert caught.value.offset == offset
    known = data.draw(st.lists(texts, max_size=3))
    for threads in (1, 2):
        with pytest.raises(UnknownCharacterError, match=f"^text {len(known)}: character {at} of the text"):
            tok.encode_batch([*known, text, text], threads=threads)


@pytest.mark.parametrize("bad", [b"\xff", b"\xe6\x9c", b"\xed\xa0\x80", b"\x88"])
def test_bytes_that_are_no_characters(bad: bytes) -> None:
    tok = tokenizer()
    with pytest.raises(
        UnknownCharacterError, match=rf"^character 2 of the text \(byte 4\): the byte 0x{bad[0]:02x} is"
    ):
        tok.encode("a月".encode() + bad + b"?")
    with pytest.raises(UnknownCharacterError, match="not UTF-8"):
        tok.unknown_characters(bad)


def test_texts_that_only_together_are_utf8() -> None:
    moon = "月".encode()
    for at in (1, 2):
        with pytest.raises(UnknownCharacterError, match=r"^text 1: character 0 of the text \(byte 0\): the byte 0xe6"):
            tokenizer().encode_batch(["a", moon[:at], moon[at:]])


def test_the_first_place_wins() -> None:
    with pytest.raises(UnknownCharacterError, match="byte 1"):
        tokenizer().encode(b"a?\xff")
    with pytest.raises(UnknownCharacterError, match="0xff"):
        tokenizer().encode(b"a\xff?")


def test_places_in_normalized_text() -> None:
    tok = CharTokenizer.from_characters("é", ["<s>"], normalizer="NFC")
    text = "<s>" + "e\u0301" * 3 + "?"
    with pytest.raises(UnknownCharacterError, match=r"^character 6 of the normalized text \(byte 9\): '\?'"):
        tok.encode(text, allowed_special="all")
    assert tok.unknown_characters(text, allowed_special="all") == {"?": 1}


def test_long_texts_over_threads() -> None:
    tok = tokenizer()
    long = "a月é" * PIECE_BYTES
    ids, offsets = tok.encode_batch_to_numpy([long, "b", long], threads=2)
    assert offsets.tolist() == [0, len(long), len(long) + 1, 2 * len(long) + 1]
    assert np.array_equal(ids[: len(long)], np.tile(np.array(naive(tok, "a月é"), np.uint32), PIECE_BYTES))
    assert np.array_equal(ids[len(long) + 1 :], ids[: len(long)])


def test_one_text_is_no_batch() -> None:
    with pytest.raises(ParameterError, match="not one text"):
        tokenizer().encode_batch("ab")


def test_what_it_is() -> None:
    tok = tokenizer("first")
    assert tok.characters == ALPHABET
    assert (tok.vocab_size, tok.id_limit) == (len(ALPHABET) + 3, len(ALPHABET) + 3)
    assert dict(tok.special_tokens) == {"<s>": 0, "</s>": 1, "<|月亮|>": 2}
    assert tok.merges.shape == (0, 2)
    assert tok.token_to_id("月") == tok.encode("月")[0]
    ids, offsets = tok.encode_with_offsets("a月b")
    assert (len(ids), offsets.tolist()) == (3, [[0, 1], [1, 4], [4, 5]])
    stream = tok.stream_decoder()
    assert "".join(map(stream.feed, ids.tolist())) == "a月b"
    spans = np.array([[0, 1], [1, 4]], np.int64)
    chunk_ids, chunk_offsets = tok.encode_chunks(np.frombuffer("a月".encode(), np.uint8), np.array([0, 1, 4]))
    assert (chunk_ids.tolist(), chunk_offsets.tolist()) == (ids[:2].tolist(), [0, 1, 2])
    assert len(spans) == 2


def test_nothing_to_encode() -> None:
    encoder = CharacterEncoder("a", np.zeros(1, np.uint32))
    ids, offsets = encoder.encode_spans(b"", np.empty((0, 4), np.int64))
    assert (len(ids), offsets.tolist()) == (0, [0])
    assert encoder.encode_spans(b"", None)[1].tolist() == [0, 0]


def test_with_special_tokens_it_stays_one() -> None:
    more = tokenizer().with_special_tokens(["<pad>"], pad_token="<pad>")
    assert isinstance(more, CharTokenizer)
    assert more.pad_id == len(ALPHABET) + 3
    assert more.encode("a<pad>", "all") == [0, more.pad_id]


@given(texts, st.sampled_from(["last", "first"]))
def test_files_and_pickles_hold_it(text: str, placement: str) -> None:
    tok = tokenizer(placement)
    for same in (own.loads(own.dumps(tok)), pickle.loads(pickle.dumps(tok))):
        assert isinstance(same, CharTokenizer)
        assert same == tok
        assert same.encode(text) == tok.encode(text)


def test_load_tells_it_apart(tmp_path: Path) -> None:
    tok = tokenizer()
    tok.save(tmp_path / "char.json")
    for load in (fastbpe.load, Tokenizer.load):
        loaded = load(tmp_path / "char.json")
        assert isinstance(loaded, CharTokenizer)
        assert loaded.fingerprint == tok.fingerprint
    text = (tmp_path / "char.json").read_text(encoding="utf-8")
    for old, new, message in (
        ('"a"', '"aa"', "not one character"),
        ("(?s:.)", "(?s:..)", "pattern: a character tokenizer's is"),
        ('"whole_chunk_first": false', '"whole_chunk_first": true', "no merges and no longer tokens"),
    ):
        assert old in text
        (tmp_path / "bad.json").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(fastbpe.FormatError, match=message):
            fastbpe.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("characters", "message"),
    [(["ab"], "not one character"), (["a", ""], "empty"), (["\ud800", "�"], "has the ids 0 and 1")],
)
def test_what_is_no_character_is_refused(characters: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        CharTokenizer.from_characters(characters)


@pytest.mark.parametrize(
    "what",
    [
        lambda tok: tok.truncate(300),
        lambda tok: fastbpe.extend(tok, ["ab"], 300),
        lambda tok: tok.model.byte_ids,
        lambda tok: Tokenizer(tok.model).encode("a"),
        lambda tok: CharTokenizer.from_merges([]),
        lambda tok: CharTokenizer.from_characters("a", special_placement="middle"),
    ],
)
def test_what_only_byte_level_tokenizers_can(what: Callable[[CharTokenizer], object]) -> None:
    with pytest.raises(ParameterError):
        what(tokenizer())


@pytest.mark.parametrize("to", FORMATS)
def test_no_other_program_reads_it(to: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="tokens are characters"):
        export(tokenizer(), tmp_path / "out", to)
    assert not (tmp_path / "out").exists()
