"""fastbpe report: what a tokenizer does to texts, as a page and as figures."""

import json as json_module
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.cli.source import text_source, told
from fastbpe.errors import DataWarning, ParameterError
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.report.cost import Model


def report(
    tokenizer: options.TokenizerFile,
    /,
    *inputs: options.Inputs,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="The page to write, one HTML file.", show_default=False)
    ] = None,
    charts: Annotated[
        Path | None,
        Parameter(help="Also write the charts into this directory, each an SVG file.", show_default=False),
    ] = None,
    against: options.Against = (),
    held_out: options.HeldOut = (),
    model: Annotated[
        tuple[str, ...],
        Parameter(
            help="A model to weigh the embedding against, as WIDTH:PARAMETERS (768:124M); give one --model for each.",
            show_default=False,
            n_tokens=1,
        ),
    ] = (),
    max_bytes: Annotated[
        str,
        Parameter(help="At most so much text is read, an equal share of each INPUT; the page says what was left out."),
    ] = "256MB",
    allowed_special: options.AllowedSpecial = "none",
    reading: options.Reading = options.READING,
    threads: options.Threads = None,
    progress: options.ProgressStyle = "auto",
    json: Annotated[bool, Parameter(name="--json", help="Print the figures as JSON.", show_default=False)] = False,
) -> int:
    """Measure a tokenizer on texts, beside others: a page with figures, charts and samples that needs no network."""
    if output is None and charts is None and not json:
        raise ParameterError("name the page to write, as -o report.html, or print the figures with --json")
    if output is not None:
        options.check_output(output)
        options.check_outputs_apart([output], (*inputs, *held_out))
    if charts is not None and not charts.is_dir():
        raise ParameterError(f"--charts {charts} is not a directory: make it first or write elsewhere")
    if output is not None or charts is not None:
        check_drawing()
    models = list(map(parsed_model, model))
    from fastbpe.atomic import atomic_write
    from fastbpe.corpus.sources import Corpus
    from fastbpe.corpus.walk import printable
    from fastbpe.formats import load
    from fastbpe.pipeline.entries import source_entries
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.report.cost import COMMON
    from fastbpe.report.gather import gather
    from fastbpe.report.texts import Text

    options.check_inputs((*inputs, *held_out))
    if (*inputs, *held_out).count("-") > 1:
        raise ParameterError("standard input ('-') can be read only once")
    texts = [
        Text(Corpus(text_source((word,), reading)), is_out)
        for words, is_out in ((inputs, False), (held_out, True))
        for word in words
    ]
    loaded = load(tokenizer)
    others = options.load_against(against)
    with progress_on(style=progress) as display, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # told below
        figures = gather(
            loaded,
            texts,
            against=others,
            name=printable(str(tokenizer)),
            allowed_special=options.special_names(allowed_special),
            models=models or COMMON,
            max_bytes=max_bytes,
            threads=threads,
            progress=display,
        )
        if output is not None or charts is not None:
            display.phase("draw")
            for path, content in drawings(figures, output, charts):
                with atomic_write(path) as file:
                    file.write(content.encode())
                display.advance(len(content.encode()))
            display.finish()
    code = told([entry for text in texts for entry in source_entries(text.corpus)])
    invalid = sum(source["invalid_bytes"] for source in figures["sources"])
    if invalid:
        print(f"fastbpe: {invalid:,} bytes are not UTF-8; they were measured as they are", file=sys.stderr)
    print(json_module.dumps(figures, ensure_ascii=False) if json else told_figures(figures, output))
    return code


def drawings(figures: dict[str, Any], output: Path | None, folder: Path | None) -> Iterator[tuple[Path, str]]:
    """The files to write and what is in them."""
    if output is not None:
        from fastbpe.report.page import render

        yield output, render(figures)
    if folder is not None:
        from fastbpe.report.charts import charts, standalone

        for name, svg in charts(figures).items():
            yield folder / f"{name}.svg", standalone(svg)


def check_drawing() -> None:
    """Refuses before the reading what could not be drawn after it."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            f"a page is drawn with {error.name}, which is missing; install it: pip install 'fastbpe-engine[report]' "
            "(--json alone needs nothing)"
        ) from None


def parsed_model(word: str) -> "Model":
    """A --model word as a width and a number of parameters. Raises ParameterError for anything else."""
    from fastbpe.report.cost import Model

    width, colon, parameters = word.partition(":")
    units = {"K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9}
    digits, unit = (
        (parameters[:-1], units[parameters[-1].upper()]) if parameters[-1:].upper() in units else (parameters, 1)
    )
    try:
        found = Model(int(width), int(float(digits) * unit))
    except (ValueError, OverflowError):
        found = Model(0, 0)
    if not colon or found.width < 1 or found.parameters < 1:
        raise ParameterError(f"--model {word}: give a width and a number of parameters, as 768:124M")
    return found


def told_figures(figures: dict[str, Any], output: Path | None) -> str:
    """The short answers, and where the page is."""
    lines = [f"{answer['question']} {answer['answer']}" for answer in figures["answers"]]
    if output is not None:
        lines.append(f"{output}: {figures['tokenizers'][0]['name']} on {counted(len(figures['sources']), 'source')}")
    return "\n".join(lines)
