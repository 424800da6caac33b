"""The courses of named and other patterns against a scan that steps back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.split import SplitTable, split_carefully
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.courses import BACK, MOST_COURSES, course_table
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import parse
from fastbpe.pattern.tables import kernel_tables

PATTERNS = [*filter(None, NAMED.values()), r"a+b|a", r"abc|[a-c]|[^a-c]+", r"ab\d|ab|\s*\S|\s+"]
TABLES = [kernel_tables(compile_pattern(parse(pattern))) for pattern in PATTERNS]
COURSES = [course_table(*tables[:2]) for tables in TABLES]


def told(courses, data):
    """Ends that the courses tell of, and whether the last may be withdrawn; None: a course was dead."""
    following, opened = courses
    course, ends = 1, set()
    for at, byte in enumerate(data):
        entry = int(following[course, byte])
        course = entry >> 8
        if course == 0:
            return None
        ends |= {at - k for k in range(BACK + 1) if entry >> k & 1}
    return sorted(ends), opened[course]


@given(st.integers(0, len(PATTERNS) - 1), st.text("ab c'sl1\n.", max_size=40).map(str.encode))
def test_what_is_told_are_the_ends(number, data):
    found = told(COURSES[number], data)
    if found is None:
        return
    ends, open_ = found
    # Whatever follows: but for one that may be withdrawn, what was told stands.
    certain = ends[: len(ends) - int(open_)]
    for behind in (b"", b"\n", b" x", b"x", b"1"):
        expected, _ = split_carefully(data + behind, SplitTable(*TABLES[number]))
        assert [end for end in expected.tolist() if end <= (certain or [0])[-1]] == certain


@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_tables(number):
    following, opened = COURSES[number]
    assert following.dtype == np.uint16 and following.shape == (len(opened), 256) and len(opened) < MOST_COURSES
    assert not following[0].any() and not following[:, 128:].any()
    assert (following >> 8).max() == len(opened) - 1 and not (following & 0xF0).any()
    assert not opened[:2].any()


def test_ordinary_text_is_never_left_to_the_slower_scan():
    for name in ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "tekken"):
        courses = course_table(*kernel_tables(compile_pattern(parse(NAMED[name])))[:2])
        text = b"def it's(a, b):\n        return 'don''t' + 12345\n\n\n# They'll see.  And THEN?\n\tx\n"
        ends, _ = told(courses, text)
        assert len(ends) > 20


def test_too_many_courses_are_refused():
    tables = kernel_tables(compile_pattern(parse(r"\d{1,300}|\D")))
    assert course_table(*tables[:2]) is None
