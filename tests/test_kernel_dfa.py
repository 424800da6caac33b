"""Units and their classes, against Python's decoder."""

import numpy as np
import pattern_strategies as nasty
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.dfa import dfa_units
from fastbpe.kernels.split import SplitTable
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import parse
from fastbpe.pattern.tables import kernel_tables

TABLE = SplitTable(*kernel_tables(compile_pattern(parse(NAMED["o200k"]))))
INVALID = int(TABLE.leaves[TABLE.pages[0xD800 >> 6], 0])  # surrogates are of the class of invalid bytes


def expected(data):
    lengths, classes = [], []
    for c in data.decode("utf-8", "surrogateescape"):
        code = ord(c)
        invalid = 0xDC80 <= code <= 0xDCFF
        lengths.append(1 if invalid else len(c.encode()))
        classes.append(INVALID if invalid else int(TABLE.leaves[TABLE.pages[code >> 6], code & 63]))
    return lengths, classes


def check(data):
    lengths, classes = dfa_units(data, TABLE)
    assert (lengths.tolist(), classes.tolist()) == expected(data)


@given(nasty.raw_texts() | st.binary() | st.text().map(str.encode) | st.lists(st.integers(0x80, 0xFF)).map(bytes))
def test_units_are_what_the_decoder_takes(data):
    check(data)


def test_every_two_bytes_and_what_may_follow():
    for tail in (b"", b"\x80", b"\xbf\xbf", b"a"):
        for first in range(0x80, 0x100):
            check(b"".join(bytes([first, second]) + tail + b" " for second in range(256)))


@pytest.mark.parametrize("first", ["E0A0", "ED9F", "EDA0", "EFBF", "F090", "F08F", "F48F", "F490", "F5", "C0", "C1"])
def test_every_byte_behind_the_edges_of_utf8(first):
    for byte in range(256):
        for tail in (b"", b"\x80", b"\xbf\x80"):
            check(bytes.fromhex(first) + bytes([byte]) + tail)


def test_every_character():
    for low in range(0, 0x110000, 0x8000):
        codes = [code for code in range(low, low + 0x8000) if not 0xD800 <= code < 0xE000]
        check("".join(map(chr, codes)).encode())
    assert dfa_units(b"", TABLE)[0].dtype == np.int64
