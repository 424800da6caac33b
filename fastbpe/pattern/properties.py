"""The named classes of patterns (``\\p{..}``, ``\\s``, ``\\d``, ``\\w``) and case folding, as unit sets of Unicode 16.

Tables are unpacked when first asked for and kept.
"""

import struct
import zlib
from binascii import a2b_base64
from functools import cache, lru_cache
from itertools import accumulate

from . import unicode_tables as tables
from .ast import INVALID, UnitSet
from .unitset import ALL, complement, contains, difference, from_ranges, of, union

_SURROGATES = from_ranges([(0xD800, 0xDFFF)])
_GROUPS = {
    "c": ("Cc", "Cf", "Cn", "Co", "Cs"),
    "l": ("Ll", "Lm", "Lo", "Lt", "Lu"),
    "lc": ("Ll", "Lt", "Lu"),
    "l&": ("Ll", "Lt", "Lu"),
    "m": ("Mc", "Me", "Mn"),
    "n": ("Nd", "Nl", "No"),
    "p": ("Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps"),
    "s": ("Sc", "Sk", "Sm", "So"),
    "z": ("Zl", "Zp", "Zs"),
}
_LONG_NAMES = {
    "other": "c", "control": "cc", "format": "cf", "unassigned": "cn", "privateuse": "co", "surrogate": "cs",
    "letter": "l", "casedletter": "lc", "lowercaseletter": "ll", "modifierletter": "lm", "otherletter": "lo",
    "titlecaseletter": "lt", "uppercaseletter": "lu",
    "mark": "m", "spacingmark": "mc", "enclosingmark": "me", "nonspacingmark": "mn",
    "number": "n", "decimalnumber": "nd", "letternumber": "nl", "othernumber": "no",
    "punctuation": "p", "punct": "p", "connectorpunctuation": "pc", "dashpunctuation": "pd", "closepunctuation": "pe",
    "finalpunctuation": "pf", "initialpunctuation": "pi", "otherpunctuation": "po", "openpunctuation": "ps",
    "symbol": "s", "currencysymbol": "sc", "modifiersymbol": "sk", "mathsymbol": "sm", "othersymbol": "so",
    "separator": "z", "lineseparator": "zl", "paragraphseparator": "zp", "spaceseparator": "zs",
}  # fmt: skip


def _numbers(packed: str) -> tuple[int, ...]:
    raw = zlib.decompress(a2b_base64(packed))
    return struct.unpack(f"<{len(raw) // 4}I", raw)


def _unpack(packed: str) -> UnitSet:
    edges = iter(accumulate(_numbers(packed)))
    return UnitSet(tuple(zip(edges, edges, strict=True)))


@cache
def category(name: str) -> UnitSet | None:
    """The set of a general category or a group of them by its short or long name, or None when there is none."""
    name = _LONG_NAMES.get(name, name)
    if name in _GROUPS:
        return union(*(found for part in _GROUPS[name] if (found := category(part.lower())) is not None))
    if name == "cn":
        return complement(union(of(INVALID), _SURROGATES, *map(_unpack, tables.CATEGORIES.values())))
    if name == "cs":
        return UnitSet(())
    packed = tables.CATEGORIES.get(name.capitalize())
    return None if packed is None else _unpack(packed)


@cache
def script(name: str) -> UnitSet | None:
    """The set of a script (the property Script, not Script_Extensions) by its long or short name, or None."""
    packed = tables.SCRIPTS.get(tables.SCRIPT_ALIASES.get(name, name))
    return None if packed is None else _unpack(packed)


@cache
def white_space() -> UnitSet:
    """``\\s``: the 25 code points of White_Space."""
    return _unpack(tables.WHITE_SPACE)


def digit() -> UnitSet:
    """``\\d``: Nd."""
    found = category("nd")
    assert found is not None
    return found


@cache
def word() -> UnitSet:
    """``\\w`` of UTS #18: Alphabetic, marks, Nd, Pc and the two join controls, as in ``regex`` and Rust."""
    return _unpack(tables.WORD)


@cache
def _binary(name: str) -> UnitSet | None:
    if name in ("whitespace", "wspace", "space"):
        return white_space()
    if name in ("alphabetic", "alpha"):
        return _unpack(tables.ALPHABETIC)
    if name == "any":
        return from_ranges([(0, INVALID - 1)])
    if name == "ascii":
        return from_ranges([(0, 0x7F)])
    if name == "assigned":
        unassigned = category("cn")
        assert unassigned is not None
        return difference(from_ranges([(0, INVALID - 1)]), unassigned)
    return None


@cache
def named_property(text: str) -> UnitSet | None:
    """The set of what stands between the braces of ``\\p{..}``, or None when no such property is known.

    Case, spaces, ``_`` and ``-`` do not matter. ``^`` in front negates.
    """
    if text.startswith("^"):
        positive = named_property(text[1:])
        return None if positive is None else complement(positive)
    key, equals, value = "".join(c for c in text.lower() if c not in " _-").partition("=")
    if not equals:
        for look_up in (category, script, _binary):
            if (found := look_up(key)) is not None:
                return found
        return None
    if key in ("gc", "generalcategory", "category"):
        return category(value)
    if key in ("sc", "script"):
        return script(value)
    if key == "age" and value == "14.0":  # assigned in Unicode 14 or before: all that Python 3.11 knows
        return _unpack(tables.AGE_14)
    return None


@cache
def _orbits() -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    members: list[int] = []
    start = 0
    for gap in _numbers(tables.ORBITS):
        if not members:
            start += gap
            members = [start]
        elif gap:
            members.append(members[-1] + gap)
        else:
            found.append(tuple(members))
            members = []
    return tuple(found)


@cache
def _orbit_of() -> dict[int, tuple[int, ...]]:
    return {member: orbit for orbit in _orbits() for member in orbit}


@lru_cache(maxsize=256)
def fold(units: UnitSet) -> UnitSet:
    """The set with every unit added that has the same simple case folding as one in it: ``s`` brings S and ``ſ``."""
    if units == ALL:
        return units
    if len(units.ranges) == 1 and units.ranges[0][0] == units.ranges[0][1]:
        return of(*_orbit_of().get(units.ranges[0][0], units.ranges[0][:1]))
    added = [
        (member, member) for orbit in _orbits() if any(contains(units, member) for member in orbit) for member in orbit
    ]
    return from_ranges([*units.ranges, *added])
