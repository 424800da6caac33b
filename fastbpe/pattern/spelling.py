"""How a pattern must be spelled for another engine to read it as this package does, or why it cannot be.

A spelling is the pattern's own text with the places changed that the engine reads differently, so a published pattern
that an engine reads alike comes out unchanged. Engines: Oniguruma (Hugging Face tokenizers) and Rust's fancy-regex
(tiktoken), both on Unicode 16. Why each change keeps the meaning stands beside it.
"""

from typing import NamedTuple

from .ast import Alt, Atomic, Look, Node, Repeat, Seq, UnitSet
from .parser import Flags, Parser, Unsupported
from .properties import _LONG_NAMES, category, fold, named_property
from .unitset import from_ranges, intersection

_META = r"\.+*?()|[]{}^$-&~"
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_BINARY = {
    "whitespace": "White_Space", "wspace": "White_Space", "space": "White_Space", "alphabetic": "Alphabetic",
    "alpha": "Alphabetic", "any": "Any", "ascii": "ASCII", "assigned": "Assigned",
}  # fmt: skip
_SCALARS = from_ranges([(0, 0xD7FF), (0xE000, 0x10FFFF)])
# Sequences that Oniguruma under (?i) also takes for one character (ß, the ligatures ff, fi, fl, st).
_SEQUENCES = ("ss", "ff", "fi", "fl", "st")


class Spelling(NamedTuple):
    """The pattern for the other engine, or None and the reason why there is none."""

    text: str | None
    reason: str = ""


def oniguruma(pattern: str) -> Spelling:
    """The pattern for Oniguruma. Raises PatternError when the pattern itself cannot be read."""
    return _spell(pattern, _ForOniguruma)


def fancy_regex(pattern: str) -> Spelling:
    """The pattern for Rust's fancy-regex. Raises PatternError when the pattern itself cannot be read."""
    return _spell(pattern, _ForFancyRegex)


class _NoSpelling(Exception):
    pass


