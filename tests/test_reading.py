import pytest

from fastbpe.errors import DataError, FormatError, ParameterError, PatternError
from fastbpe.formats.reading import (
    Given,
    naming,
    parse_json,
    read_bytes,
    shown,
    tokenizer_of,
    tokenizer_of_pairs,
    whole,
)

BYTES = {bytes([byte]): byte for byte in range(256)}


def test_bounded_reading(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    assert read_bytes(tmp_path / "x", 5) == b"12345"
    with pytest.raises(FormatError, match="larger than"):
        read_bytes(tmp_path / "x", 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"b": 1, "b": 1}', "'b' stands twice"),
        (b"[1, 2, 3]", "about 3 values"),
        (b"{,}", "line 1, column 2"),
        (b"NaN", "NaN is not JSON"),
        (b"\xff", "byte 0"),
        (b"9" * 5000, "not JSON that can be read"),
    ],
)
def test_json(content, message):
    with pytest.raises(FormatError, match=message):
        parse_json(content, 2)


def test_json_that_is_right():
    assert parse_json(b'\xef\xbb\xbf{"a": [1, 2.5, null, "\xc3\xa9"]}') == {"a": [1, 2.5, None, "é"]}


def test_errors_get_the_name_of_the_file():
    for error in (DataError("wrong"), FormatError("wrong"), PatternError("wrong")):
        with pytest.raises(FormatError, match=r"^x/y: .*wrong"), naming("x/y"):
            raise error
    with pytest.raises(FormatError) as caught, naming("x"):
        raise DataError("a" * 5000)
    assert len(str(caught.value)) < 600
    with pytest.raises(ParameterError, match=r"^wrong"), naming("x"):
        raise ParameterError("wrong")


def test_what_is_given():
    given = Given(special_tokens=["<a>", "<b>", "<c>"])
    assert given.special_ids(10, {"<b>": 3}) == {"<a>": 10, "<b>": 3, "<c>": 11}
    assert Given(special_tokens={"<a>": 7}).special_ids(10) == {"<a>": 7}
    assert Given().special_ids(10) == {}
    with pytest.raises(ParameterError, match="special_tokens: it has its own"):
        given.refuse("it", "pattern", "special_tokens")
    with pytest.raises(ParameterError, match="list of names"):
        Given(special_tokens="<a>").special_ids(0)
    Given().refuse("it", "pattern", "special_tokens", "normalizer", "id_offset", "roles")


def test_whole_numbers():
    assert whole(0, "x") == 0 and whole(2**32 - 2, "x") == 2**32 - 2
    for value in (True, -1, 2**32 - 1, 1.0, "1", None, "x" * 500):
        with pytest.raises(FormatError, match=r"^here: .{1,70} is not a whole number"):
            whole(value, "here")
    assert len(shown("x" * 500)) == 60


def test_tokenizers_are_put_together():
    tokenizer = tokenizer_of({**BYTES, b"ab": 999}, [(97, 98, 999)], Given(normalizer="NFC"), "gpt2")
    assert tokenizer.encode("ab") == [999] and tokenizer.model.normalizer == "NFC"
    for tokens, message in (
        ({**BYTES, b"a" * 50_000: 999}, "too long"),
        ({**BYTES, b"ab": 2**32}, "4294967296"),
        ({**BYTES, b"ab": 5}, "given twice"),
        ({}, "no token for byte 0"),
    ):
        with pytest.raises(DataError, match=message):
            tokenizer_of(tokens, [], Given(), "gpt2")


def test_pairs():
    tokenizer = tokenizer_of_pairs([(97, 98), (256, 99)], "merge", Given(), None, {"<s>": 258})
    assert tokenizer.encode("abc<s>", allowed_special="all") == [257, 258]
    doubling = [(97, 97), *((256 + k, 256 + k) for k in range(40))]
    for pairs, message in (
        ([(97, 256)], "merge 0: id 256"),
        ([(97, 98), (97, 98)], "merge 1: .*already"),
        (doubling, "longer than 128 MiB"),
    ):
        with pytest.raises(FormatError, match=message):
            tokenizer_of_pairs(pairs, "merge", Given(), None, {})
