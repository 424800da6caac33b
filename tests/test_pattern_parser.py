import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pattern_strategies import any_patterns

from fastbpe.errors import PatternError
from fastbpe.pattern.ast import INVALID, Alt, Atomic, Chars, Look, Repeat, Seq
from fastbpe.pattern.parser import MAX_COUNT, MAX_DEPTH, MAX_LENGTH, Foreign, Unsupported, parse, parse_foreign, place
from fastbpe.pattern.properties import category, fold, white_space, word
from fastbpe.pattern.unitset import ALL, EMPTY, complement, contains, from_ranges, of, union


def chars(text: str) -> Chars:
    return Chars(of(*map(ord, text)))


A, B, C = chars("a"), chars("b"), chars("c")


@pytest.mark.parametrize(
    ("pattern", "node"),
    [
        ("", Seq(())),
        ("a", A),
        ("ab", Seq((A, B))),
        ("ab|c", Alt((Seq((A, B)), C))),
        ("a|b", chars("ab")),
        ("ab|", Alt((Seq((A, B)), Seq(())))),
        ("(?:ab)c", Seq((Seq((A, B)), C))),
        ("(a)(?<n>b)(?P<m>c)", Seq((A, B, C))),
        ("(?>ab)", Atomic(Seq((A, B)))),
        ("a?", Repeat(A, 0, 1, "greedy")),
        ("a*?", Repeat(A, 0, None, "lazy")),
        ("a++", Repeat(A, 1, None, "possessive")),
        ("a{2}", Repeat(A, 2, 2, "greedy")),
        ("a{2,}?", Repeat(A, 2, None, "lazy")),
        ("a{,3}", Repeat(A, 0, 3, "greedy")),
        ("a{1,3}+", Repeat(A, 1, 3, "possessive")),
        ("(?:$)*", Seq(())),
        ("(?:$)+", Look(EMPTY, True)),
        (r"[\r\n\t\f\v\a\e]", chars("\r\n\t\f\v\a\x1b")),
        (r"\x41\x{1F600}\u00e9\u{e9}\U0001F600", Seq(tuple(map(chars, "A😀éé😀")))),
        (r"\.\[\\\-\/\ ", Seq(tuple(map(chars, ".[\\-/ ")))),
        ("]}", Seq((chars("]"), chars("}")))),
        ("[]a]", chars("]a")),
        ("[^]]", Chars(complement(of(ord("]"))))),
        ("[a-c-]", chars("abc-")),
        ("[-a^]", chars("-a^")),
        (r"[\]\-a&|~#]", chars("]-a&|~#")),
        ("[(?.*+$]", chars("(?.*+$")),
        (r"[+-\-]", chars("+,-")),
        (r"\s", Chars(white_space())),
        (r"\S", Chars(complement(white_space()))),
        (r"[^\S\n]", Chars(from_ranges(r for r in complement(union(complement(white_space()), of(10))).ranges))),
        (r"\d\W", Seq((Chars(category("nd")), Chars(complement(word()))))),
        (r"[\s\S]", Chars(ALL)),
        (r"\pL\PL\p{^L}", Seq((Chars(category("l")), *[Chars(complement(category("l")))] * 2))),
        (r"\P{^Lu}", Chars(category("lu"))),
        (".", Chars(complement(of(10)))),
        ("(?s).", Chars(ALL)),
        ("(?s:.).", Seq((Chars(ALL), Chars(complement(of(10)))))),
        ("(?s)(?-s:.)", Chars(complement(of(10)))),
        ("(?i)(?s)k.", Seq((chars("kK\u212a"), Chars(ALL)))),
        ("(?i:'s)s", Seq((Seq((chars("'"), chars("sSſ"))), chars("s")))),
        ("(?i:[^k])", Chars(complement(of(*map(ord, "kK\u212a"))))),
        (r"(?i:\p{Lu})", Chars(fold(category("lu")))),
        (r"(?i:\P{Lu})", Chars(complement(fold(category("lu"))))),
        ("$", Look(EMPTY, True)),
        (r"\z", Look(EMPTY, True)),
        ("(?m)$", Look(of(10), True)),
        (r"(?!\S)", Look(white_space(), True)),
        (r"(?=\s)", Look(white_space(), False)),
        (r"(?=\s|$)", Look(white_space(), True)),
        ("(?=a+)", Look(A.units, False)),
        ("(?=a*)", Look(ALL, True)),
        ("(?!$)", Look(ALL, False)),
        ("(?!)", Look(EMPTY, False)),
        ("(?!b)[ab]", A),
        ("(?=[ab])$", Seq((Look(chars("ab").units, False), Look(EMPTY, True)))),
    ],
)
def test_reads(pattern, node):
    assert parse(pattern) == node


def test_the_invalid_byte_is_in_the_dot_and_in_negations_only():
    for pattern, inside in ((".", True), ("[^a]", True), (r"\S", True), (r"\P{L}", True), (r"\p{C}", False)):
        assert contains(parse(pattern).units, INVALID) == inside, pattern


