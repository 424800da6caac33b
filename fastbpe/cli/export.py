"""fastbpe export: a tokenizer into another program's files."""

import dataclasses
import json as json_module
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.errors import ParameterError

SAMPLE_BYTES = 1 << 20


def export(
    tokenizer: options.TokenizerFile,
    /,
    *,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="The file to write; for huggingface and gpt2, the directory.")
    ],
    to: Annotated[
        Literal["huggingface", "tiktoken", "gpt2", "gguf", "tekken", "bpe-v1", "minbpe"],
        Parameter(help="Whose files to write."),
    ],
    check: Annotated[
        bool,
        Parameter(
            negative="--no-check",
            show_default=False,
            help="Read the files back, and ask the programs they are for where installed: ids must be the same.",
        ),
    ] = True,
    sample: Annotated[
        tuple[Path, ...],
        Parameter(
            help="A text file of yours to check with, its first MiB; give one --sample for each.",
            n_tokens=1,
            show_default=False,
        ),
    ] = (),
    json: options.Json = False,
) -> None:
    """Write a tokenizer for another program. What its files cannot hold so that ids stay the same is refused."""
    from fastbpe.formats import export as write
    from fastbpe.formats import load
    from fastbpe.formats.exporting import DIRECTORIES

    if to not in DIRECTORIES:
        options.check_output(output)
        if output.exists() and output.samefile(tokenizer):
            raise ParameterError(f"{output} is the tokenizer to export, and would be written over: write elsewhere")
    elif not output.is_dir() and (output.exists() or not output.parent.is_dir()):
        raise ParameterError(f"{output} is to be a directory: name one that exists, or a new one in one that does")
    report = write(load(tokenizer), output, to, check, [start_of(path) for path in sample])
    if json:
        print(json_module.dumps(dataclasses.asdict(report)))
        return
    for path in report.files:
        print(path)
    for one in report.checks:
        print(f"  {one.engine}: {one.skipped or f'the same ids on {one.texts:,} texts'}")
    if not report.checks:
        print("  not checked")
    if report.left_out:
        print(f"  the format does not hold, say it to what reads the file: {'; '.join(report.left_out)}")


def start_of(path: Path) -> bytes:
    """The first MiB of a file, up to its last whole line where it has lines."""
    with path.open("rb") as file:
        text = file.read(SAMPLE_BYTES)
        return text if not file.read(1) or b"\n" not in text else text[: text.rindex(b"\n") + 1]
