"""From the command line's INPUT words to a source."""

from typing import TYPE_CHECKING

from fastbpe.cli.options import check_inputs, unescape
from fastbpe.errors import ParameterError

if TYPE_CHECKING:
    from fastbpe.corpus.sources import Files
    from fastbpe.counts import ChunkCounts


def text_source(inputs: tuple[str, ...], separator: str | None, lines: bool) -> "Files":
    """The files, directories, globs and standard input that were named, in that order."""
    from fastbpe.corpus.sources import files

    check_inputs(inputs)
    if separator is not None and lines:
        raise ParameterError("--lines and --separator both say where documents end: choose one")
    return files(*inputs, separator=unescape(separator), lines=lines)


def counts_source(inputs: tuple[str, ...]) -> "ChunkCounts | None":
    """The sum of the chunk count files that were named; None when the inputs are text."""
    check_inputs(inputs)
    given = [name for name in inputs if name.endswith(".npz")]
    if not given:
        return None
    if len(given) < len(inputs):
        raise ParameterError(f"{given[0]} holds chunk counts and other inputs are text: count those first")
    from fastbpe.counts import ChunkCounts

    total = ChunkCounts.load(given[0])
    for name in given[1:]:
        total += ChunkCounts.load(name)
    return total
