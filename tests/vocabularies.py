"""Published vocabularies that may be committed, for tests: rank tables with their patterns and special tokens."""

import base64
import lzma
from functools import cache
from pathlib import Path

from fastbpe.tokenizer import Tokenizer

DATA = Path(__file__).parent / "data"

VOCABULARIES = {
    "gpt2": ("gpt2", "gpt2", {"<|endoftext|>": 50256}, {}),
    "cl100k_base": (
        "cl100k_base",
        "cl100k",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        {},
    ),
    "o200k_base": ("o200k_base", "o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}, {}),
    "qwen2": (
        "qwen",
        "qwen2",
        {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
        {"normalizer": "NFC"},
    ),
    "qwen2_no_nfc": ("qwen", "qwen2", {}, {}),
    "tekken_240718": ("tekken_240718", "tekken", {}, {"id_offset": 1000}),
}


def ranks_of(name: str) -> dict[bytes, int]:
    """The rank table of a file in data/vocabs."""
    lines = lzma.decompress((DATA / "vocabs" / f"{name}.tiktoken.xz").read_bytes()).splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}


@cache
def vocabulary(name: str) -> Tokenizer:
    """The tokenizer of a published vocabulary."""
    file, pattern, specials, options = VOCABULARIES[name]
    return Tokenizer.from_ranks(ranks_of(file), pattern, special_tokens=specials, **options)
