"""Two patterns on structured records: GPT-2's, and the one that fuses Chinese punctuation with the word before it.

    python -m corpora.classical.compare [RECORDS] [--vocab-size 8192] [-o DIRECTORY]

RECORDS is the records.jsonl of corpora.classical.prepare; without it the small sample beside this file is read. One
record in twenty is kept out of the training, and there these are measured, special tokens left out of the count:

- isolated punctuation: the share of tokens that are one punctuation mark and nothing else. Fusing brings it down.
- broken: the share of tokens that hold a part of a character. Fusing drives it up: a vocabulary that spends its ids on
  characters with their punctuation has fewer left for characters alone.
- characters per token, and the tokens of a quatrain of 28 characters, which has 32 with its punctuation.

With -o both tokenizers are saved, for `fastbpe show`, `inspect` and `report`.
"""

import argparse
import json
import lzma
import random
import re
from pathlib import Path

import numpy as np

import fastbpe
from examples.printing import table

SAMPLE = Path(__file__).parent / "sample.jsonl.xz"
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>", "<|title|>", "<|author|>", "<|dynasty|>", "<|content|>"]
PATTERNS = {"classic": "gpt2", "fused": "poetry"}
PUNCTUATION = set("，。！？；、：")
QUATRAIN = re.compile(r"<\|content\|>((?:[\u4e00-\u9fff]{7}，[\u4e00-\u9fff]{7}。){2})</s>")
HELD_OUT = 20


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--vocab-size", type=int, default=8192)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    records = records_in(options.records)
    unseen, seen = records[::HELD_OUT], [record for i, record in enumerate(records) if i % HELD_OUT]
    print(f"{len(seen):,} records to train on, {len(unseen):,} to measure with")
    rows: list[list[object]] = [["pattern", "ids", "tokens", "isolated", "broken", "char./token", "quatrain"]]
    for name, pattern in PATTERNS.items():
        tokenizer = trained(seen, options.vocab_size, pattern)
        figures = measured(tokenizer, unseen)
        rows.append([name, tokenizer.vocab_size, *figures.values()])
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            tokenizer.save(options.output / f"classical-{name}.json")
    print("\n".join(table(rows)))


def records_in(path: Path) -> list[str]:
    """The records' texts, in an order that is drawn once for all."""
    content = path.read_bytes()
    lines = (lzma.decompress(content) if path.suffix == ".xz" else content).decode().rstrip("\n").split("\n")
    records = [json.loads(line)["text"] for line in lines]
    random.Random(0).shuffle(records)
    return records


def trained(records: list[str], vocab_size: int, pattern: str) -> fastbpe.Tokenizer:
    return fastbpe.train(
        records,
        vocab_size,
        pattern=pattern,
        special_tokens=SPECIALS,
        special_placement="first",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        tie_break="first",
    )


def measured(tokenizer: fastbpe.Tokenizer, records: list[str]) -> dict[str, int | str | float]:
    """The figures of the records' text; no record starts or ends inside a token, so all are encoded together."""
    kinds = np.array([kind_of(tokenizer.token_bytes(id)) for id in range(tokenizer.vocab_size)], dtype="U16")
    kinds[list(tokenizer.special_tokens.values())] = "special"
    ids, _ = tokenizer.encode_batch_to_numpy(records, allowed_special="all")
    names, counts = np.unique(kinds[ids], return_counts=True)
    count = dict(zip(names.tolist(), counts.tolist(), strict=True))
    tokens = len(ids) - count.get("special", 0)
    characters = len(tokenizer.decode(ids, skip_special_tokens=True))
    quatrains = [match[1] for record in records if (match := QUATRAIN.search(record))]
    lengths = [len(found) for found in tokenizer.encode_batch(quatrains)]
    return {
        "tokens": tokens,
        "isolated": f"{count.get('punctuation', 0) / tokens:.2%}",
        "broken": f"{count.get('part', 0) / tokens:.2%}",
        "characters per token": round(characters / tokens, 4),
        "quatrain": f"{sum(lengths) / max(1, len(lengths)):.2f}",
    }


def kind_of(token: bytes) -> str:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return "part"
    return "punctuation" if text in PUNCTUATION else "text"


if __name__ == "__main__":
    main()
