"""Trains on the regulated Tang poems in several ways, character tokens beside byte-level BPE.

    python -m corpora.tang.train [POEMS] [-o DIRECTORY]

POEMS is the poems.txt of corpora.tang.prepare; without it the copy among the tests' data is read. With -o each
tokenizer is saved, for `fastbpe show`, `inspect` and `report`.

The trainings: the published one (2,000 poems as one text, 1,500 merges), the two exercises that it sets (5,000 poems;
splitting at ，。 and newlines first), both together, and all poems with 4,096 merges. The last 500 poems are unseen by
all but those on all poems. What each learned: tokens that are one character, several, or a part of one; and how many
characters a token holds in the 500 poems.
"""

import argparse
import lzma
import time
from pathlib import Path

import fastbpe
from examples.printing import table

POEMS = Path(__file__).parents[2] / "tests" / "data" / "tang" / "poems.txt.xz"
AT_PUNCTUATION = r"[，。\n]|[^，。\n]+"
UNSEEN = 500
TRAININGS = {
    "2000": (2_000, None, 1_500),
    "5000": (5_000, None, 1_500),
    "2000-split": (2_000, AT_PUNCTUATION, 1_500),
    "5000-split": (5_000, AT_PUNCTUATION, 1_500),
    "all": (None, None, 4_096),
    "all-split": (None, AT_PUNCTUATION, 4_096),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("poems", nargs="?", type=Path, default=POEMS)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    content = options.poems.read_bytes()
    poems = (lzma.decompress(content) if options.poems.suffix == ".xz" else content).decode().rstrip("\n").split("\n")
    unseen = "\n".join(poems[-UNSEEN:])

    rows: list[list[object]] = [
        ["training", "poems", "ids", "one char.", "several", "part", "tokens", "unseen", "char./token", "seconds"]
    ]
    several = {}
    for name, (n, pattern, n_merges) in TRAININGS.items():
        text = "\n".join(poems[:n])
        started = time.perf_counter()
        tokenizer = fastbpe.train([text], 256 + n_merges, pattern=pattern, tie_break="first")
        seconds = time.perf_counter() - started
        parts = learned(tokenizer)
        several[name] = parts["several"]
        seen, new = tokenizer.count(text), tokenizer.count(unseen)
        counts = [len(poems[:n]), tokenizer.vocab_size, *map(len, parts.values()), seen, new]
        rows.append([name, *counts, f"{len(unseen) / new:.4f}", f"{seconds:.2f}"])
        save(tokenizer, options.output, name)
    print("\n".join(table(rows)))

    print("\nThe first tokens of two or more characters that each learned")
    for name, tokens in several.items():
        print(f"    {name:<10}  {' '.join(token.replace(chr(10), '↵') for token in tokens[:24])}")

    print("\nCharacters as tokens: one each, whatever the text; but what was not met cannot be encoded")
    rows = [["poems", "ids", "unknown in unseen", "share"]]
    for n in (2_000, 5_000, len(poems)):
        tokenizer = fastbpe.train_characters(["\n".join(poems[:n])])
        unknown = tokenizer.unknown_characters(unseen)
        rows.append([n, tokenizer.vocab_size, len(unknown), round(sum(unknown.values()) / len(unseen), 4)])
        save(tokenizer, options.output, f"characters-{n}")
    print("\n".join(table(rows)))


def learned(tokenizer: fastbpe.Tokenizer) -> dict[str, list[str]]:
    """The merged tokens by what they are: one character, several, or a part of one (as its bytes)."""
    kinds: dict[str, list[str]] = {"one character": [], "several": [], "part": []}
    for id in range(256, tokenizer.vocab_size):
        token = tokenizer.token_bytes(id)
        try:
            text = token.decode()
        except UnicodeDecodeError:
            kinds["part"].append(token.hex(" "))
        else:
            kinds["one character" if len(text) == 1 else "several"].append(text)
    return kinds


def save(tokenizer: fastbpe.Tokenizer, directory: Path | None, name: str) -> None:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        tokenizer.save(directory / f"tang-{name}.json")


if __name__ == "__main__":
    main()
