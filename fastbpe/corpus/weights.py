"""Weights of sources: how much each chunk of a source counts, exactly.

Weights are rational numbers. Counting is done in whole numbers: a chunk of weight w counts w times the common
denominator of all weights, which stays beside the counts.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from fastbpe.corpus.blocks import Block, Place
from fastbpe.corpus.walk import glob_regex, printable
from fastbpe.errors import ParameterError
from fastbpe.weight import LARGEST, Weight, as_weight

WeightsLike = Mapping[str, Weight] | Sequence[tuple[str, Weight]] | None

_ARCHIVES = (".tar", ".tgz", ".tar.")


class Weights:
    """The first glob that matches a source's name gives its weight; a source that none matches has 1.

    A glob means what it means as an input, from any directory on: `zh/*` matches `zh/a.txt`, `data/zh/a.txt` and all
    below a directory that it matches, as `data/zh/poems/b.txt`. Raises ParameterError for what is no weight.
    """

    def __init__(self, given: WeightsLike = None) -> None:
        pairs = list(given.items() if isinstance(given, Mapping) else given or ())
        self.weights = [(_checked_glob(glob), as_weight(weight, f" of {glob!r}")) for glob, weight in pairs]
        self.denominator = math.lcm(*(weight.denominator for _, weight in self.weights))
        if self.denominator >= LARGEST:
            raise ParameterError(f"the weights have no common denominator below {LARGEST:,}: round them")
        self._matches = [re.compile(_regex(glob), re.DOTALL) for glob, _ in self.weights]
        self.unmatched = set(range(len(self.weights)))
        """Numbers of the globs that have matched no name so far."""
        self._last = ("", self.denominator)

    def __bool__(self) -> bool:
        return bool(self.weights)

    def described(self) -> tuple[tuple[str, str], ...]:
        """(glob, weight) as texts that mean the same again."""
        return tuple((glob, str(weight)) for glob, weight in self.weights)

    def multiplier(self, name: str) -> int:
        """What a chunk of the source counts for: its weight times the denominator."""
        last = self._last  # other threads may put another in its place meanwhile
        if name != last[0]:
            self._last = last = (name, self._find(name))
        return last[1]

    def weight(self, name: str) -> Fraction:
        """What a chunk of the source counts for."""
        return Fraction(self.multiplier(name), self.denominator)

    def cut(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks, cut at the ends of documents so that no block has sources of different weights."""
        if not self.weights:
            yield from blocks
            return
        for block in blocks:
            runs = [list(run) for _, run in groupby(block.places, lambda place: self.multiplier(place.source))]
            for k, run in enumerate(runs):
                yield block if len(runs) == 1 else _part(block, run, runs[k + 1][0].first if k + 1 < len(runs) else -1)

    def expect(self, names: Iterable[str]) -> None:
        """Raises ParameterError when a glob matches none of these names, which are all that will be read."""
        names = list(names) if self.unmatched else []
        for name in names:
            self._find(name)
        if not any(mark in name for name in names for mark in _ARCHIVES):  # else their members have names, too
            self.check()

    def check(self) -> None:
        """Raises ParameterError when a glob has matched no name so far."""
        if self.unmatched:
            glob = self.weights[min(self.unmatched)][0]
            raise ParameterError(
                f"the weight of {glob!r} is that of no source: no name matches, or an earlier glob matches each; "
                "check the glob, or leave it out"
            )

    def _find(self, name: str) -> int:
        for k, match in enumerate(self._matches):
            if match.fullmatch(name):
                self.unmatched.discard(k)
                weight = self.weights[k][1]
                return weight.numerator * (self.denominator // weight.denominator)
        return self.denominator


def _checked_glob(glob: object) -> str:
    if not isinstance(glob, str) or not glob.strip("/"):
        raise ParameterError(f"weights are pairs of a glob and a number; {glob!r} is no glob")
    return printable(glob)


def _regex(glob: str) -> str:
    """`glob` from any directory on, and all below what it matches."""
    address = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", glob)
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    if address:
        rooted, parts = re.escape(address[0]), parts[1:]
    else:
        rooted = "/" if glob.startswith("/") else "(?:.*/)?"
    return f"{rooted}{glob_regex(parts)}(?:/.*)?"


def _part(block: Block, places: list[Place], next_first: int) -> Block:
    """The documents of a block in these places, which end with a document unless they are its last."""
    first = places[0].first
    start = int(block.ends[first - 1]) if first else 0
    stop = len(block.data) if next_first < 0 else int(block.ends[next_first - 1]) if next_first else 0
    ends = block.ends[first : next_first if next_first >= 0 else None] - start
    moved = [place._replace(first=place.first - first) for place in places]
    return Block(block.data[start:stop], ends, block.position + start, moved)
