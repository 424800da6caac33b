import re
import unicodedata

import pytest

from fastbpe.pattern.ast import INVALID
from fastbpe.pattern.properties import category, fold, named_property, white_space, word
from fastbpe.pattern.unitset import ALL, complement, contains, of, size, union


@pytest.mark.parametrize(
    "names",
    [
        ("L", "Letter", "gc=L", "General_Category=Letter", "l"),
        ("Lu", "Uppercase_Letter", "lu", "uppercase letter"),
        ("L&", "LC", "Cased_Letter"),
        ("Han", "Hani", "Script=Han", "sc=hani", "script = Han"),
        ("White_Space", "space"),
        ("Alphabetic", "alpha"),
    ],
)
def test_names_of_one_set(names):
    sets = {named_property(name) for name in names}
    assert len(sets) == 1
    assert None not in sets


@pytest.mark.parametrize("name", ["", "Foo", "sc=Foo", "gc=Han", "blk=Basic_Latin", "Age=13.0", "^Foo"])
def test_unknown_names(name):
    assert named_property(name) is None


def test_negation_and_the_invalid_byte():
    assert named_property("^L") == complement(category("l"))
    assert not contains(named_property("Any"), INVALID)
    assert not contains(named_property("Cn"), INVALID)
    assert contains(named_property("^Any"), INVALID)
    assert not contains(word(), INVALID)


def test_assigned_and_unassigned_are_complements_among_characters():
    assert size(union(named_property("Assigned"), category("cn"))) == 0x110000
    assert named_property("Cs").ranges == ()


def test_word_is_that_of_uts18():
    assert word() == union(
        named_property("Alphabetic"), category("m"), category("nd"), category("pc"), of(0x200C, 0x200D)
    )
    assert size(white_space()) == 25


@pytest.mark.parametrize(
    ("c", "orbit"),
    [("s", "sSſ"), ("k", "kK\u212a"), ("i", "iI"), ("İ", "İ"), ("ß", "ßẞ"), ("ﬅ", "ﬅﬆ"), ("1", "1"), ("Σ", "Σσς")],
)
def test_simple_folding(c, orbit):
    assert fold(of(ord(c))) == of(*map(ord, orbit))


def test_folding_of_sets_is_closed_and_single_characters_agree():
    upper = category("lu")
    closed = fold(upper)
    assert fold(closed) == closed
    assert union(closed, upper) == closed
    letters = [c for first, last in upper.ranges for c in range(first, last + 1)]
    assert union(*(fold(of(c)) for c in letters)) == closed
    assert fold(ALL) == ALL


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="Age=14.0 is what Python 3.11 knows")
def test_age_14_is_what_python_311_knows():
    known = named_property("Age=14.0")
    for c in range(0x110000):
        if not 0xD800 <= c <= 0xDFFF:
            assert contains(known, c) == (unicodedata.category(chr(c)) != "Cn")
    assert re.fullmatch(r"\W", "\u1c89")
