"""Trains on a directory of Parquet files by language, as the-stack is laid out, and encodes each language to shards.

    python -m corpora.the-stack.train DIRECTORY OUTPUT [--weight python=2 --weight c=1/2] [--vocab-size 32768] ...

DIRECTORY holds data/LANGUAGE/*.parquet (any depth) whose column `content` is a document; pyarrow reads them (pip
install 'fastbpe-engine[parquet]'). A weight says how much a language counts in training, exactly: one with weight 10
gets merges as if there were ten times as much of it. OUTPUT gets tok.json and shards/LANGUAGE, and the table says how
many bytes of each language a token holds.

A terabyte need not be read for the tokenizer: --max-bytes 5GB takes a sample of whole documents, the same every time.
"""

import argparse
from pathlib import Path

import fastbpe
from examples.printing import table
from fastbpe.pipeline.progress import progress_on

END = "<|endoftext|>"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--vocab-size", type=int, default=32_768)
    parser.add_argument("--weight", action="append", default=[], metavar="LANGUAGE=WEIGHT")
    parser.add_argument("--max-bytes", help="how much to train on, as 5GB; all if not given")
    parser.add_argument("--val-fraction", type=float, default=0.01)
    options = parser.parse_args(arguments)
    languages = sorted(path.name for path in options.directory.glob("data/*") if path.is_dir())
    if not languages:
        parser.error(f"{options.directory} has no data/LANGUAGE: give the directory that holds data/")
    weights = dict(weight.split("=", 1) for weight in options.weight)
    if unknown := sorted(weights.keys() - set(languages)):
        parser.error(f"there is no language {unknown[0]}: {options.directory} has {', '.join(languages)}")

    with progress_on() as display:
        tokenizer = fastbpe.train(
            fastbpe.files(*[pattern(options.directory, language) for language in languages], text_field="content"),
            options.vocab_size,
            special_tokens=[END],
            eos_token=END,
            weights={f"data/{language}/**": weight for language, weight in weights.items()},
            max_bytes=options.max_bytes,
            progress=display,
        )
    options.output.mkdir(parents=True, exist_ok=True)
    tokenizer.save(options.output / "tok.json")
    rows: list[list[object]] = [["language", "weight", "documents", "bytes", "tokens", "bytes/token"]]
    for language in languages:
        manifest = fastbpe.encode_dataset(
            tokenizer,
            fastbpe.files(pattern(options.directory, language), text_field="content"),
            options.output / "shards" / language,
            eos_token=END,
            val_fraction=options.val_fraction,
        )
        text_tokens = manifest.tokens - manifest.documents  # each document's END is no part of its text
        counts = [manifest.documents, manifest.bytes, manifest.tokens]
        rows.append([language, weights.get(language, "1"), *counts, f"{manifest.bytes / max(1, text_tokens):.3f}"])
    print("\n".join(table(rows)))


def pattern(directory: Path, language: str) -> str:
    return f"{directory}/data/{language}/**/*.parquet"


if __name__ == "__main__":
    main()
