"""fastbpe demo: the whole way on text that every machine with Python has, its standard library."""

import inspect
import shlex
import shutil
import sys
import sysconfig
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.errors import ParameterError

if TYPE_CHECKING:
    from fastbpe.pipeline.progress import Event
    from fastbpe.tokenizer import Tokenizer

MARK = "DEMO"
VOCAB_SIZE = 8192
END = "<|endoftext|>"


def demo(
    directory: Annotated[
        Path, Parameter(name="DIRECTORY", help="Where the files go; an earlier demo there is replaced.")
    ] = Path("demo"),
    /,
    *,
    vocab_size: Annotated[int, Parameter(help="Ids in all.")] = VOCAB_SIZE,
    threads: options.Threads = None,
    progress: options.ProgressStyle = "auto",
) -> None:
    """Train on the running Python's standard library, encode it to shards, verify that every byte comes back."""
    from fastbpe.corpus.sources import files
    from fastbpe.pipeline.encode import encode_dataset
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.pipeline.train import train
    from fastbpe.pipeline.verify import verify_dataset

    make_room(directory)
    source = files(*library_patterns())
    tokenizer_file, shards = directory / "tok.json", directory / "shards"
    with progress_on(style=progress) as display:
        started = time.perf_counter()
        tokenizer = train(source, vocab_size, special_tokens=[END], eos_token=END, threads=threads, progress=display)
        tokenizer.save(tokenizer_file)
        manifest = encode_dataset(tokenizer, source, shards, eos_token=END, threads=threads, progress=display)
        verify_dataset(shards, tokenizer, source, progress=display)
        seconds = time.perf_counter() - started
    n_files = sum(read["files"] for read in manifest.sources)
    print(f"Python {sys.version.split()[0]}'s standard library: {n_files:,} files, {manifest.bytes / 1e6:.1f} MB\n")
    print(table(display.finished, seconds))
    print(f"\n{manifest.bytes / manifest.tokens:.2f} bytes per token; every byte came back from the shards.")
    print(f"\nshlex.quote, token by token:\n\n{sample(tokenizer)}\n")
    print(f"The tokenizer is {tokenizer_file}, the shards are in {shards}. Go on with:")
    print(f"  {program()} inspect {shlex.quote(str(tokenizer_file))}")
    print(f"  {program()} show {shlex.quote(str(tokenizer_file))} 'your own text'")


def program() -> str:
    """What to type for fastbpe: make demo runs it from a virtual environment that need not be on the path."""
    if shutil.which("fastbpe"):
        return "fastbpe"
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.stem == "fastbpe" else f"{shlex.quote(sys.executable)} -m fastbpe"


def library_patterns() -> list[str]:
    """Globs for the Python files of the standard library, without what was installed into it."""
    library = Path(sysconfig.get_paths()["stdlib"])
    installed = {"site-packages", "dist-packages", "__pycache__"}
    folders = [folder for folder in sorted(library.iterdir()) if folder.is_dir() and folder.name not in installed]
    return [f"{library}/*.py", *(f"{folder}/**/*.py" for folder in folders if any(folder.rglob("*.py")))]


def make_room(directory: Path) -> None:
    """An empty directory with the demo's mark in it. Whatever is no earlier demo is left alone and refused."""
    if directory.exists():
        if not (directory / MARK).is_file():
            raise ParameterError(f"{directory} exists and is no earlier demo: name another directory or remove it")
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    (directory / MARK).write_text("Made by fastbpe demo, which replaces this directory when it runs again.\n")


def table(events: "list[Event]", seconds: float) -> str:
    """A row for each phase: what it went through, seconds, speed, and what it found."""
    from fastbpe.pipeline.progress import amount

    rows = [("phase", "done", "seconds", "speed", "found")]
    for event in events:
        speed = f"{amount(int(event.rate), event.unit)}/s"
        facts = {name: value for name, value in event.facts.items() if name != "first_invalid"}  # a path is too wide
        found = replace(event, facts=facts).found
        rows.append((event.phase, amount(event.done, event.unit), f"{event.seconds:.2f}", speed, found))
    rows.append(("all", "", f"{seconds:.2f}", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = []
    for phase, *numbers, found in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join(["", phase.ljust(widths[0]), *cells, found]).rstrip())
    return "\n".join(lines)


def sample(tokenizer: "Tokenizer") -> str:
    from fastbpe.cli.show import drawn
    from fastbpe.cli.tokens import use_colour

    text = inspect.getsource(shlex.quote)
    tokens = [tokenizer.token_bytes(id) for id in tokenizer.encode(text)]
    return drawn(tokens, "none", use_colour("auto", sys.stdout))
