"""From the command line's INPUT words to a source."""

import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fastbpe.cli.options import Reading, check_inputs, unescape
from fastbpe.errors import DataError, ParameterError
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.corpus.sources import Files
    from fastbpe.counts import ChunkCounts


def text_source(inputs: tuple[str, ...], reading: Reading) -> "Files":
    """The files, directories, globs, addresses and standard input that were named, in that order."""
    from fastbpe.corpus.sources import files

    check_inputs(inputs)
    if reading.separator is not None and reading.lines:
        raise ParameterError("--lines and --separator both say where documents end: choose one")
    return files(
        *inputs,
        separator=unescape(reading.separator),
        lines=reading.lines,
        text_field=reading.text_field,
        where=conditions(reading.where),
        members=reading.members,
        on_error=reading.on_error,
    )


def conditions(where: tuple[str, ...]) -> dict[str, str]:
    """`--where` words as fields and values."""
    found: dict[str, str] = {}
    for word in where:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ParameterError(f"--where {word}: give a field and its value, as lang=Python")
        if name in found:
            raise ParameterError(f"--where {word}: {name} has a value already; a field can have one")
        found[name] = value
    return found


def weights(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """`--weight` words as globs and weights."""
    found = []
    for word in words:
        glob, equals, weight = word.rpartition("=")
        if not equals or not glob:
            raise ParameterError(f"--weight {word}: give a glob and a number, as 'zh/*=2.5'")
        found.append((glob, weight))
    return found


def told(sources: list[dict[str, Any]]) -> int:
    """Says in a closing line what was not read, and in one each what is damaged; the exit code of the command.

    sources: what the manifest says of them. 3 when a file is not whole, or when nothing but bad records was there.
    """
    skipped: dict[str, int] = {}
    for source in sources:
        for why, n in source["skipped"].items():
            skipped[why] = skipped.get(why, 0) + n
    rejected = sum(source["rejected"] for source in sources)
    nothing = rejected and not any(source["documents"] for source in sources)
    if skipped:
        reasons = ", ".join(f"{n:,} {why}" for why, n in sorted(skipped.items(), key=lambda item: (-item[1], item[0])))
        worst_first = sorted(sources, key=lambda source: not source["rejected"])
        what, why = next((example for source in worst_first for example in source["skipped_examples"]), ("", ""))
        first = f"; the first: {what}" + (f" ({why})" if len(skipped) > 1 else "") if what else ""
        bad = f", {counted(rejected, 'bad record')} among them" if rejected else ""
        unnamed = nothing and any(why.startswith(("no column", "no field")) for why in skipped)
        advice = "; check --text-field and --where" if unnamed else ""
        print(f"fastbpe: {sum(skipped.values()):,} skipped{bad}: {reasons}{first}{advice}", file=sys.stderr)
    damaged = [entry for source in sources for entry in source["damaged"]]
    for where, why in damaged:
        print(f"fastbpe: {where}: {why}", file=sys.stderr)
    return DataError.exit_code if damaged or nothing else 0


def refuse_reading(reading: Reading, errors: str) -> None:
    """Raises ParameterError when there is beside chunk counts an option that says how text is read."""
    unlike = [field.name for field in fields(reading) if getattr(reading, field.name) != field.default]
    given = [f"--{name.replace('_', '-')}" for name in unlike]
    if errors != "keep":
        given.append("--errors")
    if given:
        raise ParameterError(
            f"{', '.join(given)} say how text is read, and the inputs are chunk counts: leave that out"
        )


def counts_source(inputs: tuple[str, ...], weight: tuple[str, ...] = ()) -> "ChunkCounts | None":
    """The weighted sum of the chunk count files that were named; None when the inputs are text."""
    check_inputs(inputs)
    given = [name for name in inputs if name.endswith(".npz")]
    if not given:
        return None
    if len(given) < len(inputs):
        raise ParameterError(f"{given[0]} holds chunk counts and other inputs are text: count those first")
    from fastbpe.corpus.weights import Weights
    from fastbpe.counts import ChunkCounts

    weigh = Weights(weights(weight))
    weigh.expect(given)
    total: ChunkCounts | None = None
    for name in given:
        counts = ChunkCounts.load(name)
        if weigh:
            counts = counts.times(weigh.weight(name))
        total = counts if total is None else total + counts
    return total
