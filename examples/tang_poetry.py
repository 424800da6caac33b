"""Tang poetry: 1,500 merges on 2,000 poems, unsplit, and what they are worth on 500 poems not seen.

    python examples/tang_poetry.py [POEMS]

POEMS is a text file of the collection, one poem a line, as corpora/tang prepares it; without it the copy among the
tests' data is read. Ties go to the pair met first. The walk-through's seconds are left out: they are its own program's.
"""

import lzma
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from printing import show

import fastbpe
from fastbpe.merging import Merges

POEMS = Path(__file__).parent.parent / "tests" / "data" / "tang" / "poems.txt.xz"
N_MERGES = 1_500
STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 1_001, 1_500)
POEM = "自君入城市，北邙无新坟。始信壶中药，不落白杨根。如何忽告归，蕣华还笑人。玉笙无遗音，怅望缑岭云。"


@cache
def texts() -> tuple[str, str]:
    """The first 2,000 poems and the last 500, each as one text."""
    path = Path(sys.argv[1]) if __name__ == "__main__" and len(sys.argv) > 1 else POEMS
    content = path.read_bytes()
    poems = (lzma.decompress(content) if path.suffix == ".xz" else content).decode().rstrip("\n").split("\n")
    return "\n".join(poems[:2000]), "\n".join(poems[-500:])


@cache
def trained() -> tuple[fastbpe.Tokenizer, Merges]:
    """The tokenizer, and the log of its merges: pairs, their counts, tokens left after each."""
    log: list[Merges] = []
    text, _ = texts()
    tokenizer = fastbpe.train([text], 256 + N_MERGES, pattern=None, tie_break="first", on_merges=log.append)
    return tokenizer, log[0]


def data() -> dict[str, int]:
    """The texts"""
    text, unseen = texts()
    return {
        "train_chars": len(text),
        "train_bytes": len(text.encode()),
        "test_chars": len(unseen),
        "test_bytes": len(unseen.encode()),
    }


def moon() -> list[str]:
    """The bytes of 月, which it falls back on where no merge applies"""
    tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    return [tokenizer.token_bytes(id).hex() for id in tokenizer.encode("月")]


def merge_log(steps: Sequence[int] = STEPS) -> list[list[int]]:
    """The merge log: step, left, right, count, tokens after, pairs that were tied at the top"""
    tokenizer, log = trained()
    text, _ = texts()
    rows = []
    for step in steps:
        ids = tokenizer.truncate(256 + step - 1).encode(text)
        pairs = Counter(zip(ids, ids[1:], strict=False))
        count = int(log.counts[step - 1])
        tied = sum(n == count for n in pairs.values())
        rows.append([step, *log.pairs[step - 1].tolist(), count, int(log.tokens_after[step - 1]), tied])
    return rows


def learned() -> dict[str, Any]:
    """What it learned: tokens of one character, of several, and what is neither; the first of several"""
    tokens = [trained()[0].token_bytes(256 + k) for k in range(N_MERGES)]
    characters = [token.decode() for token in tokens if is_text(token)]
    longer = [text.replace("\n", "↵") for text in characters if len(text) > 1]
    return {
        "one_char": len(characters) - len(longer),
        "two_or_more": len(longer),
        "rest": len(tokens) - len(characters),
        "first_30_two_or_more": longer[:30],
    }


def is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def encoded() -> dict[str, Any]:
    """Tokens of the poems it was trained on, and of poems it has not seen"""
    tokenizer, _ = trained()
    text, unseen = texts()
    n = tokenizer.count(unseen)
    assert tokenizer.decode(tokenizer.encode(unseen)) == unseen
    return {
        "train_tokens_after": tokenizer.count(text),
        "vocab_size": tokenizer.vocab_size,
        "test_tokens_whole_text": n,
        "test_tokens_poem_by_poem_no_newlines": sum(map(len, tokenizer.encode_batch(unseen.split("\n")))),
        "test_chars_per_token": round(len(unseen) / n, 4),
    }


def cut() -> dict[str, list[str]]:
    """A poem cut into tokens, those that are no whole characters as their bytes; and text of another kind"""
    tokenizer, _ = trained()

    def shown(text: str) -> list[str]:
        tokens = [tokenizer.token_bytes(id) for id in tokenizer.encode(text)]
        return [token.decode() if is_text(token) else f"[{token.hex(' ')}]" for token in tokens]

    return {"example_cut": shown(POEM), "english_example": shown("月落乌啼霜满天。Hello")}


def characters() -> dict[str, Any]:
    """The character-level tokenizer beside it: its vocabulary, and the share of unseen text that it does not know"""
    text, unseen = texts()
    tokenizer = fastbpe.train_characters([text])
    unknown = tokenizer.unknown_characters(unseen)
    return {
        "train_distinct_chars": tokenizer.vocab_size,
        "test_unseen_char_share": sum(unknown.values()) / len(unseen),
    }


SECTIONS = {
    "003/data": data,
    "003/moon": moon,
    "003/merge_log": merge_log,
    "003/learned": learned,
    "003/encoded": encoded,
    "003/cut": cut,
    "003/characters": characters,
}

if __name__ == "__main__":
    show(SECTIONS)
