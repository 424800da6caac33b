"""A tokenizer with what was counted of it, and what the figures share."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastbpe.report.usage import TextFigures, Usage
from fastbpe.report.vocabulary import Vocabulary
from fastbpe.tokenizer import Tokenizer


@dataclass
class Measured:
    """A tokenizer with one Usage for each text."""

    name: str
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    usages: list[Usage] = field(default_factory=list)
    joins: NDArray[np.int64] | None = None
    """(merges, texts): tokens that each merge saves; None where merges cannot be undone one by one."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64 (rows,): how often each token stands in all texts."""
        return np.sum([usage.counts for usage in self.usages], axis=0, dtype=np.int64)


@dataclass(frozen=True)
class Measurement:
    """All that was counted; the tokenizer that the report is about comes first."""

    tokenizers: list[Measured]
    texts: list[TextFigures]
    held_out: list[bool]

    @property
    def main(self) -> Measured:
        return self.tokenizers[0]

    def chosen(self, held_out: bool) -> list[int]:
        """Numbers of the texts that are held out, or not."""
        return [number for number, is_out in enumerate(self.held_out) if is_out == held_out]

    @property
    def everything(self) -> range:
        return range(len(self.texts))


def ratio(value: float, of: float) -> float | None:
    """value / of with six digits, which is all that is shown of it; None when there is nothing to divide by."""
    return float(f"{value / of:.6g}") if of else None


def total(figures: Sequence[TextFigures], numbers: Sequence[int], name: str) -> int:
    """The sum of a figure over some texts."""
    return sum(getattr(figures[number], name) for number in numbers)
