"""Splitter: the golden chunks at every block size, its public behaviour, its refusals."""

import json
import lzma
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pattern_strategies as nasty
import pytest
from effort import CHECKED
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError, PatternError
from fastbpe.kernels.split import split_ends
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.splitter import Splitter
from fastbpe.text import utf8

GOLDEN = Path(__file__).parent / "data" / "golden_chunks_public.jsonl.xz"
PATTERNS = {
    "gpt2": "gpt2",
    "gpt2_tiktoken": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": "cl100k",
    "llama3": "llama3",
    "qwen2": "qwen2",
    "o200k_base": "o200k",
    "tekken": "tekken",
    "seed004": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "seed004_fused": "poetry",
    "seed002_re": "al1",
}
NAMES = [name for name, text in NAMED.items() if text]
BLOCKS = [7, 64, 4096] if CHECKED else [1, 2, 3, 7, 64, 4096]


def golden_rows():
    with lzma.open(GOLDEN, "rt", encoding="utf-8") as lines:
        return [(row["pattern"], utf8(row["text"]), row["lens"]) for row in map(json.loads, lines)]


def streamed(splitter, data, block):
    """The ends when the text comes in blocks: what is before the last certain cut is split, the rest is carried on."""
    ends, start = [], 0
    for stop in range(block, len(data) + block, block):
        stop = min(stop, len(data))
        cut = len(data) if stop == len(data) else splitter.last_cut(data, start, stop)
        if cut > start:
            seen = data[start:stop]
            spans = np.array([[0, cut - start, stop - start, -1]], np.int64)
            ends += (split_ends(seen, spans, splitter.table) + start).tolist()
            start = cut
    return ends


@pytest.mark.parametrize("block", BLOCKS)
def test_golden_chunks(block):
    splitters = {name: Splitter(pattern) for name, pattern in PATTERNS.items()}

    def check(row):
        pattern, data, lengths = row
        ends = streamed(splitters[pattern], data, block)
        assert np.diff([0, *ends]).tolist() == lengths, (pattern, data)
        return 1

    rows = golden_rows()
    assert len(rows) == 2496 and {row[0] for row in rows} == set(PATTERNS)
    assert sum(map(check, rows)) == len(rows)
    if block == 64:  # two threads at once say the same
        with ThreadPoolExecutor(2) as pool:
            assert sum(pool.map(check, rows)) == len(rows)


def test_golden_chunks_whole():
    splitters = {name: Splitter(pattern) for name, pattern in PATTERNS.items()}
    for pattern, data, lengths in golden_rows():
        assert np.diff(splitters[pattern].ends(data), prepend=0).tolist() == lengths, (pattern, data)


@given(st.sampled_from(NAMES), nasty.raw_texts(40), st.integers(1, 50))
def test_blocks_of_any_size(name, data, block):
    splitter = Splitter(name)
    assert streamed(splitter, data, block) == splitter.ends(data).tolist()


@given(nasty.any_patterns(), nasty.raw_texts(30), st.integers(1, 30))
def test_blocks_of_any_size_with_any_pattern(pattern, data, block):
    try:
        splitter = Splitter(pattern, unmatched="isolate")
    except PatternError:
        return
    if splitter.table is not None:
        assert streamed(splitter, data, block) == splitter.ends(data).tolist()


def test_split():
    assert Splitter("gpt2").split("Hello world, it's 2024!  ok") == [
        "Hello", " world", ",", " it", "'s", " 2024", "!", " ", " ok"
    ]  # fmt: skip
    assert Splitter("cl100k").split("") == []
    assert Splitter(None).split("a b") == ["a b"]
    assert Splitter("gpt2").split("a\ud83d\udc4d\ud800") == ["a", "👍\ufffd"]


@given(st.sampled_from([*NAMES, None]), st.text())
def test_chunks_join_to_the_text(name, text):
    assert "".join(Splitter(name).split(text)) == utf8(text).decode()


def test_attributes():
    splitter = Splitter()
    assert (splitter.name, splitter.pattern, splitter.engine) == ("cl100k", NAMED["cl100k"], "dfa")
    assert splitter.table is not None and splitter.cut_window > 0 and splitter.note is None
    assert Splitter("poetry").table is Splitter("poetry").table
    whole = Splitter("none")
    assert (whole.name, whole.pattern, whole.engine, whole.table) == ("none", None, "none", None)
    assert whole.last_cut(b"a b", 0, 3) == -1
    assert Splitter(NAMED["gpt2"]).name == "gpt2"
    assert Splitter(r"[\s\S]").name is None
    assert Splitter("gpt2").span_ends(b"", np.zeros((0, 4), np.int64)) is None


def test_unknown_names():
    with pytest.raises(PatternError, match=r"no pattern is called 'cl100'.*gpt2, cl100k, o200k"):
        Splitter("cl100")
    with pytest.raises(PatternError, match="not int"):
        Splitter(3)
    with pytest.raises(ParameterError, match="refuse or isolate"):
        Splitter("gpt2", unmatched="keep")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\w+", "unmatched, for example at the beginning of '!'"),
        (r"\p{L}|\P{L}{2}", "unmatched"),
        (r"\w*", "empty text, for example in '!'"),
        (r"(?=a)b", "no text at all"),
        (r"[^\x00-\x{10ffff}]+", "unmatched"),
        (r"(a", "not closed"),
    ],
)
def test_refused_patterns(pattern, message):
    with pytest.raises(PatternError, match=message):
        Splitter(pattern)


