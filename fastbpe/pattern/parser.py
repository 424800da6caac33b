"""Reads a split pattern into the syntax tree of ast.py. Classes and case folding become unit sets on the way.

What is read:

- literals, escaped punctuation, ``\\r \\n \\t \\f \\v \\a \\e \\xHH \\x{..} \\uHHHH \\u{..} \\UHHHHHHHH``;
- classes ``[..] [^..]`` with ranges, ``\\s \\S \\d \\D \\w \\W``, ``\\p{..} \\P{..} \\pL`` (properties.py says which),
  ``.`` (all but ``\\n``; all under ``s``);
- groups ``(..)``, ``(?<name>..)``, ``(?:..)``, atomic ``(?>..)``; flags ``i s m`` as ``(?i:..)`` or, at the very start,
  as ``(?i)``;
- ``|`` and ``? * + {m} {m,} {,n} {m,n}``, each greedy, lazy (``?`` behind) or possessive (``+`` behind);
- look-ahead at one unit or at the end of the text, ``$`` and ``\\z``.

``$`` is the end of the text only, as Rust reads it (Python's also stands before a last ``\\n``); under ``m`` it stands
before every ``\\n`` too. Under ``i`` sets are closed under simple case folding, then negated, as Rust does it.
``(?=X)Y`` is read as the class of what is in both, ``X|Y`` as the class of what is in either.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NoReturn, cast

from ..errors import PatternError
from .ast import Alt, Atomic, Chars, Look, Node, Repeat, Seq, UnitSet
from .properties import digit, fold, named_property, white_space, word
from .unitset import ALL, EMPTY, complement, from_ranges, intersection, of, union

MAX_DEPTH = 100
MAX_COUNT = 1000
MAX_LENGTH = 1 << 16
"""Of a pattern in characters: a hundred times that of those in use."""
MAX_UNITS = 1 << 20
"""That it matches one of, each repetition {m,n} written out n times, as engines do."""

_ESCAPES = {"r": 0x0D, "n": 0x0A, "t": 0x09, "f": 0x0C, "v": 0x0B, "a": 0x07, "e": 0x1B}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_NEWLINE = of(0x0A)


class Unsupported(PatternError):
    """A construct that the syntax tree cannot hold. ``by_regex``: the ``regex`` module can run it exactly."""

    def __init__(self, message: str, construct: str, offset: int, by_regex: bool) -> None:
        super().__init__(message)
        self.construct = construct
        self.offset = offset
        self.by_regex = by_regex


@dataclass(frozen=True, slots=True)
class Foreign:
    """What only the ``regex`` module can run: its own text around an item. Never in what parse() gives."""

    before: str
    item: "Node | Foreign"
    after: str


class Flags(NamedTuple):
    """What ``(?i)``, ``(?s)`` and ``(?m)`` switch."""

    i: bool = False
    s: bool = False
    m: bool = False


@lru_cache(maxsize=128)
def parse(pattern: str) -> Node:
    """The syntax tree of a pattern.

    Raises Unsupported (with the construct and its offset) for what only another engine knows, PatternError with the
    place for everything else that cannot be read.
    """
    return Parser(pattern, foreign=False).run()


def parse_foreign(pattern: str) -> "Node | Foreign":
    """Like parse, but what only the ``regex`` module can run becomes Foreign nodes instead of Unsupported."""
    return Parser(pattern, foreign=True).run()


def place(pattern: str, offset: int) -> str:
    """Two lines: the pattern around the offset, and a caret under it."""
    first = max(0, offset - 30)
    shown = "".join(c if c.isprintable() else "." for c in pattern[first : offset + 30])
    return f"at position {offset}:\n  {shown}\n  {' ' * (offset - first)}^"


class Parser:
    """Reads one pattern. run() gives what parse() describes."""

    def __init__(self, pattern: str, foreign: bool) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0
        self.foreign = foreign

    def run(self) -> Node:
        if len(self.text) > MAX_LENGTH:
            self.fail(f"{len(self.text):,} characters are too many to read, {MAX_LENGTH:,} at most", MAX_LENGTH)
        for offset, c in enumerate(self.text):
            if "\ud800" <= c <= "\udfff":
                self.fail("a lone surrogate is not a character", offset)
        node = self.alternation(self.leading_flags())
        if self.at < len(self.text):
            self.fail("this ) closes no group", self.at)
        if (units := _units(node)) > MAX_UNITS:
            self.fail(f"its repetitions written out give {units:,} units, {MAX_UNITS:,} at most", 0)
        return node

    # errors and small steps

    def fail(self, what: str, offset: int) -> NoReturn:
        raise PatternError(f"pattern: {what}, {place(self.text, offset)}")

    def unsupported(self, construct: str, offset: int, remedy: str = "", by_regex: bool = False) -> NoReturn:
        what = f"pattern: {construct} is not supported{remedy and '; ' + remedy}, {place(self.text, offset)}"
        raise Unsupported(what, construct, offset, by_regex)

    def only_regex(self, construct: str, offset: int) -> None:
        if not self.foreign:
            self.unsupported(construct, offset, "only the regex module can run it", by_regex=True)

    def seen(self, kind: str, start: int, flags: Flags, value: object = None) -> None:
        """Told of what stands from start to here when it is read; for who respells a pattern."""

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    # structure

    def leading_flags(self) -> Flags:
        flags = Flags()
        while self.peek(2) == "(?" and self.peek(3)[2:] in tuple("ismux"):
            start = self.at
            self.at += 2
            read = self.flags(flags, start)
            if not self.take(")"):
                self.at = start
                break
            self.seen("flags", start, read)
            flags = read
        return flags

    def flags(self, flags: Flags, start: int) -> Flags:
        on = True
        while (c := self.peek()) and c not in "):":
            if c == "-" and on:
                on = False
            elif c in "ism":
                flags = flags._replace(**{c: on})
            elif not (c == "u" and on):
                self.unsupported(f"the group or flag (?{c}", start)
            self.at += 1
        return flags

    def alternation(self, flags: Flags) -> Node:
        branches = [self.sequence(flags)]
        while self.take("|"):
            branch = self.sequence(flags)
            if isinstance(branch, Chars) and isinstance(branches[-1], Chars):
                branches[-1] = Chars(union(branches[-1].units, branch.units))
            else:
                branches.append(branch)
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def sequence(self, flags: Flags) -> Node:
        items: list[Node] = []
        while (c := self.peek()) and c not in "|)":
            item = self.repetition(flags)
            if isinstance(item, Chars) and items and isinstance(look := items[-1], Look):
                items[-1] = Chars(intersection(look.units, item.units))
            else:
                items.append(item)
        return items[0] if len(items) == 1 else Seq(tuple(items))

    def repetition(self, flags: Flags) -> Node:
        start = self.at
        item = self.atom(flags)
        counts_start = self.at
        counts = self.counts()
        if counts is None:
            return item
        if _takes_nothing(item):
            self.fail("a look-around cannot be repeated", start)
        mode = "lazy" if self.take("?") else "possessive" if self.take("+") else "greedy"
        if self.peek() and self.peek() in "?*+{":
            self.fail("two repetitions in a row; put the first into (?:..)", self.at)
        self.seen("repetition", start, flags, (counts_start, Repeat(item, counts[0], counts[1], mode)))
        if isinstance(item, Look) or item == Seq(()):
            return (
                item if counts[0] else Seq(())
            )  # it takes no text: once is as good as often, "maybe" as good as never
        return Repeat(item, counts[0], counts[1], mode)

    def counts(self) -> tuple[int, int | None] | None:
        """The counts of the repetition that stands here, if one does."""
        for sign, found in (("?", (0, 1)), ("*", (0, None)), ("+", (1, None))):
            if self.take(sign):
                return found
        start = self.at
        if not self.take("{"):
            return None
        end = self.text.find("}", start)
        low, comma, high = self.text[start + 1 : max(end, start + 1)].partition(",")
        numbers = [number for number in (low, high) if number]
        if not numbers or not all(number.isascii() and number.isdigit() for number in numbers):
            self.fail("{ begins a repetition {m}, {m,}, {,n} or {m,n}; for the character itself write \\{", start)
        if any(len(number) > 6 or int(number) > MAX_COUNT for number in numbers):
            self.fail(f"a repetition of more than {MAX_COUNT}", start)
        self.at = end + 1
        least = int(low or 0)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            self.fail(f"a repetition of at least {least} and at most {most}", start)
        return least, most

    def atom(self, flags: Flags) -> Node:
        start = self.at
        c = self.text[start]
        if c == "(":
            return self.group(flags)
        if c == "[":
            return Chars(self.bracket(flags))
        if c == "\\":
            return self.escape(flags)
        self.at += 1
        if c == ".":
            self.seen("dot", start, flags)
            return Chars(ALL if flags.s else complement(_NEWLINE))
        if c == "$":
            self.seen("end", start, flags)
            return Look(_NEWLINE if flags.m else EMPTY, at_end=True)
        if c == "^":
            self.only_regex("^", start)
            if flags.m:
                return _foreign("(?<!", Chars(complement(_NEWLINE)), ")")
            return _foreign("\\A", Seq(()), "")
        if c in "?*+{":
            self.fail(f"{c} repeats nothing; for the character itself write \\{c}", start)
        self.seen("literal", start, flags, ord(c))
        return Chars(self.folded(of(ord(c)), flags))

    def group(self, flags: Flags) -> Node:
        start = self.at
        self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"groups nested more than {MAX_DEPTH} deep", start)
        if not self.take("?"):
            return self.captured("(", flags, start)
        if self.take(":"):
            return self.inside(flags, start)
        if self.take(">"):
            return Atomic(self.inside(flags, start))
        if self.peek() in ("=", "!"):
            return self.look_ahead(flags, start)
        if self.peek(2) in ("<=", "<!"):
            self.only_regex("look-behind", start)
            self.at += 2
            return _foreign(self.text[start : self.at], self.inside(flags, start), ")")
        if self.take("P<") or self.take("<"):
            name = self.name(">", start)
            self.seen("name", start, flags)
            return self.captured(f"(?P<{name}>", flags, start)
        if self.take("P="):
            self.only_regex("a back-reference", start)
            self.depth -= 1
            return self.reference(f"(?P={self.name(')', start)})", flags, start)
        read = self.flags(flags, start)
        if self.peek() == ")":
            self.unsupported(
                f"{self.text[start : self.at + 1]} after the start", start, "write (?i:..) around the part"
            )
        if not self.take(":"):
            self.fail("this group is not closed", start)
        self.seen("flags", start, read)
        return self.inside(read, start)

    def inside(self, flags: Flags, start: int) -> Node:
        node = self.alternation(flags)
        if not self.take(")"):
            self.fail("this group is not closed", start)
        self.depth -= 1
        return node

    def captured(self, before: str, flags: Flags, start: int) -> Node:
        node = self.inside(flags, start)
        return _foreign(before, node, ")") if self.foreign else node

    def name(self, closing: str, start: int) -> str:
        end = self.text.find(closing, self.at)
        name = self.text[self.at : max(end, self.at)]
        if not name.isidentifier():
            self.fail("a group's name is missing", start)
        self.at = end + 1
        return name

    def reference(self, text: str, flags: Flags, start: int) -> Node:
        if flags.i:
            self.unsupported("a back-reference under (?i)", start)
        return _foreign(text, Seq(()), "")

    def look_ahead(self, flags: Flags, start: int) -> Node:
        negative = self.peek() == "!"
        self.at += 1
        item = self.inside(flags, start)
        seen = _first_seen(item)
        if seen is None:
            self.only_regex("a look-ahead at more than one character", start)
            return _foreign(self.text[start : start + 3], item, ")")
        units, at_end = seen
        return Look(complement(units), not at_end) if negative else Look(units, at_end)

    # escapes and classes

    def folded(self, units: UnitSet, flags: Flags) -> UnitSet:
        return fold(units) if flags.i else units

    def escape(self, flags: Flags) -> Node:
        start = self.at
        c = self.peek(2)[1:]
        if c == "z":
            self.at += 2
            return Look(EMPTY, at_end=True)
        if c == "A":
            self.only_regex("\\A", start)
            self.at += 2
            return _foreign("\\A", Seq(()), "")
        if c in ("b", "B"):
            self.only_regex(f"\\{c}", start)
            self.at += 2
            return _word_edge(c == "b")
        if c and c in "123456789":
            self.only_regex("a back-reference", start)
            self.at += 2
            while self.peek().isascii() and self.peek().isdigit():
                self.at += 1
            return self.reference(f"(?:{self.text[start : self.at]})", flags, start)
        if c == "k" and self.peek(3) == "\\k<":
            self.only_regex("a back-reference", start)
            self.at += 3
            return self.reference(f"(?P={self.name('>', start)})", flags, start)
        found = self.escaped(flags, in_class=False)
        return Chars(self.folded(of(found), flags) if isinstance(found, int) else found)

    def escaped(self, flags: Flags, in_class: bool) -> int | UnitSet:
        """A code point, or the set of a class escape; what may stand in a class and outside."""
        start = self.at
        c = self.peek(2)[1:]
        self.at += 2
        if not c:
            self.fail("a backslash at the end", start)
        if c in "sSdDwW":
            units = white_space() if c in "sS" else digit() if c in "dD" else word()
            self.seen("class escape", start, flags, in_class)
            return units if c.islower() else complement(units)
        if c in "pP":
            return self.property(c == "P", flags, start)
        if c in _ESCAPES:
            value = _ESCAPES[c]
        elif c in _HEX_DIGITS:
            value = self.code_point(_HEX_DIGITS[c], start)
        elif c.isalnum():
            remedy = {"Z": "write \\z for the end of the text", "0": "write \\x00"}.get(c, "")
            self.unsupported(f"\\{c}", start, remedy)
        else:
            value = ord(c)
        self.seen("literal in a class" if in_class else "literal", start, flags, value)
        return value

    def code_point(self, digits: int, start: int) -> int:
        if self.take("{"):
            end = self.text.find("}", self.at)
            number, self.at = self.text[self.at : max(end, self.at)], end + 1
        else:
            number = self.peek(digits)
            self.at += digits
            if len(number) < digits:
                number = ""
        if not number or len(number) > 8 or not all(c in "0123456789abcdefABCDEF" for c in number):
            self.fail("hexadecimal digits are missing", start)
        value = int(number, 16)
        if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            self.fail(f"{number} is not the code point of a character", start)
        return value

    def property(self, negated: bool, flags: Flags, start: int) -> UnitSet:
        if self.take("{"):
            end = self.text.find("}", self.at)
            if end < 0:
                self.fail("this property is not closed", start)
            name, self.at = self.text[self.at : end], end + 1
        else:
            name = self.peek()
            self.at += 1
        positive = name.removeprefix("^")
        units = named_property(positive)
        if units is None:
            self.fail(f"no general category and no script is called {positive!r}", start)
        negated = negated != (positive != name)
        self.seen("property", start, flags, (positive, negated))
        units = self.folded(units, flags)
        return complement(units) if negated else units

    def bracket(self, flags: Flags) -> UnitSet:
        start = self.at
        self.at += 1
        negated = self.take("^")
        sets: list[UnitSet] = []
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self.peek() != "]":
            if not self.peek():
                self.fail("this class is not closed", start)
            first = False
            offset = self.at
            low = self.class_item(flags)
            if self.peek() == "-" and self.peek(2) not in ("-]", "-", "--"):
                self.at += 1
                high = self.class_item(flags)
                if isinstance(low, UnitSet) or isinstance(high, UnitSet):
                    self.fail("a class cannot be the end of a range; for the character itself write \\-", offset)
                if low > high:
                    self.fail("this range runs backwards", offset)
                ranges.append((low, high))
            elif isinstance(low, UnitSet):
                sets.append(low)
            else:
                ranges.append((low, low))
        self.at += 1
        self.seen("class", start, flags, negated)
        units = self.folded(union(from_ranges(ranges), *sets), flags)
        return complement(units) if negated else units

    def class_item(self, flags: Flags) -> int | UnitSet:
        start = self.at
        c = self.peek()
        if c == "\\":
            return self.escaped(flags, in_class=True)
        if c == "[":
            kind = "a POSIX class" if self.peek(2) in ("[:", "[=", "[.") else "a class inside a class"
            self.unsupported(kind, start, "for the character itself write \\[")
        if self.peek(2) in ("&&", "||", "--", "~~"):
            self.unsupported(f"the class operation {c}{c}", start, f"for the characters themselves write \\{c}\\{c}")
        self.at += 1
        self.seen("literal in a class", start, flags, ord(c))
        return ord(c)


def _first_seen(node: "Node | Foreign") -> tuple[UnitSet, bool] | None:
    """What decides whether the node matches here, when the next unit does: the units, and whether the end does."""
    if isinstance(node, Chars):
        return node.units, False
    if isinstance(node, Look):
        return node.units, node.at_end
    if isinstance(node, Repeat) and node.min == 0:
        return ALL, True
    if isinstance(node, Repeat) and node.min == 1 and isinstance(node.item, Chars):
        return node.item.units, False
    if isinstance(node, Seq) and not node.items:
        return ALL, True
    if isinstance(node, Alt):
        seen = [_first_seen(item) for item in node.items]
        known = [one for one in seen if one is not None]
        if len(known) == len(seen):
            return union(*(units for units, _ in known)), any(at_end for _, at_end in known)
    return None


def _foreign(before: str, item: Node, after: str) -> Node:
    # Foreign stays out of Node, so that who takes what parse() gives need not think of it
    return cast(Node, Foreign(before, item, after))


def _takes_nothing(item: object) -> bool:
    return isinstance(item, Foreign) and item.before.startswith(("(?=", "(?!", "(?<=", "(?<!", "\\A"))


def _word_edge(edge: bool) -> Node:
    units = word()
    before = _foreign("(?<=", Chars(units), ")")
    not_before = _foreign("(?<!", Chars(units), ")")
    on, off = Look(units, at_end=False), Look(complement(units), at_end=True)
    first, second = (off, on) if edge else (on, off)
    return Alt((Seq((before, first)), Seq((not_before, second))))


def _units(node: "Node | Foreign") -> int:
    match node:
        case Seq(items) | Alt(items):
            return sum(map(_units, items))
        case Repeat(item, least, most, _):
            return _units(item) * max(least if most is None else most, 1)
        case Atomic(item) | Foreign(_, item, _):
            return _units(item)
        case _:
            return 1
