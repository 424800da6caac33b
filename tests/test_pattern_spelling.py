import numpy as np
import pytest
import tiktoken
import tokenizers
from hypothesis import assume, given
from pattern_strategies import texts, whole_patterns

from fastbpe.errors import PatternError
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.regex_engine import RegexEngine
from fastbpe.pattern.spelling import fancy_regex, oniguruma
from fastbpe.pattern.splitter import Splitter

WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
PATTERNS = {name: text for name, text in NAMED.items() if text is not None}


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_published_patterns_keep_their_text(name):
    assert fancy_regex(PATTERNS[name]).text == PATTERNS[name]
    if name not in ("cl100k", "al1"):
        assert oniguruma(PATTERNS[name]).text == PATTERNS[name]


def test_cl100k_for_oniguruma():
    expected = PATTERNS["cl100k"].replace(r"\p{N}{1,3}+", r"(?>\p{N}{1,3})").replace("$", r"\z")
    assert oniguruma(PATTERNS["cl100k"]).text == expected


@pytest.mark.parametrize(
    ("pattern", "onig", "fancy"),
    [
        ("a{1,3}+", "(?>a{1,3})", "a{1,3}+"),
        ("(?:a{1,2}+b){2}+", "(?>(?:(?>a{1,2})b){2})", "(?:a{1,2}+b){2}+"),
        ("a++b*+c?+", "a++b*+c?+", "a++b*+c?+"),
        ("a{2}?", "a{2}", "a{2}"),
        ("a{1,2}?", "a{1,2}?", "a{1,2}?"),
        ("a{,3}+b{,2}c", "(?>a{0,3})b{0,2}c", "a{0,3}+b{0,2}c"),
        ("a$|b\\z", r"a\z|b\z", r"a$|b\z"),
        ("(?m)a$", r"a(?=\n|\z)", "(?m)a$"),
        ("(?s).(?-s:.)", r"[\s\S](?:.)", "(?s).(?-s:.)"),
        ("(?i)a(?-i:b)(?is:.)", r"(?i)a(?-i:b)(?i:[\s\S])", "(?i)a(?-i:b)(?is:.)"),
        (r"\w\W[\w][\W]", f"[{WORD}][^{WORD}][{WORD}][[^{WORD}]]", r"\w\W[\w][\W]"),
        (r"\p{sc=Han}\p{L&}\p{^punct}\P{^gc=Lu}", r"\p{Han}\p{LC}\P{P}\p{Lu}", r"\p{Han}\p{LC}\P{P}\p{Lu}"),
        (r"\pL\p{space}", r"\p{L}\p{White_Space}", r"\p{L}\p{White_Space}"),
        (r"[a-][]b]\/\<\,\-", r"[a\-][\]b]/<,\-", r"[a\-][\]b]/<,\-"),
        (r"\u00e9\xe9\x41\v\e\x{41}", r"éé\x41\x{B}\x{1B}A", r"éé\x41\x{B}\x{1B}A"),
        ("(?<x>a)(?P<x>b)(c)", "(?:a)(?:b)(c)", "(?:a)(?:b)(c)"),
    ],
)
def test_changes(pattern, onig, fancy):
    assert oniguruma(pattern).text == onig
    assert fancy_regex(pattern).text == fancy


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?i:st)", "'st'"),
        ("(?i:S[s])", "'ss'"),
        ("(?i:é)", "'é'"),
        ("(?i:[^a])", "negated class"),
        (r"(?i:\p{Lu})", r"\\p\{Lu\}"),
        ("(?:$)*a", "takes no text"),
        ("(?:a|$){2}b", "takes no text"),
        ("(?:a|b?){2,}c", "may be empty"),
        ("a*", "without taking a character"),
        ("a|$", "without taking a character"),
        ("(?<=a)b", "look-behind"),
    ],
)
def test_what_oniguruma_cannot_be_told(pattern, reason):
    assert oniguruma(pattern).text is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(oniguruma(pattern).reason)


def test_ages_are_spelled_out_for_oniguruma():
    known, later = oniguruma(r"\p{Age=14.0}").text, oniguruma(r"[a\P{Age=14.0}]").text
    assert known.startswith(r"[\x{0}-\x{377}\x{37A}-") and known.endswith(r"\x{10FFFD}]")
    assert later == f"[a[^{known[1:]}]"
    assert Splitter(known, "isolate").split("a\u0378b") == ["a", "\u0378", "b"]


def test_syntax_errors_stay_errors():
    for spell in (oniguruma, fancy_regex):
        with pytest.raises(PatternError, match="not closed"):
            spell("(a")


def ours(pattern: str, text: str) -> list[int]:
    try:
        ends = RegexEngine(pattern).ends(text.encode())
    except PatternError:
        assume(False)
    return np.diff(ends, prepend=0).tolist()


@given(whole_patterns(), texts())
def test_oniguruma_agrees(pattern, text):
    spelled = oniguruma(pattern).text
    assume(spelled is not None)
    expected = ours(pattern, text)
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(spelled), "isolated")
    assert [len(chunk.encode()) for chunk, _ in split.pre_tokenize_str(text)] == expected


@given(whole_patterns(), texts(6))
def test_fancy_regex_agrees(pattern, text):
    spelled = fancy_regex(pattern).text
    assume(spelled is not None)
    expected = ours(pattern, text)
    assert chunks_of_tiktoken(spelled, text) == expected


def chunks_of_tiktoken(spelled: str, text: str) -> list[int]:
    """tiktoken takes a chunk that is a token whole, so with every substring a token its tokens are its chunks."""
    parts = {text[a:b].encode() for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    tokens = [bytes([b]) for b in range(256)] + sorted(part for part in parts if len(part) > 1)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("x", pat_str=spelled, mergeable_ranks=ranks, special_tokens={})
    try:
        return [len(tokens[rank]) for rank in encoding.encode_ordinary(text)]
    except BaseException as panic:
        assume("BacktrackLimitExceeded" not in str(panic))
        raise
