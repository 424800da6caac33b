"""The log of merges: one line for each, written as they are learned."""

from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from fastbpe.alphabet import to_characters
from fastbpe.atomic import os_errors_name
from fastbpe.weight import weighted

if TYPE_CHECKING:
    from fastbpe.merging import Merges


class MergeLog:
    """A tab-separated file: id, left, right, token (in GPT-2's byte alphabet), the pair's count, tokens left after it.

    base: the id of byte 0. Counts are weighted counts. The file is begun with the first merges, not before.
    """

    def __init__(self, path: Path, base: int) -> None:
        self._path, self._base = path, base
        self._file: TextIO | None = None
        self._tokens = [bytes([byte]) for byte in range(256)]

    def __call__(self, part: "Merges") -> None:
        """Writes merges, so that whoever reads the file sees them. OSError names the file."""
        with os_errors_name(self._path):
            self._write(part)

    def _write(self, part: "Merges") -> None:
        if self._file is None:
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
            self._file.write("id\tleft\tright\ttoken\tcount\ttokens_left\n")
        base = self._base
        rows = zip(part.pairs.tolist(), part.counts.tolist(), part.tokens_after.tolist(), strict=True)
        for (left, right), count, tokens in rows:
            id, token = base + len(self._tokens), self._tokens[left] + self._tokens[right]
            self._tokens.append(token)
            figures = f"{weighted(count, part.denominator)}\t{weighted(tokens, part.denominator)}"
            self._file.write(f"{id}\t{base + left}\t{base + right}\t{to_characters(token)}\t{figures}\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with os_errors_name(self._path):  # a full disk refuses what is left once more
                self._file.close()
