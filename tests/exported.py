"""Tokenizers to export: of every named pattern, with tokens that are hard to write down."""

import lzma
from functools import cache
from pathlib import Path

import fastbpe
from fastbpe.tokenizer import Tokenizer

SPECIALS = ["<|endoftext|>", "<|pad|>", "<s>"]
#: Ends of tokens that some file format has to quote: a space, #, CR, LF, NUL, bytes that are not UTF-8.
HARD = [b" #", b"#version", b"\r\n", b"\0\0", b"\xff\xfe", b"\xe5\xba", b"  ", b"= ", "é".encode(), b"\t\t", b'"\\']


@cache
def poems() -> str:
    return lzma.decompress((Path(__file__).parent / "data" / "tang" / "poems.txt.xz").read_bytes()).decode()


@cache
def code() -> str:
    return "".join(path.read_text() for path in sorted(Path(fastbpe.__file__).parent.rglob("*.py")))


@cache
def trained(pattern: str = "gpt2", placement: str = "last", specials: bool = True, size: int = 700) -> Tokenizer:
    """A tokenizer trained on code and poems."""
    names = SPECIALS if specials else []
    return fastbpe.train(
        [code()[:60_000], poems()[:20_000]],
        size,
        pattern=pattern,
        special_tokens=names,
        special_placement=placement,
        eos_token=names[0] if names else None,
        pad_token=names[1] if names else None,
    )


@cache
def hard(placement: str = "last", pattern: str | None = None) -> Tokenizer:
    """A tokenizer of the hard tokens."""
    merges: list[tuple[int, int]] = []
    ids = {bytes([byte]): byte for byte in range(256)}
    for token in HARD:
        for end in range(2, len(token) + 1):
            if token[:end] not in ids:
                merges.append((ids[token[: end - 1]], token[end - 1]))
                ids[token[:end]] = 255 + len(merges)
    return Tokenizer.from_merges(
        merges, pattern=pattern, special_tokens=SPECIALS, special_placement=placement, bos_token="<s>"
    )


HARD_TEXTS = [*HARD, b"".join(HARD), *(b"a" + token * 3 + b" b" for token in HARD), b"<s>#version <|pad|>\r\n<s>\xff"]
