"""Courses against the scan of one unit at a time, on texts that are long enough for them."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.courses import use_wide
from fastbpe.kernels.split import SplitTable, split_carefully, split_ends
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.courses import course_table
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import parse
from fastbpe.pattern.tables import kernel_tables

# Of the others one leaves text unmatched, one hopes for what is far away, one for what is four bytes away.
PATTERNS = [*filter(None, NAMED.values()), r"a+b|a|\d{3}", r"[^a]|a*b", r"abcdX|[a-d]|[^a-d]+"]
WORDS = [
    *" \n\t'a0.é", "  ", "    ", "\n    ", "\n\n", " \n   \n", "   \n\n\n", "the", " word", "Word", "'s",
    "'ll", "n't ", "I'm",    "'x", "1234", "12", " (", "());\n", "\r\n", "“", "日本", "aab", "abcd", "abcdX", "\ud83d",
]  # fmt: skip


def table_of(pattern):
    tables = kernel_tables(compile_pattern(parse(pattern)))
    return SplitTable(*tables, courses=course_table(*tables[:2]))


TABLES = [table_of(pattern) for pattern in PATTERNS]


def text_of(seed, n_bytes, n_kinds):
    """A text of few kinds of words, so that the same things often meet."""
    rng = random.Random(seed)
    kinds = rng.sample(WORDS, n_kinds)
    data = b""
    while len(data) < n_bytes:
        stretch = rng.choice(kinds) * 5 if rng.random() < 0.01 else "".join(rng.choices(kinds, k=50))
        data += stretch.encode("utf-8", "surrogatepass")
    return data[:n_bytes]


@given(
    st.sampled_from(TABLES), st.integers(0, 2**32), st.integers(1000, 20_000), st.integers(1, 12),
    st.sampled_from([200, 700, 4096, 1 << 20]),
)  # fmt: skip
def test_same_ends_as_a_careful_scan(table, seed, n_bytes, n_kinds, capacity):
    data = text_of(seed, n_bytes, n_kinds)
    expected, _ = split_carefully(data, table)
    try:
        for wide in (False, True):
            use_wide(wide)
            assert np.array_equal(split_ends(data, None, table, capacity), expected)
    finally:
        use_wide(True)


@pytest.mark.parametrize("number", range(len(NAMED) - 1))
def test_ends_at_every_place_of_a_word(number):
    # 64 bytes are a word, whose first bytes tell of ends in the one before.
    for middle in ("   \n\n\n", "\n        ", " it'll ", "x'll", "Word's", "12345", "\n   é", "THE'RE"):
        for at in range(52, 66):
            data = ("ab " * 400)[: 1024 + at] + middle
            data = (data + "cd " * 2000).encode()
            assert np.array_equal(
                split_ends(data, None, TABLES[number], 4096), split_carefully(data, TABLES[number])[0]
            )


def test_spans_end_where_they_do():
    data = text_of(1, 9000, 9)
    rows = [[100, 5000, 9000, -1], [5000, 9000, 9000, -1]]
    ends = split_ends(data, np.array(rows), TABLES[1], 4096)
    first = split_ends(data[100:], np.array([[0, 4900, 8900, -1]]), TABLES[1], 64) + 100
    second, _ = split_carefully(data[5000:], TABLES[1])
    assert np.array_equal(ends, np.concatenate([first, second + 5000]))
