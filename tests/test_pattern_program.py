"""The instructions of a pattern: what has an exact automaton, what has none, and that they do the same."""

import random

import pattern_strategies as nasty
import pytest

from fastbpe.kernels.split import SplitTable, split_ends
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.parser import parse
from fastbpe.pattern.program import NotCompilable, nullable
from fastbpe.pattern.tables import kernel_tables


def table(pattern):
    return SplitTable(*kernel_tables(compile_pattern(parse(pattern))))


@pytest.mark.parametrize(
    ("possessive", "plain"),
    [
        (r"\w*+\d|[\s\S]", r"[\s\S]"),
        (r"\d{1,2}+\d|[\s\S]", r"\d\d\d|[\s\S]"),
        (r"\d?+a|[\s\S]", r"\da|a|[\s\S]"),
        (r"(?>a|ab)c|[\s\S]", r"ac|[\s\S]"),
        (r"(?>\r\n|\r)\n|[\s\S]", r"\r\n\n|[\s\S]"),
        (r"(?>a+?)b|[\s\S]", r"ab|[\s\S]"),
        (r"a{2}+a|[\s\S]", r"a{3}|[\s\S]"),
        (r"(?:ab|[cd])++c|[\s\S]", None),
        (r"(?:\p{L}\p{M}*)++|[\s\S]", r"(?:\p{L}\p{M}*)+|[\s\S]"),
    ],
)
def test_possessive_and_atomic(possessive, plain):
    if plain is None:
        with pytest.raises(NotCompilable, match="possessive repetition"):
            table(possessive)
        return
    ours, theirs = table(possessive), table(plain)
    rng = random.Random(1)
    for _ in range(300):
        data = "".join(rng.choice("aabbcd1\r\n\u0301") for _ in range(rng.randint(0, 12))).encode()
        assert split_ends(data, None, ours).tolist() == split_ends(data, None, theirs).tolist(), data
        assert split_ends(data, None, ours).tolist() == nasty.expected(possessive, data)[1]


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        (r"(?:a*)+|[\s\S]", "repetition"),
        (r"(?:a|b?){2,3}|[\s\S]", "repetition"),
        (r"(?>a(?:bc)?)|[\s\S]", "atomic group"),
        (r"(?:a{100}){200}b|[\s\S]", "repetition"),
        (r"(?:[ab]*a[ab]{14})c|[\s\S]", "pattern"),
    ],
)
def test_what_has_no_exact_automaton_is_refused(pattern, construct):
    with pytest.raises(NotCompilable) as caught:
        table(pattern)
    assert caught.value.construct.startswith(construct)
    assert caught.value.why


def test_nullable():
    for pattern, answer in [
        ("a", False),
        ("a?", True),
        ("(?:a|b?)", True),
        ("(?>a*)", True),
        ("a{0}", True),
        ("$", True),
    ]:
        assert nullable(parse(pattern)) is answer
