"""Splits with the ``regex`` module, for patterns that do not compile to an automaton.

The module never sees a character. The text becomes a string of class symbols, one per unit, where two units share a
symbol when every set in the pattern treats them alike, and the pattern is written anew over those symbols. So no result
depends on the Unicode version of ``regex`` or on its own reading of flags, an invalid byte needs no rule, and sets of
hundreds of ranges, which ``regex`` walks one by one, cost as little as small ones. Only a back-reference must tell
the units of a class apart; its patterns get the text itself and sets as ranges.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np
import regex
from numpy.typing import NDArray

from ..errors import PatternError, check_choice
from ..threads import check_stopped
from .ast import INVALID, Alt, Atomic, Chars, Look, Node, Repeat, Seq, UnitSet
from .parser import Foreign, parse_foreign
from .partition import partition
from .unitset import complement

Data = bytes | bytearray | memoryview | NDArray[np.uint8]

_PIECE = 1 << 20
_ESCAPED_BYTES = (0xDC80, 0xDCFF)  # what surrogateescape makes of invalid bytes
_SURROGATES = (0xD800, 0xDFFF)
_SAMPLE_LIMIT = 40
_LOOK_EVERY = 1 << 12


class RegexEngine:
    """A pattern run by ``regex``, over bytes.

    Raises Unsupported or PatternError when the pattern cannot be read or ``regex`` cannot run it, PatternError when a
    short text is found that it leaves unmatched (unless ``unmatched="isolate"``) or matches without taking a character.
    """

    def __init__(self, pattern: str, unmatched: str = "refuse") -> None:
        check_choice("unmatched", unmatched, ("refuse", "isolate"))
        self.pattern = pattern
        self.unmatched = unmatched
        node = parse_foreign(pattern)
        exact = any(isinstance(part, Foreign) and _is_reference(part) for part in _walk(node))
        self._alphabet = _Characters(node) if exact else _Classes(node)
        try:
            self._compiled = regex.compile(_spelled(node, self._alphabet), regex.VERSION0)
        except regex.error as error:
            raise PatternError(f"pattern: the regex module cannot run {pattern!r}: {error.msg}") from None
        for sample in self._alphabet.samples():
            self.ends(sample)

    def ends(self, data: Data) -> np.ndarray:
        """The end of each chunk of the data, in bytes: int64, ascending, the last one len(data).

        Raises PatternError, with the place and an excerpt, for text that the pattern leaves unmatched (unless
        ``unmatched="isolate"``, where each maximal stretch is a chunk) and for an empty match.
        """
        view = memoryview(cast(bytes, data)).cast("B")
        symbols, widths = self._alphabet.translate(view)
        found = []
        at = 0
        for number, match in enumerate(self._compiled.finditer(symbols)):
            if number % _LOOK_EVERY == 0:
                check_stopped()
            start, end = match.span()
            if start != at:
                self._leave(view, widths, at, start)
                found.append(start)
                at = start
            if end == at:
                if at == len(symbols):
                    break
                self._refuse(view, widths, at, "matches without taking a character")
            found.append(end)
            at = end
        if at < len(symbols):
            self._leave(view, widths, at, len(symbols))
            found.append(len(symbols))
        if not found:
            return np.zeros(0, np.int64)
        starts = np.array([0, *found[:-1]], np.int64)
        return np.cumsum(np.add.reduceat(widths, starts, dtype=np.int64))

    def _leave(self, data: memoryview, widths: np.ndarray, start: int, stop: int) -> None:
        if self.unmatched == "refuse":
            self._refuse(data, widths, start, "leaves text unmatched (unmatched='isolate' makes each stretch a chunk)")

    def _refuse(self, data: memoryview, widths: np.ndarray, unit: int, what: str) -> None:
        offset = int(widths[:unit].sum(dtype=np.int64))
        excerpt = bytes(data[offset : offset + 40]).decode("utf-8", "backslashreplace")[:20]
        raise PatternError(f"pattern {self.pattern!r} {what}: {excerpt!r} at byte {offset}")


class _Classes:
    """The text as one symbol per unit, for patterns that see only sets."""

    def __init__(self, node: Node | Foreign) -> None:
        self.parts = partition(_sets(node))
        kind = np.uint8 if self.parts.n_classes <= 256 else np.uint16
        self.encoding = "latin-1" if kind is np.uint8 else "utf-16-le"
        self.table = np.repeat(self.parts.labels.astype(kind), np.diff(self.parts.edges, append=INVALID + 1))
        self.table[_ESCAPED_BYTES[0] : _ESCAPED_BYTES[1] + 1] = self.table[INVALID]

    def ranges(self, units: UnitSet) -> list[tuple[int, int]]:
        mask = self.parts.masks[units]
        return [(c, c) for c in range(self.parts.n_classes) if mask >> c & 1]

    def translate(self, data: memoryview) -> tuple[str, np.ndarray]:
        """The symbols, and the width of each in bytes (uint8)."""
        symbols, widths = [], []
        for text in _pieces(data):
            codes = _code_points(text)
            symbols.append(self.table[codes].tobytes().decode(self.encoding))
            widths.append(_widths(codes))
        return "".join(symbols), np.concatenate(widths) if widths else np.zeros(0, np.uint8)

    def samples(self) -> Iterator[bytes]:
        """Short texts in which every class follows every other, or at least stands alone."""
        texts = self.parts.samples()
        yield from texts
        if len(texts) <= _SAMPLE_LIMIT:
            yield from (a + b for a in texts for b in texts)


class _Characters(_Classes):
    """The text itself, an invalid byte as the lone surrogate that stands for it."""

    def ranges(self, units: UnitSet) -> list[tuple[int, int]]:
        found = []
        for first, last in units.ranges:
            for low, high in ((first, min(last, _SURROGATES[0] - 1)), (max(first, _SURROGATES[1] + 1), last)):
                if low <= min(high, INVALID - 1):
                    found.append((low, min(high, INVALID - 1)))
            if last == INVALID:
                found.append(_ESCAPED_BYTES)
        return found

    def translate(self, data: memoryview) -> tuple[str, np.ndarray]:
        texts = list(_pieces(data))
        widths = [_widths(_code_points(text)) for text in texts]
        return "".join(texts), np.concatenate(widths) if widths else np.zeros(0, np.uint8)


def _pieces(data: memoryview) -> Iterator[str]:
    """The data as text, a piece at a time, so that four bytes per character are never held for all of it.

    A piece ends before a byte that begins a character; four continuation bytes in a row hold no such place, but the
    last of them belongs to no character either.
    """
    at = 0
    while at < len(data):
        end = min(at + _PIECE, len(data))
        if end < len(data):
            end = next((p for p in range(end, end - 4, -1) if data[p] & 0xC0 != 0x80), end)
        yield str(data[at:end], "utf-8", "surrogateescape")
        at = end


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _widths(codes: np.ndarray) -> np.ndarray:
    widths = (codes >= 0x80).astype(np.uint8)
    widths += codes >= 0x800
    widths += codes >= 0x10000
    widths[(codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1])] = 0
    return widths + np.uint8(1)


def _walk(node: Node | Foreign) -> Iterator[Node | Foreign]:
    yield node
    if isinstance(node, Seq | Alt):
        for item in node.items:
            yield from _walk(item)
    elif isinstance(node, Repeat | Atomic | Foreign):
        yield from _walk(node.item)


def _sets(node: Node | Foreign) -> Iterator[UnitSet]:
    for part in _walk(node):
        if isinstance(part, Chars):
            yield part.units
        elif isinstance(part, Look):
            yield complement(part.units) if part.at_end else part.units


def _is_reference(node: Foreign) -> bool:
    return node.before.startswith(("(?P=", "(?:\\"))


def _spelled(node: Node | Foreign, alphabet: _Classes) -> str:
    """The node in the syntax of ``regex``, over the alphabet's symbols."""
    if isinstance(node, Chars):
        return _class(node.units, alphabet)
    if isinstance(node, Look):
        if node.at_end:
            return f"(?!{_class(complement(node.units), alphabet)})"
        return f"(?={_class(node.units, alphabet)})"
    if isinstance(node, Seq):
        return "".join(_spelled(item, alphabet) for item in node.items)
    if isinstance(node, Alt):
        return f"(?:{'|'.join(_spelled(item, alphabet) for item in node.items)})"
    if isinstance(node, Atomic):
        return f"(?>{_spelled(node.item, alphabet)})"
    if isinstance(node, Repeat):
        most = "" if node.max is None else node.max
        mode = {"greedy": "", "lazy": "?", "possessive": "+"}[node.mode]
        return f"(?:{_spelled(node.item, alphabet)}){{{node.min},{most}}}{mode}"
    return node.before + _spelled(node.item, alphabet) + node.after


def _class(units: UnitSet, alphabet: _Classes) -> str:
    ranges = alphabet.ranges(units)
    spelled = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    return f"[{spelled}]" if ranges else "(?!)"
