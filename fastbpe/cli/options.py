"""Parameters that several commands share, and the checks that come before any work."""

import contextlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fastbpe.errors import DataError, ParameterError
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.tokenizer import Tokenizer


def _no_option(_type: object, value: object) -> None:
    for word in value if isinstance(value, tuple) else (value,):
        if isinstance(word, str) and word.startswith("-") and word != "-":
            raise ValueError(f"unknown option {word} (a file of that name is written ./{word})")


Inputs = Annotated[
    str,
    Parameter(
        name="INPUT",
        help="Files, directories, globs and addresses of text, JSON Lines, Parquet, ...; '-' reads standard input.",
        allow_leading_hyphen=True,
        validator=_no_option,
    ),
]
HeldOut = Annotated[
    tuple[str, ...],
    Parameter(
        help="Text that the tokenizer was not trained on, to compare with INPUT; give one --held-out for each.",
        allow_leading_hyphen=True,
        validator=_no_option,
        show_default=False,
        n_tokens=1,
    ),
]
TokenizerFile = Annotated[Path, Parameter(name="TOKENIZER", help="A tokenizer file.")]
ShardDirectory = Annotated[Path, Parameter(name="SHARDS", help="A directory written by fastbpe encode.")]
Pattern = Annotated[
    str,
    Parameter(
        help="A named split pattern (gpt2, cl100k, poetry, none ...) or a regex; cl100k unless given.",
        show_default=False,
    ),
]
Unmatched = Annotated[
    Literal["refuse", "isolate"],
    Parameter(help="Text the pattern leaves out: refuse such a pattern, or keep each stretch as a chunk."),
]
Normalizer = Annotated[
    Literal["NFC", "NFKC"] | None,
    Parameter(help="Normalize the text between special tokens before it is split.", show_default=False),
]
Special = Annotated[
    tuple[str, ...],
    Parameter(
        help="A special token; give one --special for each.", allow_leading_hyphen=True, show_default=False, n_tokens=1
    ),
]
Role = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
Bos = Annotated[Role, Parameter(help="The special token that begins a document.")]
Eos = Annotated[Role, Parameter(help="The special token that ends a document.")]
Pad = Annotated[Role, Parameter(help="The special token that fills up.")]
Separator = Annotated[
    str | None,
    Parameter(help="Cut each file into documents at this string (\\n, \\t, \\0 are understood); it is dropped."),
]
Lines = Annotated[bool, Parameter(help="Each line is a document and keeps its newline.", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How inputs are read; the same options in every command that reads text."""

    separator: Separator = None
    lines: Lines = False
    text_field: Annotated[
        str | None,
        Parameter(
            help="The field or column of records that is the document, a.b in nested ones; else text or content."
        ),
    ] = None
    where: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only records with this value of a field, as lang=Python; give one --where for each.",
            show_default=False,
            n_tokens=1,
        ),
    ] = ()
    members: Annotated[str | None, Parameter(help="Only members of tar archives that match this glob.")] = None
    on_error: Annotated[
        Literal["report", "stop"], Parameter(help="Bad records: skip and tell of them, or stop at the first.")
    ] = "report"


READING = Reading()
Errors = Annotated[
    Literal["keep", "strict", "replace"],
    Parameter(help="Bytes that are not UTF-8: keep them, stop there, or put U+FFFD in their place."),
]
AllowedSpecial = Annotated[
    str,
    Parameter(
        help="Special tokens to recognise in the text: none, all, or names separated by commas.",
        allow_leading_hyphen=True,
    ),
]
Weight = Annotated[
    tuple[str, ...],
    Parameter(
        name="--weight",
        help="How often chunks of some sources count, as 'zh/*=2.5'; the first that matches. Give one for each.",
        show_default=False,
        n_tokens=1,
    ),
]
MaxBytes = Annotated[str | None, Parameter(help="Take a sample of whole documents, of at most so many bytes, as 5GB.")]
SampleSeed = Annotated[int | None, Parameter(help="Another number, another sample.")]
Against = Annotated[
    tuple[str, ...],
    Parameter(
        help="Another tokenizer's file; a rank file, which has no pattern, with one: cl100k=FILE. Give one --against "
        "for each.",
        show_default=False,
        n_tokens=1,
    ),
]
Threads = Annotated[int | None, Parameter(help="Threads; all cores when not given.", show_default=False)]
ProgressStyle = Annotated[
    Literal["auto", "json", "none"], Parameter(name="--progress", help="On standard error.", show_choices=True)
]
Memory = Annotated[
    str | None,
    Parameter(help="Bound of the memory, as 4GB; three quarters of what there is unless given.", show_default=False),
]
DryRun = Annotated[
    bool,
    Parameter(
        help="Read a little of the text and say the time, memory and disk to expect.", negative="", show_default=False
    ),
]
Json = Annotated[bool, Parameter(name="--json", help="Print the result as JSON.", show_default=False)]


def unescape(separator: str | None) -> str | None:
    """Shells make it hard to type control characters, so a few escapes stand for them."""
    if separator is None:
        return None
    for escape, character in (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\0", "\0")):
        separator = separator.replace(escape, character)
    if not separator:
        raise ParameterError("--separator is empty: give the string that stands between documents")
    return separator


def special_names(choice: str) -> str | tuple[str, ...]:
    """What `allowed_special` of the Python functions takes."""
    if choice in ("all", "none"):
        return "all" if choice == "all" else ()
    return tuple(name for name in choice.split(",") if name)


def load_against(words: tuple[str, ...]) -> "dict[str, Tokenizer]":
    """The tokenizers that --against names, by file name; a word that is no file may be PATTERN=FILE."""
    from fastbpe.corpus.walk import printable
    from fastbpe.formats import load
    from fastbpe.pattern.named import NAMED

    found: dict[str, Tokenizer] = {}
    for word in words:
        pattern, equals, file = word.partition("=")
        if os.path.exists(word) or not equals:
            if word in NAMED and not os.path.exists(word):
                raise ParameterError(f"--against {word}: name the file of its vocabulary, too, as {word}=FILE")
            found[printable(word)] = load(word)
        elif pattern not in NAMED:
            raise ParameterError(
                f"--against {word}: {pattern} is no named pattern ({', '.join(NAMED)}), and no such file"
            )
        else:
            found[printable(file)] = load(file, pattern=pattern)
    return found


def tell_invalid(invalid_bytes: int, first_invalid: str | None) -> None:
    """Says how many bytes are not UTF-8, if any are, and where the first of them stands."""
    if invalid_bytes:
        are = "is" if invalid_bytes == 1 else "are"
        where = f"the first at {first_invalid}"
        print(f"fastbpe: {counted(invalid_bytes, 'byte')} {are} not UTF-8, {where}", file=sys.stderr)


def check_output(path: Path) -> None:
    """Refuses, before hours of work, an output file that could not be written in the end."""
    if path.is_dir():
        raise ParameterError(f"{path} is a directory: name the file to write")
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f"{folder} is not a directory: make it first or write elsewhere")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))


def check_outputs_apart(outputs: Iterable[Path], inputs: tuple[str, ...]) -> None:
    """Refuses to write over a file that is also read."""
    from fastbpe.corpus.walk import expand

    seen: dict[tuple[int, int], Path] = {}
    for path in outputs:
        if path.is_file():
            state = path.stat()
            seen[state.st_dev, state.st_ino] = path
    if not seen:
        return
    for word in inputs:
        with contextlib.suppress(DataError, OSError):  # what cannot be read is told of when it is read
            for name in () if word == "-" else expand(word, lambda path, why: None):
                state = os.stat(name)
                if same := seen.get((state.st_dev, state.st_ino)):
                    raise ParameterError(f"{same} is one of the inputs, and would be written over: write elsewhere")


def check_inputs(inputs: tuple[str, ...]) -> None:
    if not inputs:
        raise ParameterError("no input: name files, directories or globs, or '-' for standard input")
