"""fastbpe show: a text, token by token, by one tokenizer or by several, one above the other."""

import json as json_module
import os
import shutil
import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.errors import DataError


def show(
    tokenizer: options.TokenizerFile,
    text: Annotated[str, Parameter(name="TEXT", help="The text; '-' reads standard input.", allow_leading_hyphen=True)],
    /,
    *,
    against: options.Against = (),
    markers: Annotated[
        Literal["none", "gpt2", "sentencepiece", "wordpiece"],
        Parameter(help="Write tokens in a family's way: Ġword, ▁word, ##piece."),
    ] = "none",
    allowed_special: options.AllowedSpecial = "all",
    color: Annotated[
        Literal["auto", "always", "never"], Parameter(help="Tell tokens apart by colour, or else by bars.")
    ] = "auto",
    json: options.Json = False,
) -> None:
    """Show how a text is cut into tokens, and their ids. Special tokens in it are recognised unless told otherwise."""
    from fastbpe.alphabet import visible
    from fastbpe.cli.tokens import above, shown, use_colour
    from fastbpe.formats import load

    if text == "-" and sys.stdin is None:
        raise DataError("standard input is closed; pipe the text in, or give it")
    data = sys.stdin.buffer.read() if text == "-" else os.fsencode(text)
    named = {str(tokenizer): load(tokenizer)}
    for name, other in options.load_against(against).items():
        named[f"{name} (2)" if name in named else name] = other
    names, encodings, cuts = list(named), [], []
    for name, loaded in named.items():
        allowed = options.special_names(allowed_special)
        if name != names[0] and not isinstance(allowed, str):
            allowed = tuple(special for special in allowed if special in loaded.special_tokens)
        encodings.append(loaded.encode(data, allowed_special=allowed))
        cuts.append([loaded.token_bytes(id) for id in encodings[-1]])
    if json:
        results = [result(ids, tokens, len(data)) for ids, tokens in zip(encodings, cuts, strict=True)]
        others = [{"tokenizer": name, **facts} for name, facts in zip(names[1:], results[1:], strict=True)]
        print(json_module.dumps(results[0] | ({"against": others} if others else {}), ensure_ascii=False))
        return
    colour = use_colour(color, sys.stdout)
    if len(cuts) == 1:
        print(drawn(cuts[0], markers, colour))
    else:
        pieces = [shown(tokens, markers) for tokens in cuts]
        print(above(cuts, pieces, colour, shutil.get_terminal_size((100, 24)).columns))
        print()
    for number, ids in enumerate(encodings):
        each = f", {len(data) / len(ids):.2f} bytes each" if ids else ""
        if len(cuts) > 1:
            print(f"{number + 1} {visible(os.fsencode(names[number]))}")
        print(" ".join(map(str, ids)))
        print(f"{len(ids):,} tokens for {len(data):,} bytes{each}")


def drawn(tokens: list[bytes], markers: str, colour: bool) -> str:
    """The tokens in a row, a new row after each newline."""
    from fastbpe.cli.tokens import painted, shown

    return painted(shown(tokens, markers), colour, [token.endswith(b"\n") for token in tokens])


def result(ids: list[int], tokens: list[bytes], n_bytes: int) -> dict[str, Any]:
    """Tokens as text where they are UTF-8, else as lists of byte values."""
    readable: list[str | list[int]] = []
    for token in tokens:
        try:
            readable.append(token.decode())
        except UnicodeDecodeError:
            readable.append(list(token))
    return {"ids": ids, "tokens": readable, "n_tokens": len(ids), "n_bytes": n_bytes}
