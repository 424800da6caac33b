import json
import lzma
import unicodedata
from pathlib import Path

import pytest

from fastbpe.pattern import unicode_tables as tables
from fastbpe.pattern.ast import Chars, UnitSet
from fastbpe.pattern.parser import parse
from fastbpe.pattern.properties import category, named_property
from fastbpe.pattern.unitset import complement, from_ranges, size, union

DATA = Path(__file__).parent / "data" / "unicode_classes_tiktoken.json.xz"
CLASSES = json.loads(lzma.decompress(DATA.read_bytes()))


@pytest.mark.parametrize("pattern", sorted(CLASSES))
def test_classes_are_tiktokens(pattern):
    node = parse(pattern)
    assert isinstance(node, Chars)
    assert node.units == from_ranges(tuple(pair) for pair in CLASSES[pattern]["ranges"])
    assert size(node.units) == CLASSES[pattern]["count"]


def test_categories_partition_the_characters():
    sets = [category(name.lower()) for name in tables.CATEGORIES] + [category("cn")]
    surrogates = 0x800
    assert sum(size(units) for units in sets) == 0x110000 - surrogates
    assert complement(union(*sets)) == UnitSet(((0xD800, 0xDFFF), (0x110000, 0x110000)))


def test_what_the_interpreter_knows_has_kept_its_category():
    """Unicode changes a category rarely; nearly all of what any Python assigns must agree."""
    differ = 0
    for name in tables.CATEGORIES:
        for first, last in category(name.lower()).ranges:
            for c in range(first, min(last, first + 50) + 1):
                differ += unicodedata.category(chr(c)) not in (name, "Cn")
    assert differ < 20


@pytest.mark.parametrize("short", sorted(tables.SCRIPTS))
def test_scripts_share_no_character(short):
    others = union(*(named_property(f"sc={name}") for name in tables.SCRIPTS if name != short))
    own = named_property(f"sc={short}")
    assert size(union(own, others)) == size(own) + size(others)


def test_version():
    assert tables.UNICODE_VERSION == "16.0.0"
