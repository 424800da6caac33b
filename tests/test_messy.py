"""Every awkward input of make_messy.py gets its right outcome: its documents, or the reason why not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from whole_documents import documents_of

from fastbpe.corpus.sources import Corpus, files
from fastbpe.errors import DataError, DataWarning
from fastbpe.pipeline.count import count_chunks
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.pipeline.verify import verify_dataset
from fastbpe.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

pytest.importorskip("pyarrow", reason="the files are made with pyarrow")
pytest.importorskip("zstandard", reason="the files are made with zstandard")

TOKENIZER = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=["<e>"])
CUT = "is cut short"
DAMAGED = "damaged"

# Entry: (documents, bad records by reason, what the damage is said to be). Others: one document, their bytes.
OUTCOMES = {
    "utf16le_bom.txt": (0, {"UTF-16 text": 1}, None),
    "utf32_bom.txt": (0, {"UTF-32 text": 1}, None),
    "binary.png": (0, {"a PNG image": 1}, None),
    "bad_lines.jsonl": (
        10,
        {
            "not valid JSON": 6,
            "not valid UTF-8": 1,
            "not a JSON object": 3,
            "no field 'text'": 2,
            "the field 'text' is no text": 2,
            "a blank line": 2,
        },
        None,
    ),
    "truncated.jsonl.gz": (90, {}, CUT),
    "bad_crc.jsonl.gz": (0, {}, DAMAGED),
    "trailing_garbage.jsonl.gz": (11, {}, "follows its gzip data"),
    "empty.gz": (1, {}, None),
    "zero_bytes.gz": (0, {}, CUT),
    "truncated.jsonl.zst": (0, {}, CUT),
    "nested_chat.parquet": (0, {"no column 'text' or 'content'; it has messages": 1}, None),
    "truncated.parquet": (0, {}, CUT),
    "semicolon_latin1.csv": (1, {}, None),
    "array.json": (1, {}, None),
}
TEXTS = ["Hello, world!", "床前明月光，疑是地上霜。", "line one\nline two\n", "", "  leading", "trailing  ", "tab\tsep"]
TEXTS += ["emoji 👨\u200d👩\u200d👧 \U0001f680", "caf\u00e9 vs cafe\u0301", "\u0000 nul", "x" * 2000]


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """The folder of the files, and what the manifest says of each."""
    folder = tmp_path_factory.mktemp("messy")
    subprocess.run([sys.executable, Path(__file__).parent / "make_messy.py", folder], check=True, capture_output=True)
    return folder / "files", {entry["file"]: entry for entry in json.loads((folder / "manifest.json").read_text())}


def read(path, block_bytes=1 << 20, **options):
    """Documents of a file, and its report."""
    corpus = Corpus(files(path, **options))
    return documents_of(corpus.blocks(block_bytes)), corpus.reports[0]


def test_every_entry(messy):
    folder, manifest = messy
    listed = [name for name in manifest if "{" not in name and "\\x" not in name]
    assert len(listed) == 73
    for name in listed:
        entry = manifest[name]
        documents, report = read(folder / name)
        expected = entry.get("docs", entry.get("rows", 1))
        n, skipped, damage = OUTCOMES.get(name, (expected, {}, None))
        assert len(documents) == report.documents == n, name
        assert report.skipped == skipped, name
        assert report.rejected == sum(skipped.values()) - skipped.get("a blank line", 0)
        assert len(report.damaged) == (damage is not None), name
        if damage:
            assert damage in report.damaged[0][1], name
        if name.endswith((".txt", ".py", ".js")) and not skipped:
            assert documents == [(folder / name).read_bytes()], name
        if entry.get("docs", entry.get("rows")) in (11, 13) and name != "array.json":
            kept = [text.encode() for text in TEXTS]
            assert [text for i, text in enumerate(documents) if entry.get("rows") != 13 or i not in (4, 12)] == kept
        if "null_rows" in entry and entry["rows"] == 13:
            assert documents[4] == documents[12] == b""
        small, small_report = read(folder / name, 50)
        assert (small, small_report.skipped) == (documents, report.skipped), name


def test_bad_lines_one_by_one(messy):
    folder, manifest = messy
    documents, report = read(folder / "bad_lines.jsonl")
    strict = manifest["bad_lines.jsonl"]["strict_ok_text_lines"]
    texts = ["ok 1", "", "", "lone \ufffd high", "lone \ufffd low", "pair 😀 ok"]
    texts += ["escaped \\ud83d stays text, \x00 is NUL, \u2028 LS", "last wins", "NaN field", "last, no newline"]
    assert documents == [text.encode() for text in texts]
    bad = {int(what.rpartition(" ")[2]) for what, why in report.skipped_examples}
    assert bad == set(range(1, 27)) - {*strict, 4}  # null is an empty document


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("empty.gz", {"text_field": "text"}, []),
        ("mixed_newlines.txt", {"lines": True}, 3),
        ("only_newlines.txt", {"lines": True}, 1000),
        ("no_final_newline.txt", {"lines": True}, [b"last line has no newline"]),
        ("crlf.txt", {"lines": True}, [b"line 1\r\n", b"line 2\r\n", b"\r\n", b"line 4\r\n"]),
        ("not_gzip.txt.gz", {}, 1),
        ("semicolon_latin1.csv", {}, [b"caf\xe9"]),
        ("tabs.tsv", {}, [b'a "quote', b"b"]),
        ("quoted.csv", {}, 7),
        ("binary_column.parquet", {}, [b"bytes \xff", b"ok"]),
        ("bad_lines.jsonl", {"text_field": "nested.text"}, [b"deep"]),
        ("dictionary.parquet", {"where": {"lang": "x"}}, 350),
        ("dictionary.parquet", {"where": {"lang": "y"}}, []),
        ("array.json", {"text_field": "text"}, []),
        ("utf8_bom.txt", {"text_field": "text"}, []),
    ],
)
def test_with_options(messy, name, options, expected):
    documents, _ = read(messy[0] / name, **options)
    assert (len(documents) if isinstance(expected, int) else documents) == expected


def test_boms_are_counted_and_stay(messy):
    for name in ("utf8_bom.txt", "only_bom.txt", "bom.jsonl", "the stack/py/bom_crlf_tabs.py"):
        documents, report = read(messy[0] / name)
        assert report.boms == 1
        assert documents[0].startswith(b"\xef\xbb\xbf") != name.endswith("jsonl")


def test_a_source_tree(messy):
    documents, report = read(messy[0] / "the stack")
    assert len(documents) == 13
    hidden = "the stack/.hidden.txt"
    assert report.skipped["hidden"] == 1 and report.skipped_examples[0][0].endswith(hidden)
    assert sum(report.skipped.values()) == 4  # and three links
    assert b"name is not UTF-8\n" in documents
    assert report.rejected == 0


def test_stop_at_the_first(messy):
    for name, what in (("bad_lines.jsonl", r"bad_lines\.jsonl, line 2: not valid JSON"), ("binary.png", "a PNG image")):
        with pytest.raises(DataError, match=what):
            read(messy[0] / name, on_error="stop")
    for name in ("truncated.jsonl.gz", "truncated.parquet", "bad_crc.jsonl.gz"):
        with pytest.raises(DataError, match=f"{name}: .*(cut short|damaged)"):
            read(messy[0] / name, on_error="stop")


def test_all_of_it_there_and_back(messy, tmp_path):
    folder, _ = messy
    with pytest.warns(DataWarning, match=r"skipped \d+ bad records, the first: .*is cut short"):
        manifest = encode_dataset(TOKENIZER, folder, tmp_path / "out", eos_token="<e>", shard_tokens=20_000)
    with pytest.warns(DataWarning, match="bad records"):
        count_chunks(folder, pattern="gpt2")
    verify_dataset(tmp_path / "out", None, folder)
    (source,) = manifest.sources
    corpus = Corpus(folder)
    assert count_chunks(corpus, pattern="gpt2").corpus.documents == source["documents"] == manifest.documents
    assert corpus.reports[0].skipped == source["skipped"]
    damaged = {what.rpartition("/")[2] for what, _ in source["damaged"]}
    assert damaged == {name for name, outcome in OUTCOMES.items() if outcome[2]}
    assert source["boms"] == 4
    # The one more is utf16be_nobom.txt, which nobody named here.
    assert source["rejected"] == 1 + sum(
        sum(skipped.values()) - skipped.get("a blank line", 0) for _, skipped, _ in OUTCOMES.values()
    )
    assert source["skipped"]["binary data (NUL bytes, and not UTF-8)"] == 1


def test_a_line_of_twenty_megabytes(tmp_path):
    line = ("the quick brown fox 床前明月光 0123 " * 500_000)[:20_000_000].encode()
    (tmp_path / "big.txt").write_bytes(line)
    assert read(tmp_path / "big.txt", lines=True)[0] == [line]
    (tmp_path / "big.jsonl").write_bytes(json.dumps({"text": line.decode()}).encode())
    assert read(tmp_path / "big.jsonl")[0] == [line]