def test_isolated():
    splitter = Splitter(r"\w+", unmatched="isolate")
    assert splitter.split("one, two;; (three") == ["one", ", ", "two", ";; (", "three"]
    assert splitter.split("!!") == ["!!"]
    assert splitter.ends(b"a\xff\xfeb").tolist() == [1, 3, 4]
    for pattern in (r"\w*", r"(?=a)b"):
        with pytest.raises(PatternError):
            Splitter(pattern, unmatched="isolate")


@pytest.mark.parametrize("engine", ["dfa", "regex"])
def test_a_dollar_is_the_end_of_the_text_only(engine):
    """As in Rust; in Python it also stands before a last newline."""
    also = "" if engine == "dfa" else r"|(?<=!)x"
    at_end, at_lines = Splitter(rf"a+${also}|[\s\S]"), Splitter(rf"a+(?m:$){also}|[\s\S]")
    assert (at_end.engine, at_lines.engine) == (engine, engine)
    assert at_end.split("aa\naa\n") == ["a", "a", "\n", "a", "a", "\n"]
    assert at_end.split("aa\naa") == ["a", "a", "\n", "aa"]
    assert at_lines.split("aa\naa\n") == ["aa", "\n", "aa", "\n"]


def test_the_regex_module_takes_what_does_not_compile():
    splitter = Splitter(r"\w+(?<!a)|[\s\S]")
    assert splitter.engine == "regex" and splitter.table is None
    assert "look-behind" in splitter.note and "\n" not in splitter.note
    assert splitter.split("bba ab") == ["bb", "a", " ", "ab"]
    data = b"<s>bba ab<s>a"
    spans = np.array([[0, 3, 0, 7], [3, 9, 9, -1], [9, 12, 0, 7], [12, 13, 13, -1]], np.int64)
    assert splitter.span_ends(data, spans).tolist() == [5, 6, 7, 9, 13]
    assert splitter.last_cut(data, 0, len(data)) == -1 and splitter.cut_window == 0
    possessive = Splitter(r"(?:ab|[cd])++c|[\s\S]")
    assert possessive.engine == "regex" and "possessive" in possessive.note
    with pytest.raises(PatternError, match="unmatched"):
        Splitter(r"\w+(?<!a)")
    assert Splitter(r"\w+(?<!a)", unmatched="isolate").split("bba!b") == ["bb", "a!", "b"]


def test_threads_share_a_splitter():
    data = ("The quick brown 狐狸 jumps, 1234 times.\n\n    over()\n" * 2000).encode()
    splitter = Splitter("o200k")
    expected = splitter.ends(data).tolist()
    with ThreadPoolExecutor(4) as pool:
        assert all(ends.tolist() == expected for ends in pool.map(splitter.ends, [data] * 16))


DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
ROWS = [DEEPSEEK, (r"\d", r"a*b|a", r"\w+"), (r"\s+(?!\S)", r"[\s\S]{2}"), ("gpt2", r"\p{L}{2}"), (r"a+b", r"[ab]c")]


def in_a_row(patterns, data):
    pieces = [data]
    for pattern in patterns:
        texts, pieces = pieces, []
        for text in texts:
            at = 0
            for length in nasty.isolated(NAMED.get(pattern) or pattern, text):
                pieces.append(text[at : at + length])
                at += length
    return np.cumsum([len(piece) for piece in pieces], dtype=np.int64).tolist()


@given(st.sampled_from(ROWS), nasty.texts(40).map(str.encode))
def test_several_splits_in_a_row(patterns, data):
    assert Splitter(patterns).ends(data).tolist() == in_a_row(patterns, data)


@given(st.sampled_from(ROWS), nasty.raw_texts(40), st.integers(1, 60), st.sampled_from([1, 2, 5, 600, 10**6]))
def test_several_splits_in_a_row_in_blocks(patterns, data, block, capacity):
    splitter = Splitter(patterns)
    expected = splitter.ends(data).tolist()
    assert streamed(splitter, data, block) == expected
    assert split_ends(data, None, splitter.table, capacity).tolist() == expected


def test_deepseek_by_hand():
    splitter = Splitter(list(DEEPSEEK))
    assert splitter.split("Hello  1234 你好ab.cd\n") == ["Hello", "  ", "123", "4", " ", "你好", "ab", ".cd", "\n"]
    assert (splitter.engine, splitter.name, splitter.pattern) == ("dfa", None, DEEPSEEK)
    assert splitter.last_cut(b"12 ab", 0, 5) == 2
    assert Splitter([]).split("ab c") == Splitter(["none"]).split("ab c") == ["ab c"]
    with pytest.raises(PatternError, match="in a row"):
        Splitter([r"(?:ab|[cd])++c", r"\w"])
    with pytest.raises(ValueError, match="more than 8"):
        Splitter([r"\w"] * 9)