@pytest.mark.parametrize(
    ("pattern", "what", "offset"),
    [
        ("a(b", "not closed", 1),
        ("a)", "closes no group", 1),
        ("[a", "not closed", 0),
        ("a[z-a]", "backwards", 2),
        (r"[a-\d]", "end of a range", 1),
        ("\\", "backslash at the end", 0),
        ("*a", "repeats nothing", 0),
        ("a|+", "repeats nothing", 2),
        ("a**", "two repetitions", 2),
        ("a{2,3}++", "two repetitions", 7),
        ("a{", "begins a repetition", 1),
        ("a{x}", "begins a repetition", 1),
        ("a{1,2", "begins a repetition", 1),
        ("a{3,2}", "at least 3 and at most 2", 1),
        (f"a{{{MAX_COUNT + 1}}}", "more than", 1),
        ("a{99999999999999999999}", "more than", 1),
        ("(" * (MAX_DEPTH + 1), "nested", MAX_DEPTH),
        (r"\p{Foo}", "called 'Foo'", 0),
        (r"a\p{Han", "not closed", 1),
        (r"\p", "called ''", 0),
        (r"\x4", "hexadecimal", 0),
        (r"\x{}", "hexadecimal", 0),
        (r"\x{110000}", "not the code point", 0),
        (r"\ud800", "not the code point", 0),
        ("a\ud800", "lone surrogate", 1),
        ("(?", "not closed", 0),
        ("(?i", "not closed", 0),
        ("(?P<1>a)", "name", 0),
        ("(?<na", "name", 0),
    ],
)
def test_syntax_errors_name_their_place(pattern, what, offset):
    with pytest.raises(PatternError, match=what) as caught:
        parse(pattern)
    assert f"at position {offset}:" in str(caught.value)
    assert not isinstance(caught.value, Unsupported)
    assert str(caught.value).encode("utf-8", "replace")


@pytest.mark.parametrize(
    ("pattern", "construct", "offset", "by_regex"),
    [
        ("a(?<=b)", "look-behind", 1, True),
        ("(?<!b)a", "look-behind", 0, True),
        (r"(a)\1", "a back-reference", 3, True),
        (r"(?<x>a)\k<x>", "a back-reference", 7, True),
        ("(?P<x>a)(?P=x)", "a back-reference", 8, True),
        ("^a", "^", 0, True),
        (r"\Aa", r"\A", 0, True),
        (r"a\b", r"\b", 1, True),
        ("a(?=bc)", "a look-ahead at more than one character", 1, True),
        ("(?!a(?!b))", "a look-ahead at more than one character", 0, True),
        ("[[:alpha:]]", "a POSIX class", 1, False),
        ("[a[b]]", "a class inside a class", 2, False),
        ("[a&&b]", "the class operation &&", 2, False),
        ("[a--b]", "the class operation --", 2, False),
        (r"a\Z", r"\Z", 1, False),
        (r"\X", r"\X", 0, False),
        (r"\0", r"\0", 0, False),
        ("a(?i)b", "(?i) after the start", 1, False),
        ("(?x)a", "the group or flag (?x", 0, False),
        ("(?(1)a)", "the group or flag (?(", 0, False),
        ("(?#a)", "the group or flag (?#", 0, False),
    ],
)
def test_unsupported_constructs_are_named(pattern, construct, offset, by_regex):
    with pytest.raises(Unsupported) as caught:
        parse(pattern)
    error = caught.value
    assert (error.construct, error.offset, error.by_regex) == (construct, offset, by_regex)
    assert f"at position {offset}:" in str(error)
    if by_regex:
        parse_foreign(pattern)
    else:
        with pytest.raises(Unsupported):
            parse_foreign(pattern)


def test_foreign_keeps_groups_and_classes():
    assert parse_foreign(r"(a)\1") == Seq((Foreign("(", A, ")"), Foreign(r"(?:\1)", Seq(()), "")))
    assert parse_foreign("(?i)(?<=k)") == Foreign("(?<=", chars("kK\u212a"), ")")
    with pytest.raises(Unsupported, match="back-reference under"):
        parse_foreign(r"(?i)(a)\1")


@pytest.mark.parametrize("pattern", ["(" * 100_000, "(?:" * 100_000, "[" * 100_000, "(?=" * 5000, "a|" * 20_000])
def test_hostile_nesting_ends_in_an_error_or_a_tree(pattern):
    before = sys.getrecursionlimit()
    try:
        parse(pattern)
    except PatternError as error:
        assert "at position" in str(error)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a" * (MAX_LENGTH + 1), "65,537 characters are too many"),
        ("(?:(?:a{1000}){1000}){1000}", "1,000,000,000 units"),
        ("(?>(?:ab|c){,1000}b){1000,}|d{1000}", "3,002,000 units"),
        ("(?<=(?:(?:ab{1000}){1000}){2})c", "2,002,001 units"),
    ],
)
def test_hostile_sizes(pattern, message):
    for read in (parse, parse_foreign):
        with pytest.raises(PatternError, match=message if read is parse_foreign else None):
            read(pattern)


def test_deepest_allowed_nesting():
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == A


@given(st.text(st.sampled_from(list("ab\\[](){}?*+|^$.,-:=!<>PpLsSdiu1&\n\ud800é")), max_size=12))
def test_any_text_gives_a_tree_or_an_error_with_a_place(pattern):
    for read in (parse, parse_foreign):
        try:
            read(pattern)
        except PatternError as error:
            assert "at position" in str(error)


@given(any_patterns())
def test_patterns_of_the_grammar_are_read(pattern):
    parse(pattern)


def test_place_shows_an_excerpt():
    assert place("ab\ncd", 3) == "at position 3:\n  ab.cd\n     ^"
    shown = place("x" * 100 + "(" + "y" * 100, 100).splitlines()
    assert shown[1][len(shown[2]) - 1] == "("
    assert len(shown[1]) < 70
