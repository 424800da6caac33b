"""fastbpe import: another program's tokenizer into a file of ours."""

import json as json_module
import re
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.errors import ParameterError
from fastbpe.text import counted


def import_(
    file: Annotated[Path, Parameter(name="FILE", help="A tokenizer file of any kind, or a directory with one.")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The tokenizer file to write.")],
    pattern: Annotated[
        tuple[str, ...],
        Parameter(
            help="The split pattern, for files that have none (give none for none); several split in a row.",
            allow_leading_hyphen=True,
            show_default=False,
            n_tokens=1,
        ),
    ] = (),
    special: Annotated[
        tuple[str, ...],
        Parameter(
            help="A special token, for files that have none: NAME=ID, or NAME for the id it has or the next one.",
            allow_leading_hyphen=True,
            show_default=False,
            n_tokens=1,
        ),
    ] = (),
    no_special: Annotated[
        bool, Parameter(name="--no-special", help="No token of the file is special.", show_default=False)
    ] = False,
    normalizer: Annotated[
        Literal["NFC", "NFKC"] | None, Parameter(help="How text is normalized, for files that do not say.")
    ] = None,
    id_offset: Annotated[int, Parameter(help="What is added to the ranks of a rank file to give ids.")] = 0,
    bos: options.Bos = None,
    eos: options.Eos = None,
    pad: options.Pad = None,
    json: options.Json = False,
) -> None:
    """Read a tokenizer file, told by its content, and write it as ours."""
    from fastbpe.formats import load

    options.check_output(output)
    if output.exists() and output.samefile(file):
        raise ParameterError(f"{output} is the file to import, and would be written over: write elsewhere")
    if special and no_special:
        raise ParameterError("--special and --no-special: one or the other")
    tokenizer = load(
        file,
        pattern=pattern[0] if len(pattern) == 1 else pattern or None,
        special_tokens=() if no_special else specials(special),
        normalizer=normalizer,
        id_offset=id_offset,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
    )
    tokenizer.save(output)
    facts = {
        "tokenizer": str(output),
        "vocab_size": tokenizer.vocab_size,
        "special_tokens": len(tokenizer.special_tokens),
        "pattern_name": tokenizer.pattern_name,
        "roles": tokenizer.model.roles,
        "fingerprint": tokenizer.fingerprint,
    }
    if json:
        print(json_module.dumps(facts))
    else:
        special_tokens = counted(len(tokenizer.special_tokens), "special token")
        named = f"pattern {tokenizer.pattern_name}" if tokenizer.pattern_name else "a pattern of its own"
        print(f"{output}: {tokenizer.vocab_size:,} ids, {special_tokens}, {named}")


def specials(words: tuple[str, ...]) -> dict[str, int] | list[str] | None:
    """{name: id} when all have an id, names when none has, None when there are none."""
    if not words:
        return None
    found = {match[1]: int(match[2]) for word in words if (match := re.fullmatch(r"(.+)=(\d{1,10})", word, re.S))}
    if len(found) == len(words):
        return found
    if found:
        raise ParameterError("--special: give an id with each (NAME=ID) or with none")
    return list(words)
