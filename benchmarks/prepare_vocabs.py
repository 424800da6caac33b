"""Lays out the vocabularies that `measure.py encode` reads.

    python benchmarks/prepare_vocabs.py DIRECTORY cl100k_base.tiktoken o200k_base.tiktoken

The files are tiktoken's, as its users have them (.xz is unpacked); they are not part of this repository. DIRECTORY
gets each of them as NAME.tiktoken, and as NAME.json in the form of Hugging Face's tokenizers. Needs tiktoken, whose
definition of an encoding says which special tokens it has and by whose hash the file is checked.
"""

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

from encoders import published

from fastbpe.alphabet import to_characters
from fastbpe.pattern.named import NAMED

# What tokenizer.json files of these vocabularies have, and what fast readers of such files know by its text. In
# cl100k_base's case it differs from tiktoken's own pattern only in white space at the very end of a text.
PATTERNS = {"cl100k_base": "llama3", "o200k_base": "o200k"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for path in arguments.files:
        name = path.name.split(".")[0]
        if name not in PATTERNS:
            parser.error(f"{path}: the name is none of {', '.join(PATTERNS)}")
        content = path.read_bytes()
        if path.suffix == ".xz":
            content = lzma.decompress(content)
        parameters = published(name, content)
        ranks = parameters["mergeable_ranks"]
        (arguments.directory / f"{name}.tiktoken").write_bytes(content)
        described = tokenizer_json(ranks, parameters["special_tokens"], NAMED[PATTERNS[name]])
        (arguments.directory / f"{name}.json").write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")
        print(f"{name}: {len(ranks):,} ranks")


def tokenizer_json(ranks: dict[bytes, int], special_tokens: dict[str, int], pattern: str | None) -> dict[str, Any]:
    tokens = sorted(ranks, key=ranks.__getitem__)
    merges = [[to_characters(part) for part in halves(token, ranks)] for token in tokens if len(token) > 1]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, "content": name, **added} for name, id in special_tokens.items()],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {to_characters(token): ranks[token] for token in tokens},
            "merges": merges,
        },
    }


def halves(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The last merge that builds the token: what merging its bytes with lower ranks alone leaves is two parts."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        joined = [left + right for left, right in zip(parts, parts[1:], strict=False)]
        at = min(range(len(joined)), key=lambda i: ranks.get(joined[i], len(ranks)))
        if ranks.get(joined[at], len(ranks)) >= ranks[token]:
            raise ValueError(f"token {ranks[token]}, {token!r}: no merges of lower ranks build it")
        parts[at : at + 2] = [joined[at]]
    left, right = parts
    return left, right


if __name__ == "__main__":
    main()
