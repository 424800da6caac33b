"""Scanning: however many ends are asked for at a time, in haste or carefully, with one cursor or two; linear always."""

import random

import pattern_strategies as nasty
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kernel_split import AUTOMATA, PATTERNS, TABLES, naive_ends

from fastbpe.kernels.split import SplitTable, split_carefully, split_ends
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import parse
from fastbpe.pattern.tables import kernel_tables

CAPACITIES = [1, 2, 3, 7, 64, 511, 512, 600, 1 << 14]


@given(st.sampled_from(PATTERNS), nasty.raw_texts(40), st.sampled_from(CAPACITIES))
def test_any_number_of_ends_at_a_time(pattern, data, capacity):
    expected = naive_ends(AUTOMATA[pattern], data)
    assert split_ends(data, None, TABLES[pattern], capacity).tolist() == expected
    assert split_carefully(data, TABLES[pattern], capacity)[0].tolist() == expected


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", range(3))
def test_long_texts(pattern, seed):
    rng = random.Random(seed)
    data = b"".join(nasty.raw_text(rng, 60) for _ in range(150))
    expected = naive_ends(AUTOMATA[pattern], data)
    for capacity in CAPACITIES[3:]:
        assert split_ends(data, None, TABLES[pattern], capacity).tolist() == expected
        assert split_carefully(data, TABLES[pattern], capacity)[0].tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_two_cursors_that_hardly_ever_meet(seed):
    # Digits in threes meet only where the halves happen to agree; words of one letter's length always do.
    rng = random.Random(seed)
    kinds = ["0" * rng.randint(1, 5000), "abc " * 500, " " * rng.randint(1, 3000), "1 " * 900, "中" * 900, "é1" * 400]
    data = "".join(rng.choice(kinds) for _ in range(12)).encode()
    for pattern in PATTERNS[:4]:
        expected = split_carefully(data, TABLES[pattern])[0].tolist()
        for capacity in (512, 1000, 1 << 14):
            assert split_ends(data, None, TABLES[pattern], capacity).tolist() == expected


HOPEFUL = [
    r"a*b|a|[^a]",
    r"\s*[\r\n]|\s|\S+",
    r"(?:ab)*c|a|b|[^ab]",
    r"[ab]*c|ab?|b|[^ab]",
    r"(?:a|b|  )*!|\s|\S",
    r"a*b|(?:aa)*c|aaa|aa|a|[^a]",
    r"\p{L}+\d|\p{L}{1,3}|[^\p{L}]",
    r"(?:a{7})+b|a{1,5}|[^a]",
    r"a*b",
    r"\w{2,40}!|[^b]a*c",
]
RUNS = [b"a", b"ab", b" ", b"\n", b" \n", b"  a", b"ab  ", "é".encode(), b"aaaaaab", b"1", "\u3000".encode(), b"\xff"]


@pytest.mark.parametrize("pattern", HOPEFUL)
@pytest.mark.parametrize("unit", RUNS)
def test_long_hopes_stay_linear(pattern, unit):
    table = SplitTable(*kernel_tables(compile_pattern(parse(pattern))))
    short, long = unit * (8_000 // len(unit)), unit * (160_000 // len(unit))
    automaton = compile_pattern(parse(pattern))
    assert split_carefully(short[:1500], table)[0].tolist() == naive_ends(automaton, short[:1500])
    for capacity in (600, 1 << 14):
        ends, steps = split_carefully(long, table, capacity)
        assert steps < 400 * len(long)
        assert split_ends(long, None, table, capacity).tolist() == ends.tolist()
    (_, few), (_, many) = split_carefully(short, table), split_carefully(long, table)
    assert many < 40 * few  # twenty times the text


@pytest.mark.parametrize("pattern", [text for text in NAMED.values() if text])
def test_named_patterns_on_runs_of_every_two_classes(pattern):
    automaton = compile_pattern(parse(pattern))
    table = SplitTable(*kernel_tables(automaton))
    samples = {}
    for c in [*map(chr, range(32, 127)), *"\n\r\t\x00é中①²\u0301\u3000，Ⅷ"]:
        code = ord(c)
        samples.setdefault(int(automaton.leaves[automaton.pages[code >> 6], code & 63]), c)
    for first in samples.values():
        for second in samples.values():
            for data in ((first + second) * 2500, first * 2500 + second, first + second * 2500 + first):
                ends, steps = split_carefully(data.encode(), table, 600)
                assert steps < 4 * len(data) + 100
                assert split_ends(data.encode(), None, table, 600).tolist() == ends.tolist()
