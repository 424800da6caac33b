"""Whether tokenizers keep their ids through every format, on whole corpora: what would take too long as tests.

    pip install tokenizers transformers tiktoken gguf
    python tools/check_formats.py FILE ... [--pattern NAME ...] [--to FORMAT ...] [--megabytes 10] [--random 20000]

For each named pattern a tokenizer is trained on the texts, with its special tokens last and with them first. Every
format that can hold it is written and read back, and both must give the same ids for each text as one document with
special tokens in it, which are allowed once and once are not. The libraries that read the format, as far as they are
installed, get random strings, and the texts in pieces (with one placement of the special tokens, which is all the same
for a text). A line is printed for each, and what a format refuses is told; the exit code is 1 when ids differed.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import fastbpe
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import FORMATS, export
from fastbpe.formats.exporting import DIRECTORIES
from fastbpe.pattern.named import NAMED

SPECIALS = ["<|endoftext|>", "<|pad|>", "<s>"]
PIECE = 100_000
UNITS = [*"aAbeézZ09 ٣²\n\r\t'sStT.,!?-_#<|>/\\", "  ", "\r\n", "'ll", "ſ", "床", "。", "カ", "한", "\u0301", "👍"]
UNITS += ["\u00a0", "\u3000", "\0", *SPECIALS]


def random_texts(n: int, seed: int = 7) -> list[str]:
    """Strings of what patterns and special tokens are made of, and strings of any printable characters."""
    chosen = random.Random(seed)
    texts = ["".join(chosen.choices(UNITS, k=chosen.randrange(1, 30))) for _ in range(n // 2)]
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000 and chr(point).isprintable()]
    return texts + ["".join(chosen.choices(points, k=chosen.randrange(1, 20))) for _ in range(n - n // 2)]


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def check(tokenizer: fastbpe.Tokenizer, to: str, texts: dict[str, str], sample: list[str]) -> str:
    """What was compared. Raises FormatError when ids differ, ParameterError for what the format cannot hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer"
        report = export(tokenizer, path, to, sample=sample)
        given = {"pattern": tokenizer.pattern_name} if to == "bpe-v1" else {}
        back = fastbpe.load(path if to in DIRECTORIES else report.files[0], **given)
        for name, text in texts.items():
            for allowed in ((), "all"):
                ours, theirs = (one.encode_to_numpy(text, allowed_special=allowed) for one in (tokenizer, back))
                if not np.array_equal(ours, theirs):
                    raise FormatError(f"read back, it gives other ids for {name} (allowed_special={allowed!r})")
    return ", ".join(f"{one.engine} {one.skipped or f'{one.texts:,} texts'}" for one in report.checks)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pattern", nargs="*", choices=NAMED, default=list(NAMED))
    parser.add_argument("--to", nargs="*", choices=FORMATS, default=FORMATS)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--random", type=int, default=20_000)
    parser.add_argument("--vocab-size", type=int, default=8192)
    arguments = parser.parse_args()
    plain = {}
    for path in arguments.files:
        with path.open("rb") as file:
            plain[path.name] = file.read(int(arguments.megabytes * 1e6)).decode(errors="ignore")
    texts = {name: "<|endoftext|><s>".join(pieces(text)) + "<|pad|>" for name, text in plain.items()}
    strings = random_texts(arguments.random)
    parts = [piece for text in texts.values() for piece in pieces(text)]
    wrong = 0
    for pattern in arguments.pattern:
        for placement in ("last", "first"):
            tokenizer = fastbpe.train(
                list(plain.values()),
                arguments.vocab_size,
                pattern=pattern,
                special_tokens=SPECIALS,
                special_placement=placement,
                eos_token=SPECIALS[0],
            )
            for to in arguments.to:
                sample = [*strings, *parts] if (placement == "first") == (to == "tekken") else strings
                try:
                    told = check(tokenizer, to, texts, sample)
                except ParameterError as error:
                    told = f"refused: {error}"
                except FormatError as error:
                    told = f"WRONG: {error}"
                    wrong += 1
                print(f"{pattern}, special tokens {placement}, {to}: {told}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
