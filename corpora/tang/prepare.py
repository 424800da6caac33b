"""Prepares the regulated Tang poems: poems.txt, one a line, in an order that is drawn once for all.

    python -m corpora.tang.prepare DIRECTORY

DIRECTORY gets the npm package chinese-poetry 2.0.1 (fetched by npm unless it is there) and poems.txt. All of its Tang
poems are converted to simplified characters (pip install opencc). Kept is a poem of four or eight lines of five or of
seven characters, ， and 。 in turn and nothing else; of equal poems one. The order is that of a sorted list, shuffled
by random.Random(0): the first 2,000 are for training and the last 500 are not, in what is published about them.

Every count is checked against the published one; poems.txt takes its name only when all are the same.
"""

import hashlib
import random
import re
import sys
from collections import Counter
from pathlib import Path

from corpora.chinese_poetry import fetched, files_of, simplified
from examples.printing import table

HAN = "[\u4e00-\u9fff]"
FORMS = {
    f"{lines} lines of {length}": re.compile(f"(?:{HAN}{{{length}}}，{HAN}{{{length}}}。){{{lines // 2}}}")
    for lines in (4, 8)
    for length in (5, 7)
}
PUBLISHED = {
    "files": 58,
    "poems": 57_607,
    "of the four forms": 35_740,
    "distinct": 35_135,
    "4 lines of 5": 3_656,
    "4 lines of 7": 10_087,
    "8 lines of 5": 13_865,
    "8 lines of 7": 7_527,
    "characters without newlines": 1_557_776,
    "distinct characters": 6_288,
    "bytes": 4_708_463,
    "sha256": "59c39eed079b075431d476863aa8395c7c5dd714e2bb58858afce3200cfec0f3",
}


def main(directory: Path) -> int:
    poems, counts = prepared(fetched(directory))
    same = compared(counts)
    rows = [[name, counts[name], "as published" if same[name] else f"published: {PUBLISHED[name]}"] for name in same]
    print("\n".join(table(rows)))
    path = directory / "poems.txt"
    if not all(same.values()):
        print(f"{path} is not written: these are other poems, or OpenCC converts them differently", file=sys.stderr)
        return 1
    path.write_bytes(text_of(poems))
    print(path)
    return 0


def prepared(archive: Path) -> tuple[list[str], dict[str, int | str]]:
    """The poems in their order, and the counts of all steps."""
    (files,) = files_of(archive, "quantangshi/poet.tang.*.json")
    every = simplified(["".join(poem.lines).replace("\n", "") for poems in files.values() for poem in poems])
    kept = [poem for poem in every if form_of(poem)]
    poems = sorted(set(kept))
    random.Random(0).shuffle(poems)
    text = text_of(poems)
    forms = Counter(map(form_of, poems))
    return poems, {
        "files": len(files),
        "poems": len(every),
        "of the four forms": len(kept),
        "distinct": len(poems),
        **{form: forms[form] for form in FORMS},
        "characters without newlines": sum(map(len, poems)),
        "distinct characters": len(set("".join(poems))),
        "bytes": len(text),
        "sha256": hashlib.sha256(text).hexdigest(),
    }


def form_of(poem: str) -> str | None:
    return next((name for name, form in FORMS.items() if form.fullmatch(poem)), None)


def text_of(poems: list[str]) -> bytes:
    return "".join(f"{poem}\n" for poem in poems).encode()


def compared(counts: dict[str, int | str]) -> dict[str, bool]:
    return {name: counts[name] == published for name, published in PUBLISHED.items()}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
