"""fastbpe show: a text, token by token."""

import json as json_module
import os
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
    from fastbpe.cli.tokens import use_colour
    from fastbpe.formats import load

    if text == "-" and sys.stdin is None:
        raise DataError("standard input is closed; pipe the text in, or give it")
    data = sys.stdin.buffer.read() if text == "-" else os.fsencode(text)
    loaded = load(tokenizer)
    ids = loaded.encode(data, allowed_special=options.special_names(allowed_special))
    tokens = [loaded.token_bytes(id) for id in ids]
    if json:
        print(json_module.dumps(result(ids, tokens, len(data)), ensure_ascii=False))
        return
    print(drawn(tokens, markers, use_colour(color, sys.stdout)))
    print(" ".join(map(str, ids)))
    each = f", {len(data) / len(ids):.2f} bytes each" if ids else ""
    print(f"{len(ids):,} tokens for {len(data):,} bytes{each}")


def drawn(tokens: list[bytes], markers: str, colour: bool) -> str:
    """The tokens in a row, a new row after each newline."""
    from fastbpe.alphabet import visible
    from fastbpe.cli.tokens import marked, painted

    pieces = [visible(token) for token in tokens] if markers == "none" else marked(tokens, markers)
    return painted(pieces, colour, [token.endswith(b"\n") for token in tokens])


def result(ids: list[int], tokens: list[bytes], n_bytes: int) -> dict[str, Any]:
    """Tokens as text where they are UTF-8, else as lists of byte values."""
    readable: list[str | list[int]] = []
    for token in tokens:
        try:
            readable.append(token.decode())
        except UnicodeDecodeError:
            readable.append(list(token))
    return {"ids": ids, "tokens": readable, "n_tokens": len(ids), "n_bytes": n_bytes}
