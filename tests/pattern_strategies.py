"""Random split patterns and nasty texts, and what the ``regex`` module makes of them: the judge of every splitter.

Patterns come from the grammar that the parser reads, restricted to what ``regex`` spells and reads the same way (but
for ``$``, which for_regex() rewrites). Texts come from characters that have had their properties for many Unicode
versions, so that it does not matter which one the installed ``regex`` has; invalid bytes are mixed in by raw_text().

Everything is made from a random.Random, so the same generator serves hypothesis (which shrinks what it draws) and long
runs of plain seeds, which are many times faster.
"""

from collections.abc import Callable
from random import Random
from typing import TypeVar

import regex
from hypothesis import strategies as st

SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
LETTERS = "abkKsStTdDlLzZ\u017f\u212aéßẞªΣσςДжǅʰאبتदක你好あア한글𝒜𐐀𐐨"
MARKS = "\u0301\u0308\u093e\u20dd\ufe0f\u064b"
NUMBERS = "0129٣४²½Ⅷ〇𝟙"
OTHERS = "'\"_-+/.,!?，。！？；€$^~\u200b\u200d\u2060👍👩🏽🇩🇪\x00\x7f\ue000\ufffd\uffff"
ALPHABET = SPACES + LETTERS + MARKS + NUMBERS + OTHERS

