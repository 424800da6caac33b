"""Characters of a text in arrays: code points, and the group each belongs to, by Unicode 16's tables.

A group is a script; the characters that scripts share (Script=Common) are told apart by what they are: digits,
punctuation, symbols; and spaces are the White_Space of any script. A byte that is not UTF-8 is a character of its own,
of the last group.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fastbpe.pattern import unicode_tables as tables
from fastbpe.pattern.ast import UnitSet
from fastbpe.pattern.properties import category, script, white_space

N_CODE_POINTS = 0x110000
INVALID_GROUP = "not UTF-8"
UNASSIGNED_GROUP = "unassigned"
SLICE_BYTES = 1 << 22

_SHARED = {"zyyy": "other shared", "zinh": "combining marks"}
_COMMON = (("digits", "n"), ("punctuation", "p"), ("symbols", "s"))
_FIRST_ESCAPE, _LAST_ESCAPE = 0xDC80, 0xDCFF  # what surrogateescape makes of bytes that are not UTF-8


@cache
def group_names() -> tuple[str, ...]:
    """Names of the groups by their number: scripts by their Unicode names."""
    long_names: dict[str, str] = {}
    for alias, short in tables.SCRIPT_ALIASES.items():
        if len(alias) > len(long_names.get(short, "")):
            long_names[short] = alias
    scripts = [_SHARED.get(short) or long_names.get(short, short).capitalize() for short in _scripts()]
    return (UNASSIGNED_GROUP, *scripts, "spaces", *(name for name, _ in _COMMON), INVALID_GROUP)


@cache
def group_of() -> NDArray[np.uint8]:
    """uint8 (0x110000,): the group's number of each code point; read only."""
    table = np.zeros(N_CODE_POINTS, np.uint8)
    for number, short in enumerate(_scripts(), 1):
        _fill(table, script(short), number)
    common = table == 1 + _scripts().index("zyyy")
    first = 1 + len(_scripts())
    of_kind = np.zeros(N_CODE_POINTS, np.uint8)
    for number, (_, name) in enumerate(_COMMON, first + 1):
        _fill(of_kind, category(name), number)
    chosen = common & (of_kind > 0)
    table[chosen] = of_kind[chosen]
    _fill(table, white_space(), first)
    table[_FIRST_ESCAPE : _LAST_ESCAPE + 1] = len(group_names()) - 1
    table.flags.writeable = False
    return table


@cache
def is_punctuation() -> NDArray[np.bool_]:
    """bool (0x110000,): whether a code point is punctuation (general category P)."""
    table = np.zeros(N_CODE_POINTS, np.bool_)
    _fill(table, category("p"), True)
    table.flags.writeable = False
    return table


def code_points(data: bytes) -> NDArray[np.uint32]:
    """uint32 (characters,): each character's code point; a byte b that is not UTF-8 is U+DC00 + b."""
    text = data.decode("utf-8", "surrogateescape")
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def utf8_lengths(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8 (characters,): how many bytes each character takes."""
    lengths = np.ones(len(points), np.uint8)
    for first in (0x80, 0x800, 0x10000):
        lengths += points >= first
    lengths[(points >= _FIRST_ESCAPE) & (points <= _LAST_ESCAPE)] = 1
    return lengths


def slices(data: bytes, size: int = SLICE_BYTES) -> Iterator[bytes]:
    """The data in pieces of about `size` bytes that begin where a character does, so that memory stays bounded."""
    start = 0
    while start < len(data):
        stop = min(start + size, len(data))
        # A character has at most three bytes that go on with it; more of them are no character's.
        for back in range(4):
            if stop < len(data) and stop - back > start and data[stop - back] & 0xC0 != 0x80:
                stop -= back
                break
        yield data[start:stop]
        start = stop


def groups(data: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """uint8 (bytes,): the group of the character that each byte belongs to; int64 (groups,): characters of each."""
    of_bytes = [np.empty(0, np.uint8)]
    characters = np.zeros(len(group_names()), np.int64)
    for piece in slices(data):
        points = code_points(piece)
        of_points = group_of()[points]
        characters += np.bincount(of_points, minlength=len(characters))
        whole = len(points) == len(piece)  # a byte each
        of_bytes.append(of_points if whole else np.repeat(of_points, utf8_lengths(points)))
    return np.concatenate(of_bytes), characters


@cache
def _scripts() -> list[str]:
    return sorted(tables.SCRIPTS)


def _fill(table: NDArray[np.generic], units: UnitSet | None, value: int) -> None:
    assert units is not None
    for first, last in units.ranges:
        table[first : min(last, N_CODE_POINTS - 1) + 1] = value
