"""Whether published vocabularies give the ids that are on record, loaded from tokenizer.json and from ranks.

    python tools/check_vocabularies.py DIRECTORY ROWS [--text FILE ...] [--megabytes 10] [--to FORMAT ...]

DIRECTORY holds NAME.tokenizer.json and NAME.tiktoken, .xz or not, which need not be free to copy. ROWS are JSON lines
{vocab, mode, text, ids} as in tests/data/golden_public.jsonl.xz; special tokens are allowed unless mode is "ordinary".
With texts, each tokenizer.json is also held against the library tokenizers on them, and each vocabulary is written in
every format that can hold it, which is read back and compared. A line is printed for each; the exit code is 1 when ids
differed.
"""

import argparse
import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

from check_formats import pieces

import fastbpe
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import FORMATS, export
from fastbpe.formats.gguf import DEEPSEEK_V3

# What a rank file does not hold; where a tokenizer.json has the same name, its special tokens are taken.
RANKS: dict[str, dict[str, Any]] = {
    "gpt2": {"pattern": "gpt2", "special_tokens": {"<|endoftext|>": 50256}},
    "p50k_base": {"pattern": "gpt2", "special_tokens": {"<|endoftext|>": 50256}},
    "cl100k_base": {
        "pattern": "cl100k",
        "special_tokens": {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    },
    "o200k_base": {"pattern": "o200k", "special_tokens": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
    "llama3": {"pattern": "llama3"},
    "qwen": {
        "pattern": "qwen2",
        "normalizer": "NFC",
        "special_tokens": {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
    },
    "tekken_240718": {"pattern": "tekken", "id_offset": 1000},
    "deepseek_v3": {"pattern": DEEPSEEK_V3},
}
VOCAB_OF = {"qwen": "qwen2", "qwen3": "qwen2", "gptoss": "o200k_base"}
"""Whose rows a file is checked with, where the names differ."""


def content(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


def files(directory: Path, kind: str) -> dict[str, Path]:
    return {name_of(path): path for end in ("", ".xz") for path in sorted(directory.glob(f"*.{kind}{end}"))}


def against_rows(tokenizer: fastbpe.Tokenizer, rows: list[dict[str, Any]]) -> tuple[int, str]:
    wrong = [
        row
        for row in rows
        if tokenizer.encode(row["text"], allowed_special=() if row["mode"] == "ordinary" else "all") != row["ids"]
    ]
    first = f", the first {wrong[0]['text']!r}" if wrong else ""
    return len(wrong), f"{len(rows)} rows, {len(wrong)} of them wrong{first}"


def against_library(tokenizer: fastbpe.Tokenizer, path: Path, texts: list[str]) -> tuple[int, str]:
    import tokenizers

    library = tokenizers.Tokenizer.from_str(content(path).decode())
    wrong = 0
    for text in texts:
        ids = library.encode(text, add_special_tokens=False).ids
        wrong += ids != tokenizer.encode(text, allowed_special="all")
    return wrong, f"tokenizers {tokenizers.__version__} on {len(texts)} texts, {wrong} of them wrong"


def through_formats(tokenizer: fastbpe.Tokenizer, formats: list[str], texts: list[str]) -> tuple[int, list[str]]:
    wrong, told = 0, []
    for to in formats:
        try:
            with tempfile.TemporaryDirectory() as folder:
                report = export(tokenizer, Path(folder) / "x", to, sample=texts)
            told.append(f"{to}: " + ", ".join(f"{one.engine} {one.skipped or one.texts}" for one in report.checks))
        except ParameterError as error:
            told.append(f"{to}: refused: {error}")
        except FormatError as error:
            told.append(f"{to}: WRONG: {error}")
            wrong += 1
    return wrong, told


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--text", nargs="*", type=Path, default=[])
    parser.add_argument("--to", nargs="*", choices=FORMATS, default=FORMATS)
    parser.add_argument("--megabytes", type=float, default=10)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in content(arguments.rows).splitlines()]
    texts: list[str] = []
    for path in arguments.text:
        with path.open("rb") as file:
            texts += pieces(file.read(int(arguments.megabytes * 1e6)).decode(errors="ignore"))
    wrong = 0
    loaded: dict[str, fastbpe.Tokenizer] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("tokenizer.json", "tiktoken"):
            for name, path in files(arguments.directory, kind).items():
                if kind == "tiktoken" and name not in RANKS:
                    print(f"{name}.{kind}: no pattern is known for it here")
                    continue
                plain = Path(folder) / kind
                plain.write_bytes(content(path))
                given = dict(RANKS[name]) if kind == "tiktoken" else {}
                if given and name in loaded:
                    given["special_tokens"] = dict(loaded[name].special_tokens)
                tokenizer = fastbpe.load(plain, **given)
                if kind == "tokenizer.json":
                    loaded[name] = tokenizer
                vocab = VOCAB_OF.get(name, name)
                n, told = against_rows(tokenizer, [row for row in rows if row["vocab"] == vocab])
                wrong += n
                print(f"{name}.{kind}: {told}", flush=True)
                if texts and kind == "tokenizer.json":
                    n, told = against_library(tokenizer, path, texts)
                    wrong += n
                    print(f"{name}.{kind}: {told}", flush=True)
                if texts:
                    n, lines = through_formats(tokenizer, arguments.to, texts)
                    wrong += n
                    print("".join(f"{name}.{kind} to {line}\n" for line in lines), end="", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
