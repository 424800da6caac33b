import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.stream import StreamDecoder
from fastbpe.tokenizer import Tokenizer

ABC = [(97, 98), (256, 99)]
SPECIALS = ["<|a|>", "<|a|><|b|>", "<e>"]


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.from_merges(ABC, None, None, SPECIALS)


@given(st.lists(st.integers(0, 257) | st.sampled_from([0xE2, 0x82, 0xAC, 258, 260]), max_size=30), st.booleans())
def test_a_stream_is_the_text_in_pieces(ids, skip):
    tok = Tokenizer.from_merges(ABC, None, None, SPECIALS)
    decoder = tok.stream_decoder(skip)
    assert isinstance(decoder, StreamDecoder)
    pieces = [decoder.feed(id) for id in ids]
    assert "".join(pieces) + decoder.finish() == tok.decode(ids, skip)
    assert decoder.feed(ids) + decoder.finish() == tok.decode(ids, skip)


def test_a_stream_holds_incomplete_characters_back(tok):
    decoder = tok.stream_decoder()
    assert [decoder.feed(byte) for byte in "é€".encode()] == ["", "é", "", "", "€"]
    assert decoder.feed(0xE2) == "" and decoder.finish() == "\ufffd" and decoder.feed(256) == "ab"


def test_a_strict_stream_goes_on_after_an_error(tok):
    decoder = tok.stream_decoder(errors="strict")
    assert decoder.feed(0xF0) == ""
    with pytest.raises(UnicodeDecodeError):
        decoder.feed(97)
    assert decoder.feed(98) == "ab"
    with pytest.raises(UnicodeDecodeError):
        decoder.feed([99, 0x80, 100, 0xE3])
    assert decoder.feed([0x81, 0x82]) == "cd\u3042"
    assert decoder.feed(0xE3) == ""
    with pytest.raises(UnicodeDecodeError):
        decoder.finish()
    assert decoder.feed(97) + decoder.finish() == "a"
    with pytest.raises(LookupError):
        tok.stream_decoder(errors="no such")
