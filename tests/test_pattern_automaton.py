"""The pattern compiler against the regex module, on random patterns and texts; what it refuses, and its examples.

FASTBPE_DIFFERENTIAL=1000000 runs that many cases instead of the usual ten thousand (a tenth of them in checked builds).
"""

import os
import random

import pattern_strategies as nasty
import pytest
from effort import effort
from hypothesis import given

from fastbpe.kernels.split import SplitTable, split_ends
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import Unsupported, parse
from fastbpe.pattern.program import NotCompilable
from fastbpe.pattern.regex_engine import RegexEngine
from fastbpe.pattern.tables import kernel_tables

CASES = int(os.environ.get("FASTBPE_DIFFERENTIAL", effort(10_000, 10)))
TEXTS = 5


def compiled(pattern):
    automaton = compile_pattern(parse(pattern))
    return automaton, SplitTable(*kernel_tables(automaton))


def check(pattern, texts):
    """Compares all that the automaton says with the regex module; returns how many texts were compared."""
    try:
        automaton, table = compiled(pattern)
    except (NotCompilable, Unsupported):
        return 0
    try:
        if automaton.empty is not None:
            assert nasty.expected(pattern, automaton.empty)[0] == "empty"
            return 1
        if automaton.unmatched is not None:
            assert nasty.expected(pattern, automaton.unmatched) == ("unmatched", [])
        for data in texts:
            outcome, ends = nasty.expected(pattern, data)
            found = split_ends(data, None, table).tolist()
            if outcome == "ok":
                assert found == ends, data
            else:
                assert outcome == "unmatched" and automaton.unmatched is not None
                assert found[: len(ends)] == ends, data
    except TimeoutError:
        return 0
    return len(texts)


@pytest.mark.parametrize("first", range(0, CASES, 1000))
def test_same_chunks_as_regex(first):
    done, seed = 0, first * 1000
    while done < min(1000, CASES - first):
        rng = random.Random(seed)
        pattern = (nasty.any_pattern if rng.random() < 0.3 else nasty.whole_pattern)(rng)
        done += check(pattern, [nasty.raw_text(rng) for _ in range(TEXTS)])
        seed += 1


@given(nasty.whole_patterns(), nasty.raw_texts())
def test_same_chunks_as_regex_shrinking(pattern, data):
    check(pattern, [data])


@pytest.mark.parametrize("name", [name for name, text in NAMED.items() if text])
def test_named_patterns(name):
    automaton, table = compiled(NAMED[name])
    assert automaton.unmatched is None and automaton.empty is None and not automaton.barren
    rng = random.Random(name)
    texts = [nasty.raw_text(rng, 40) for _ in range(300)]
    if "Age" in NAMED[name]:  # which regex does not know
        engine = RegexEngine(NAMED[name])
        for data in texts:
            assert split_ends(data, None, table).tolist() == engine.ends(data).tolist()
    else:
        assert check(NAMED[name], texts)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\w+", b"!"),
        (r"a|b|[^ab]c", b"c"),
        (r"[^a]|ab", b"a"),
        (r"[^a]|aa[\s\S]|ab", b"a"),
        (r"\S+|\s+(?=\S)", b" "),
        (r"[\s\S](?!$)|ab", b"a"),
        (r"[\p{L}\P{L}]+(?!b)", None),
        (r"[^\p{Han}]|\p{Han}{2}", "中".encode()),
        (r".|\n", None),
        (r"\p{Any}|.", b"\n"),
    ],
)
def test_the_shortest_unmatched_text(pattern, text):
    if "Any" in pattern:
        pattern = r"[a-z]|."
    automaton, _ = compiled(pattern)
    assert automaton.unmatched == text
    if text is not None:
        assert nasty.expected(pattern, text) == ("unmatched", [])


def test_invalid_bytes_can_be_what_is_unmatched():
    automaton, _ = compiled(r"\p{L}|\p{M}|\p{N}|\p{P}|\p{S}|\p{Z}|\p{C}")
    assert automaton.unmatched == b"\xff"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a*", b"b"),
        (r"\w+|\s*", b"!"),
        (r"\w+|(?=!)", b"!"),
        (r"[\s\S]|$", None),
        (r"(?=a)a?|[^a]", None),
        (r"a??", b"a"),
    ],
)
def test_the_shortest_text_of_which_nothing_is_taken(pattern, text):
    automaton, _ = compiled(pattern)
    assert automaton.empty == text
    if text is not None:
        assert nasty.expected(pattern, text)[0] == "empty"


@pytest.mark.parametrize("pattern", [r"[^\p{L}\P{L}]", r"a(?!$)(?!\p{Any}|b)".replace(r"\p{Any}", "[^b]"), r"(?=a)b"])
def test_a_pattern_that_matches_nothing(pattern):
    assert compiled(pattern)[0].barren