INVALID = [b"\x80", b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x91", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]

# Without Lt: under (?i) regex takes it for every cased letter.
PROPERTIES = [
    "L",
    "N",
    "M",
    "P",
    "S",
    "Z",
    "Lu",
    "Ll",
    "Lm",
    "Lo",
    "Nd",
    "Nl",
    "No",
    "Mn",
    "Zs",
    "Po",
    "Han",
    "Latin",
    "Hiragana",
    "Arabic",
    "Script=Cyrillic",
]
RANGES = ["a-z", "A-Z", "0-9", "一-龥", "\\x00-\\x1f", "\\u3040-\\u30ff", "k-t"]
LAST_BRANCHES = [r"|[\s\S]", r"|\s+(?!\S)|\s+|\S", r"|\s|\S+?", r"|\s++$|\s|[^\s\p{L}]+|\p{L}"]
_ESCAPED = r"\.[](){}|?*+^$-&~#/"

T = TypeVar("T")


def escape(c: str) -> str:
    if c in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[c]
    return "\\" + c if c in _ESCAPED else c


def literal(rng: Random) -> str:
    return escape(rng.choice("abksTd' 1é你ſ\n\u3000.?+$^-"))


def class_escape(rng: Random) -> str:
    if rng.random() < 0.5:
        return "\\" + rng.choice("sSdDwWs")
    return f"\\{rng.choice('ppP')}{{{rng.choice(PROPERTIES)}}}"


def bracket(rng: Random) -> str:
    items, escapes = [], {}
    for _ in range(rng.randint(1, 4)):
        kind = rng.randint(0, 2)
        item = literal(rng) if kind == 0 else class_escape(rng) if kind == 1 else rng.choice(RANGES)
        # regex takes [^\s\S], which is empty, for everything: a class holds no escape together with its opposite
        if kind != 1 or escapes.setdefault(item.lower().replace("p{nd}", "d"), item) == item:
            items.append(item)
    return f"[{rng.choice(['', '^'])}{''.join(items)}]"


def one_unit(rng: Random) -> str:
    return rng.choice([literal, literal, class_escape, class_escape, bracket, bracket, lambda _: "."])(rng)


def look(rng: Random) -> str:
    if rng.random() < 0.3:
        return "$"
    return f"(?{rng.choice('!!=')}{one_unit(rng) if rng.random() < 0.8 else '$'})"


def repetition(rng: Random, counts: tuple[str, ...] = ("?", "*", "+", "+", "{2}", "{1,3}", "{2,}", "{0,2}")) -> str:
    return rng.choice(counts) + rng.choice(["", "", "", "?", "+"])


def consuming(rng: Random) -> str:
    """A piece that cannot match the empty text."""
    return one_unit(rng) + (repetition(rng, ("+", "+", "{2}", "{1,3}", "{2,}")) if rng.random() < 0.5 else "")


def piece(rng: Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.3:
        return one_unit(rng)
    if kind < 0.6:
        return one_unit(rng) + repetition(rng)
    if kind < 0.7 or depth == 0:
        return look(rng)
    inside = "|".join(branch(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    group = f"({rng.choice(['?:', '?:', '?i:', '?s:', '?>', ''])}{inside})"
    return group + (repetition(rng) if rng.random() < 0.5 else "")


def branch(rng: Random, depth: int) -> str:
    pieces = [piece(rng, depth) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.9:
        pieces.insert(rng.randint(0, len(pieces)), consuming(rng))
    return "".join(pieces)


def any_pattern(rng: Random) -> str:
    """A pattern of any kind; many leave text unmatched, some can match the empty text."""
    flags = rng.choice(["", "", "", "(?i)", "(?s)"])
    return flags + "|".join(branch(rng, 2) for _ in range(rng.randint(1, 4)))


def whole_pattern(rng: Random) -> str:
    """A pattern that leaves nothing unmatched: any pattern, then one of the usual last branches."""
    return any_pattern(rng) + rng.choice(LAST_BRANCHES)


def text(rng: Random, runs: int = 12) -> str:
    """A text of runs, a character of one kind or another repeated."""
    kinds = (SPACES, SPACES, LETTERS, LETTERS, MARKS, NUMBERS, OTHERS, "ab '\n", "sStT'ſ", "  \n\r")
    return "".join(rng.choice(rng.choice(kinds)) * rng.choice([1, 1, 1, 2, 3, 5]) for _ in range(rng.randint(0, runs)))


def raw_text(rng: Random, runs: int = 12) -> bytes:
    """A byte string: half of them valid texts, half with invalid and cut-off sequences between."""
    if rng.random() < 0.5:
        return text(rng, runs).encode()
    parts = [rng.choice(INVALID) if rng.random() < 0.4 else text(rng, 3).encode() for _ in range(rng.randint(0, 6))]
    return b"".join(parts)


def _drawn(make: Callable[..., T], *options: int) -> st.SearchStrategy[T]:
    return st.randoms(use_true_random=False).map(lambda rng: make(rng, *options))


def any_patterns() -> st.SearchStrategy[str]:
    return _drawn(any_pattern)


def whole_patterns() -> st.SearchStrategy[str]:
    return _drawn(whole_pattern)


def texts(runs: int = 12) -> st.SearchStrategy[str]:
    return _drawn(text, runs)


def raw_texts(runs: int = 12) -> st.SearchStrategy[bytes]:
    return _drawn(raw_text, runs)


def for_regex(pattern: str) -> str:
    """The pattern as ``regex`` must spell it: its own ``$`` also stands before a last line end."""
    out, i, in_class = [], 0, False
    while i < len(pattern):
        step = 2 if pattern[i] == "\\" else 1
        part = pattern[i : i + step]
        if part == "[":
            in_class = True
        elif part == "]":
            in_class = False
        out.append(r"\Z" if part == "$" and not in_class else part)
        i += step
    return "".join(out)


def expected(pattern: str, data: bytes, timeout: float = 1.0) -> tuple[str, list[int]]:
    """What ``regex`` finds: ("ok", chunk ends in bytes), ("unmatched", ends before the first byte left out) or
    ("empty", ends before the first empty match). Invalid bytes are lone surrogates to it, in no class used here.

    Raises TimeoutError when it backtracks too long.
    """
    text = data.decode("utf-8", "surrogateescape")
    ends: list[int] = []
    at = position = 0
    for match in regex.finditer(for_regex(pattern), text, timeout=timeout):
        if at == len(text):
            break
        if match.start() != at:
            return "unmatched", ends
        if match.end() == at:
            return "empty", ends
        position += len(match[0].encode("utf-8", "surrogateescape"))
        at = match.end()
        ends.append(position)
    return ("ok" if at == len(text) else "unmatched"), ends


def isolated(pattern: str, data: bytes) -> list[int]:
    """The lengths of the chunks by ``regex`` when each maximal stretch that it leaves unmatched is a chunk."""
    text = data.decode("utf-8", "surrogateescape")
    places = [0]
    for match in regex.finditer(for_regex(pattern), text):
        places += [match.start(), match.end()]
    places.append(len(text))
    pieces = [text[a:b] for a, b in zip(places, places[1:], strict=False)]
    return [len(piece.encode("utf-8", "surrogateescape")) for piece in pieces if piece]
