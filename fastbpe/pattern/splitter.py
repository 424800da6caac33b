"""Splitter: a pattern made ready to cut texts into chunks."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PatternError, check_choice
from ..kernels.spans import check_spans
from ..kernels.split import SplitTable, split_ends, split_last_cut
from ..text import utf8
from .automaton import Automaton, compile_pattern
from .courses import course_table
from .named import resolve
from .parser import Unsupported, parse
from .program import NotCompilable
from .tables import kernel_tables

if TYPE_CHECKING:
    from .regex_engine import RegexEngine

UNMATCHED = ("refuse", "isolate")


class Splitter:
    """Cuts text into chunks as first-match alternation does, on Unicode 16 whatever engine runs.

    pattern: a named pattern, the text of a regular expression, or None or "none" for one chunk per text; or several in
    a row, each of which splits the chunks of the one before as if each were a whole text.
    unmatched: "refuse" raises PatternError for a pattern that can leave text unmatched, with the shortest such text;
    "isolate" makes each maximal unmatched stretch a chunk, as it always is for several patterns in a row.

    .pattern: the text of the pattern, a tuple of them, or None; .name: its name, or None; .table: the automaton for
    kernels, or None; .note: why the slower engine runs, or None.
    """

    def __init__(self, pattern: str | Sequence[str] | None = "cl100k", unmatched: str = "refuse") -> None:
        check_choice("unmatched", unmatched, UNMATCHED)
        self.unmatched = unmatched
        self.name: str | None
        self.pattern: Any  # str, tuple of str, or None
        self.name, self.pattern = resolve(pattern)
        self.note: str | None = None
        self.table: SplitTable | None = None
        self._regex: RegexEngine | None = None
        if isinstance(self.pattern, tuple):
            self.table = _in_a_row(self.pattern)
            return
        if self.pattern is not None:
            compiled = _compiled(self.pattern, unmatched)
            if isinstance(compiled, SplitTable):
                self.table = compiled
            else:
                self._regex, self.note = compiled

    @property
    def engine(self) -> str:
        """What finds the chunks: "dfa" (kernels, by .table), "regex" (.span_ends) or "none" (nothing to find)."""
        return "regex" if self._regex is not None else "none" if self.table is None else "dfa"

    def split(self, text: str) -> list[str]:
        """The chunks of a text. Lone surrogates become U+FFFD."""
        data = utf8(text)
        ends = self.ends(data).tolist()
        return [data[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]

    def ends(self, data: bytes | NDArray[np.uint8]) -> NDArray[np.int64]:
        """The end of each chunk of one text, in bytes (int64, ascending)."""
        if self._regex is not None:
            return self._regex.ends(data)
        return split_ends(data, None, self.table)

    def span_ends(self, data: bytes | NDArray[np.uint8], spans: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The ends of the chunks of all text spans for kernels that cannot find them, or None when they can."""
        if self._regex is None:
            return None
        view = memoryview(data)  # type: ignore[arg-type]
        found = [np.empty(0, np.int64)]
        for start, stop, text_end, special in check_spans(spans, len(view)).tolist():
            if special < 0:
                ends = self._regex.ends(view[start:text_end]) + start
                found.append(ends[ends <= stop])
        return np.concatenate(found)

    def last_cut(self, data: bytes | bytearray | NDArray[np.uint8], start: int, stop: int) -> int:
        """The last place in (start, stop) where a chunk is sure to end whatever came before `start`, or -1.

        It is proved from the automaton by data[start:stop] alone, from at most `cut_window` bytes on either side.
        """
        found = -1
        for table in self._cutting():
            found = max(found, split_last_cut(data, start, stop, table))
        return found

    @property
    def cut_window(self) -> int:
        """How many bytes before and behind a cut last_cut looks at, at most."""
        return max((4 * (table.cuts.ndim - 1) for table in self._cutting()), default=0)

    def _cutting(self) -> Iterator[SplitTable]:
        # Of several splits in a row: a place between two units that ends a chunk of a later split in any text does so
        # here, or an earlier split has ended one there. But the ends before it must not depend on what comes behind,
        # which they do where an earlier split hopes. Three units may belong to two chunks of an earlier split.
        table = self.table
        while table is not None and (table is self.table or table.cuts.ndim == 2):
            yield table
            table = None if table.hopeful else table.then


@lru_cache(maxsize=64)
def _compiled(text: str, unmatched: str) -> "SplitTable | tuple[RegexEngine, str]":
    try:
        automaton = compile_pattern(parse(text))
    except NotCompilable as obstacle:
        reason = str(obstacle)
    except Unsupported as obstacle:
        if not obstacle.by_regex:
            raise
        reason = obstacle.construct
    else:
        _check(automaton, unmatched)
        return _table(automaton)
    from .regex_engine import RegexEngine  # loads the regex module, which few patterns need

    note = f"the pattern runs in the regex module, tens of times slower and on one thread per document, for {reason}"
    return RegexEngine(text, unmatched), note


@lru_cache(maxsize=16)
def _in_a_row(texts: tuple[str, ...]) -> SplitTable | None:
    table = None
    for text in reversed(texts):
        try:
            automaton = compile_pattern(parse(text))
        except NotCompilable as obstacle:
            raise PatternError(f"of several patterns in a row, each must compile to an automaton: {obstacle}") from None
        _check(automaton, "isolate")
        table = _table(automaton, table)
    return table


def _table(automaton: Automaton, then: SplitTable | None = None) -> SplitTable:
    tables = kernel_tables(automaton)
    return SplitTable(*tables, then=then, courses=course_table(*tables[:2]))


def _check(automaton: Automaton, unmatched: str) -> None:
    if automaton.empty is not None:
        raise PatternError(f"the pattern can match the empty text, for example in {_shown(automaton.empty)}")
    if automaton.barren:
        raise PatternError("the pattern matches no text at all")
    if automaton.unmatched is not None and unmatched == "refuse":
        raise PatternError(
            f"the pattern leaves text unmatched, for example at the beginning of {_shown(automaton.unmatched)}; "
            "add a last branch for it, or ask for unmatched='isolate'"
        )


def _shown(text: bytes) -> str:
    try:
        return repr(text.decode())
    except UnicodeDecodeError:
        return repr(text)