class _ForFancyRegex(Parser):
    """Collects the changes while it reads."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern, foreign=False)
        self.changes: list[tuple[int, int, str]] = []

    def spelled(self) -> str:
        if _may_be_empty(self.run()):
            # harmless here, where a match never starts at the end of the text; tiktoken panics on it
            raise _NoSpelling("it can match without taking a character")
        out, at = [], 0
        for start, stop, text in sorted(self.changes, key=lambda change: change[:2]):
            out += [self.text[at:start], text]
            at = stop
        return "".join([*out, self.text[at:]])

    def change(self, start: int, text: str, stop: int | None = None) -> None:
        stop = self.at if stop is None else stop
        if self.text[start:stop] != text:
            self.changes.append((start, stop, text))

    def seen(self, kind: str, start: int, flags: Flags, value: object = None) -> None:
        if kind in ("literal", "literal in a class"):
            assert isinstance(value, int)
            self.literal(value, start, flags)
        elif kind == "property":
            assert isinstance(value, tuple)
            self.change(start, f"\\{'P' if value[1] else 'p'}{{{self.name_of(value[0])}}}")
        elif kind == "name":
            self.change(start, "(?:")  # names may clash or look different; nothing refers to them
        elif kind == "repetition":
            assert isinstance(value, tuple)
            self.repeated(start, *value)

    def literal(self, value: int, start: int, flags: Flags) -> None:
        """Escapes that the engines know differently or not at all become the character or its number."""
        c = chr(value)
        if c in _META:
            if self.text[start] == "\\" or c in "-]}":  # a bare one may be read as a range or a class's end
                self.change(start, "\\" + c)
        elif self.text[start] == "\\" and self.text[start + 1] not in "rntf":
            if self.text[start + 1] == "x" and self.text[start + 2] != "{" and value < 0x80:
                return  # from 0x80 on Oniguruma reads \xHH as a byte
            self.change(start, c if c.isprintable() else f"\\x{{{value:X}}}")

    def repeated(self, start: int, counts: int, repeat: Repeat) -> None:
        if _has_bare_look(repeat.item):
            raise _NoSpelling("it repeats something that takes no text")
        if repeat.max != 1 and _may_be_empty(repeat.item):
            raise _NoSpelling("it repeats what may be empty, and engines stop at an empty round differently")
        if self.text[counts] != "{":
            return
        if repeat.min == repeat.max and repeat.mode == "lazy":
            # lazy or not, a fixed count takes the same; Oniguruma would read the ? as "or not at all"
            self.change(counts, f"{{{repeat.min}}}")
        elif self.text[counts + 1] == ",":
            self.change(counts, f"{{0,{repeat.max}}}", counts + self.text[counts:].index("}") + 1)

    def name_of(self, name: str) -> str:
        key, equals, value = "".join(c for c in name.lower() if c not in " _-").partition("=")
        if key == "age":
            return f"Age={value}"
        given = name.rpartition("=")[2].strip()
        if not equals or key in ("gc", "generalcategory", "category"):
            plain = value if equals else key
            short = _LONG_NAMES.get(plain, plain)
            if category(short) is not None:
                return {"l&": "LC", "lc": "LC"}.get(short, short.capitalize())
            return _BINARY.get(plain, given)
        return given


class _ForOniguruma(_ForFancyRegex):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.folded_before = (-1, "")

    def seen(self, kind: str, start: int, flags: Flags, value: object = None) -> None:
        if kind == "end":
            # its $ stands before every line end, flag or not
            self.change(start, r"(?=\n|\z)" if flags.m else r"\z")
        elif kind == "dot" and flags.s:
            self.change(start, r"[\s\S]")
        elif kind == "flags":
            # (?m) is its "dot takes all" and (?s) it does not know; both are gone with the two changes above
            on = "i" if flags.i else "-i" if "i" in self.text[start : self.at] else ""
            self.change(start, f"(?{on}{self.text[self.at - 1]}" if on or self.text[self.at - 1] == ":" else "")
        elif kind == "class escape" and self.text[start + 1] in "wW":
            # its \w holds all numbers and not the join controls
            negated = self.text[start + 1] == "W"
            self.change(start, _WORD if value and not negated else f"[{'^' if negated else ''}{_WORD}]")
        elif kind == "class" and value and flags.i:
            raise _NoSpelling("it has a negated class under (?i), which Oniguruma may fold otherwise")
        elif kind == "property":
            assert isinstance(value, tuple)
            units = named_property(value[0])
            if flags.i and (units is None or fold(units) != units):
                raise _NoSpelling(f"it has \\p{{{value[0]}}} under (?i), which Oniguruma does not fold")
            if units is not None and self.name_of(value[0]).startswith("Age="):
                self.change(start, f"[{'^' if value[1] else ''}{_ranges(units)}]")  # it knows no ages
                return
        super().seen(kind, start, flags, value)

    def literal(self, value: int, start: int, flags: Flags) -> None:
        if flags.i:
            c = chr(value).lower()
            if not c.isascii():
                raise _NoSpelling(f"{c!r} stands under (?i), where Oniguruma may also take sequences of characters")
            end, before = self.folded_before
            if before + c in _SEQUENCES and not self.text[end:start].strip("[]"):
                raise _NoSpelling(f"under (?i) Oniguruma also takes one character for {before + c!r}")
            self.folded_before = (self.at, c)
        super().literal(value, start, flags)

    def repeated(self, start: int, counts: int, repeat: Repeat) -> None:
        super().repeated(start, counts, repeat)
        if self.text[counts] == "{" and repeat.mode == "possessive":
            # it would read {m,n}+ as "one or more times {m,n}"; possessive is by definition atomic
            self.changes.append((start, start, "(?>"))
            self.changes.append((self.at - 1, self.at, ")"))


def _ranges(units: UnitSet) -> str:
    """A class's inside that holds the characters of the set."""
    return "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in intersection(units, _SCALARS).ranges)


def _may_be_empty(node: Node) -> bool:
    """Whether the node can match the empty text, as far as its shape tells."""
    if isinstance(node, Seq):
        return all(_may_be_empty(item) for item in node.items)
    if isinstance(node, Alt):
        return any(_may_be_empty(item) for item in node.items)
    if isinstance(node, Repeat):
        return node.min == 0 or _may_be_empty(node.item)
    if isinstance(node, Atomic):
        return _may_be_empty(node.item)
    return isinstance(node, Look)


def _has_bare_look(node: Node) -> bool:
    """Whether nothing but a look-around may stand for the node, which Oniguruma refuses to repeat."""
    if isinstance(node, Alt):
        return any(_has_bare_look(item) for item in node.items)
    if isinstance(node, Seq):
        return all(isinstance(item, Look) or _has_bare_look(item) for item in node.items)
    if isinstance(node, Atomic | Repeat):
        return _has_bare_look(node.item)
    return isinstance(node, Look)


def _spell(pattern: str, engine: type[_ForFancyRegex]) -> Spelling:
    try:
        return Spelling(engine(pattern).spelled())
    except _NoSpelling as why:
        return Spelling(None, str(why))
    except Unsupported as error:
        return Spelling(None, f"it has {error.construct}, whose reading differs between engines")
