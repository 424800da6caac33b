import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pattern_strategies import any_patterns, expected, raw_texts, whole_patterns

from fastbpe.errors import ParameterError, PatternError
from fastbpe.pattern import regex_engine
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import Unsupported
from fastbpe.pattern.regex_engine import RegexEngine


def chunks(pattern: str, text: str | bytes, unmatched: str = "refuse") -> list[bytes]:
    data = text.encode() if isinstance(text, str) else text
    ends = RegexEngine(pattern, unmatched).ends(data).tolist()
    assert ends == sorted(set(ends))
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("pattern", "text", "expected_chunks"),
    [
        (r"(?<=a)b|[\s\S]", "abb", ["a", "b", "b"]),
        (r"(?<=a)b+|[\s\S]", "abbcbb", ["a", "bb", "c", "b", "b"]),
        (r"(?<!a)b+|[\s\S]", "abbcbb", ["a", "b", "b", "c", "bb"]),
        (r"(.)\1+|[\s\S]", "aab😀😀é", ["aa", "b", "😀😀", "é"]),
        (r"(?<x>\p{L})\k<x>|[\s\S]", "aab", ["aa", "b"]),
        (r"(?P<x>\p{L})(?P=x)|[\s\S]", "aab", ["aa", "b"]),
        (r"ab(?=cd)|[\s\S]", "abcdab", ["ab", "c", "d", "a", "b"]),
        (r"\w+\b|[\s\S]", "ab é", ["ab", " ", "é"]),
        (r"\Ba+|[\s\S]", "aaa", ["a", "aa"]),
        (r"^a+|[\s\S]", "aabaa", ["aa", "b", "a", "a"]),
        (r"(?m)^a+|[\s\S]", "aa\naa", ["aa", "\n", "aa"]),
        (r"a+$|[\s\S]", "aa\naa\n", ["a", "a", "\n", "a", "a", "\n"]),
        (r"(?m)a+$|[\s\S]", "aa\naa\n", ["aa", "\n", "aa", "\n"]),
        (r"[^\s\S]|[\s\S]", "ab", ["a", "b"]),
        (r"\p{L}+|[^\p{L}]", "a\u1c89b1", ["a\u1c89b", "1"]),
    ],
)
def test_constructs(pattern, text, expected_chunks):
    assert chunks(pattern, text) == [chunk.encode() for chunk in expected_chunks]


@pytest.mark.parametrize("pattern", [r".", r"[^a]", r"\P{L}", r"\S", r"(?:(.)(?!\1)|.)"])
def test_an_invalid_byte_is_one_unit(pattern):
    data = b"\xe4\xb8|\xff\xff|\xc0\x80|\xed\xa0\x80|\xf0\x9f\x91|" + "😀".encode()
    sizes = [len(chunk) for chunk in chunks(pattern, data, "isolate")]
    assert sizes == [1] * (len(data) - 4) + [4]


def test_invalid_bytes_differ_for_a_back_reference():
    assert chunks(r"(.)\1|[\s\S]", b"\xff\xff\xfe\xff") == [b"\xff\xff", b"\xfe", b"\xff"]


def test_no_property_holds_an_invalid_byte():
    for name in ("L", "C", "Cn", "Cs", "Any"):
        with pytest.raises(PatternError, match=r"leaves text unmatched.*at byte 0"):
            chunks(rf"\p{{{name}}}", b"\xff")


def test_unmatched_text_is_refused_with_an_example_or_isolated():
    with pytest.raises(PatternError, match="leaves text unmatched"):
        RegexEngine(r"\p{L}+")
    assert chunks(r"\p{L}+", "12ab, cd!", "isolate") == [b"12", b"ab", b", ", b"cd", b"!"]
    assert chunks(r"\p{L}+", "12", "isolate") == [b"12"]


def test_unmatched_text_that_no_sample_shows_is_found_when_it_comes():
    engine = RegexEngine(r"a(?!aaa)|[^a]|aaa")
    assert engine.ends(b"aab").tolist() == [1, 2, 3]
    with pytest.raises(PatternError, match=r"leaves text unmatched.*'aaaaaz' at byte 4") as caught:
        RegexEngine(r"(?<=x)a|(?!aaaa)a|[^a]").ends("éxaaaaaaz".encode())
    assert "isolate" in str(caught.value)


@pytest.mark.parametrize("pattern", ["a*", "(?:a|)b*", "(?<=a)|[ab]", "a*?|b"])
def test_empty_matches_are_refused(pattern):
    with pytest.raises(PatternError, match="without taking a character"):
        RegexEngine(pattern, "isolate")


def test_an_empty_match_at_the_end_of_the_text_is_none():
    assert chunks(r"$|[\s\S]", "ab") == [b"a", b"b"]


def test_empty_text():
    ends = RegexEngine(r"[\s\S]").ends(b"")
    assert ends.dtype == np.int64
    assert len(ends) == 0


def test_errors():
    with pytest.raises(ParameterError, match="unmatched"):
        RegexEngine("a", "keep")
    with pytest.raises(PatternError, match="cannot run"):
        RegexEngine(r"(a)\2|[\s\S]")
    with pytest.raises(Unsupported):
        RegexEngine(r"\X")
    with pytest.raises(PatternError, match="not closed"):
        RegexEngine("(a")


@given(whole_patterns(), raw_texts())
def test_equals_regex_on_the_pattern_itself(pattern, data):
    try:
        kind, ends = expected(pattern, data)
    except TimeoutError:
        assume(False)
    try:
        engine = RegexEngine(pattern)
    except PatternError as error:
        assert "without taking" in str(error)  # a sample found what this text may not show
        return
    if kind == "ok":
        assert engine.ends(data).tolist() == ends
    else:
        with pytest.raises(PatternError):
            engine.ends(data)


@given(any_patterns(), raw_texts())
def test_isolated_stretches_are_maximal(pattern, data):
    try:
        kind, ends = expected(pattern, data)
        engine = RegexEngine(pattern, "isolate")
    except (TimeoutError, PatternError):
        assume(False)
    found = engine.ends(data).tolist()
    assert found == sorted(set(found))
    assert found[-1:] == ([len(data)] if data else [])
    assert found[: len(ends)] == ends
    if kind == "ok":
        assert found == ends


@given(st.lists(st.sampled_from([b"a", b" ", b"\n", "é你😀".encode(), b"\x80", b"\xe4", b"\xf0\x9f"])).map(b"".join))
def test_pieces_do_not_show(data):
    engine = ENGINE
    whole = engine.ends(data).tolist()
    for size in (1, 2, 3, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(regex_engine, "_PIECE", max(size, 4))
            assert engine.ends(data).tolist() == whole


ENGINE = RegexEngine(NAMED["cl100k"])
