import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.text import counted, to_bytes, utf8, utf8_parts


def test_how_many_in_words():
    assert [counted(n, "shard") for n in (0, 1, 2000)] == ["0 shards", "1 shard", "2,000 shards"]


@given(st.text())
def test_text_without_surrogates_is_plain_utf8(text):
    assert utf8(text) == text.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ud83d\ude00", "😀"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd😀\ufffd"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_surrogate_pairs_are_joined_and_lone_ones_replaced(text, expected):
    assert utf8(text) == expected.encode()


@given(st.text(st.sampled_from("a\u00e9\ud83d\ude00\u767d")), st.integers(1, 5))
def test_parts_make_the_whole(text, size):
    parts = list(utf8_parts(text, size))
    assert b"".join(parts) == utf8(text) and all(parts)


def test_what_a_text_may_be():
    assert (
        to_bytes("é") == to_bytes(b"\xc3\xa9") == to_bytes(bytearray(b"\xc3\xa9")) == to_bytes(memoryview(b"\xc3\xa9"))
    )
    with pytest.raises(ParameterError, match="int"):
        to_bytes(3)


@pytest.mark.parametrize("text", ["abc", "abé", "ab\ud83d"])
def test_a_subclass_is_what_it_holds(text):
    class Text(str):
        def encode(self, *args):
            return 5

    class Raw(bytes):
        def __len__(self):
            return 1 << 40

    class Array(bytearray):
        def __bytes__(self):
            return b"x"

    expected = utf8(text)
    for same in (Text(text), Raw(expected), Array(expected)):
        assert type(to_bytes(same)) is bytes and to_bytes(same) == expected
