"""What kernels are given: cuts that are certain in every context, stretches without a match as a state."""

import random

import numpy as np
import pattern_strategies as nasty
import pytest

from fastbpe.kernels.split import SplitTable, split_ends
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import Unsupported, parse
from fastbpe.pattern.program import NotCompilable
from fastbpe.pattern.tables import certain_cuts, kernel_tables


def compiled(pattern):
    automaton = compile_pattern(parse(pattern))
    return automaton, SplitTable(*kernel_tables(automaton))


@pytest.mark.parametrize("name", [name for name, text in NAMED.items() if text])
def test_named_patterns_have_cuts_of_two_units(name):
    cuts = certain_cuts(compiled(NAMED[name])[0])
    assert cuts.ndim == 2 and cuts.any()


def test_three_units_where_two_are_not_enough():
    cuts = compiled(r"[ab]{2}c?|[^ab]{2}c?|[\s\S]")[1].cuts
    assert cuts.ndim == 2
    cuts = compiled(r"aa|a(?=b)|b[ab]?|[^ab]")[1].cuts
    assert cuts.shape[0] == cuts.shape[1]


def test_patterns_without_a_certain_cut():
    for pattern in (r"[\s\S]{3}|[\s\S]", r"[\s\S]+"):
        assert not compiled(pattern)[1].cuts.any()


@pytest.mark.parametrize(
    ("pattern", "more"), [(r"\w+", 1), (r"\p{N}{1,3}", 1), (r"[\s\S]", 0), (r"a+b", 0), (r"a+b|a", 1), (r"a|b+c", 0)]
)
def test_stretches_are_a_state_where_the_first_unit_tells(pattern, more):
    automaton, table = compiled(pattern)
    assert table.transitions.shape[0] == automaton.n_states + 1 + more
    rng = random.Random(3)
    for _ in range(200):
        data = nasty.raw_text(rng) + b"".join(rng.choice([b"a", b"b", b"c", b"1", b"!"]) for _ in range(9))
        ends = split_ends(data, None, table).tolist()
        pieces = nasty.isolated(pattern, data)
        assert ends == np.cumsum(pieces).tolist(), data


CONTEXTS = [b"", b"a", b" ", b"\n  ", b"12", b"'", b"\xe4", "中".encode(), b"\xff", b"don'", b"\r\n\r", b"A"]


@pytest.mark.parametrize("first", range(0, 1500, 500))
def test_cuts_are_certain_whatever_stands_around_them(first):
    seen = 0
    for seed in range(first, first + 500):
        rng = random.Random(seed)
        pattern = (
            rng.choice([text for text in NAMED.values() if text]) if rng.random() < 0.4 else nasty.any_pattern(rng)
        )
        try:
            automaton, table = compiled(pattern)
        except (NotCompilable, Unsupported):
            continue
        if automaton.empty is not None:
            continue
        width, samples = table.cuts.ndim, {}
        for unit in {*nasty.ALPHABET, *map(chr, range(128))}:
            code = ord(unit)
            label = table.ascii[code] if code < 128 else table.leaves[table.pages[code >> 6], code & 63]
            samples.setdefault(int(label), []).append(unit)
        cuts = [tuple(map(int, cut)) for cut in zip(*table.cuts.nonzero(), strict=True)]
        for cut in rng.sample(cuts, min(8, len(cuts))):
            if not all(label in samples for label in cut):
                continue
            units = [rng.choice(samples[label]).encode() for label in cut]
            for before in [*rng.sample(CONTEXTS, 4), nasty.raw_text(rng, 4)]:
                ends = split_ends(before + b"".join(units) + rng.choice(CONTEXTS), None, table).tolist()
                for j in range(1, width):
                    if table.cuts[cut] >> (j - 1) & 1:
                        assert len(before + b"".join(units[:j])) in ends, (pattern, before, units)
                        seen += 1
    assert seen > 1000
