"""Writes a small directory of Parquet files laid out as the-stack is, to try its recipe on.

    python -m corpora.the-stack.make_sample DIRECTORY

data/LANGUAGE/train-00000-of-00001.parquet, one row a file, with the columns `content`, `lang`, `ext`, `size`. The
files are those of the running Python: its library, its C headers, the text files and stylesheets of its packages.
"""

import sys
import sysconfig
from pathlib import Path

LANGUAGES = {"python": ".py", "c": ".h", "text": ".txt", "css": ".css"}
MOST_FILES = 200
MOST_BYTES = 100_000


def main(directory: Path) -> None:
    paths = sysconfig.get_paths()
    roots = [Path(paths[name]) for name in ("stdlib", "include", "purelib")]
    for language, suffix in LANGUAGES.items():
        found = sorted({path for root in roots for path in root.rglob(f"*{suffix}") if path.is_file()})
        texts = [text for path in found if (text := text_of(path))][:MOST_FILES]
        if texts:
            print(f"{write(directory, language, suffix, texts)}: {len(texts)} files")


def text_of(path: Path) -> str:
    """The file's text, nothing when it is long or not UTF-8."""
    if path.stat().st_size > MOST_BYTES:
        return ""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return ""


def write(directory: Path, language: str, suffix: str, texts: list[str]) -> Path:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise SystemExit("pyarrow writes Parquet, and is missing: pip install 'fastbpe-engine[parquet]'") from None

    path = directory / "data" / language / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {
        "content": texts,
        "lang": [language] * len(texts),
        "ext": [suffix[1:]] * len(texts),
        "size": [len(text.encode()) for text in texts],
    }
    pq.write_table(pa.table(columns), path)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
