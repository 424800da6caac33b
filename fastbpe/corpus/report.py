"""What is told of a source: what was read, what was passed over, and which records were bad."""

from dataclasses import dataclass, field

from fastbpe.corpus.walk import printable
from fastbpe.errors import DataError, check_choice

ON_ERROR = ("report", "stop")
LISTED = 1000
"""Examples that a report lists; counts have no limit. Memory must not grow with what is bad in a corpus."""

FILTERED = "left out by where"


class Damaged(DataError):
    """A file that is cut short or damaged. What was whole before the damage has been given already."""


def check_on_error(on_error: str) -> str:
    """`on_error` when it is one of ON_ERROR; ParameterError otherwise."""
    check_choice("on_error", on_error, ON_ERROR)
    return on_error


@dataclass
class SourceReport:
    """What was read of one source (one pattern, or one iterable), and what was not and why.

    `skipped` counts by reason what was passed over on purpose (hidden files, rows that a filter leaves out) and bad
    records; `rejected` says how many of them were bad. `skipped_examples` lists bad records first. `damaged`: files
    that end before their end, with the reason. `boms`: files that begin with a UTF-8 byte order mark.
    """

    name: str
    files: int = 0
    documents: int = 0
    bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    skipped_examples: list[tuple[str, str]] = field(default_factory=list)
    rejected: int = 0
    damaged: list[tuple[str, str]] = field(default_factory=list)
    boms: int = 0
    documents_per_file: list[int] | None = None
    on_error: str = "report"

    def skip(self, what: str, why: str) -> None:
        """Passes over what is no record of the corpus, or not wanted."""
        self.skipped[why] = self.skipped.get(why, 0) + 1
        if len(self.skipped_examples) < LISTED:
            self.skipped_examples.append((printable(what), why))

    def filtered(self, n: int) -> None:
        """Passes over `n` records that a filter leaves out."""
        if n:
            self.skipped[FILTERED] = self.skipped.get(FILTERED, 0) + n

    def reject(self, where: str, why: str, advice: str = "") -> None:
        """Skips a bad record. Raises DataError when the first one is to stop the reading."""
        if self.on_error == "stop":
            raise DataError(f"{printable(where)}: {why}" + (f"; {advice}" if advice else ""))
        self.skipped[why] = self.skipped.get(why, 0) + 1
        self.skipped_examples.insert(self.rejected, (printable(where), why))
        del self.skipped_examples[LISTED:]
        self.rejected += 1

    def damage(self, error: Damaged, where: str) -> None:
        """Notes a file that is not whole. Raises the error when it is to stop the reading."""
        if self.on_error == "stop":
            raise error
        self.damaged.append((printable(where), str(error).removeprefix(f"{where}: ")))
