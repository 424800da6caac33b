import gc
import json
import tempfile
import weakref
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from test_cuts import texts as texts_of_cuts
from test_stretches import blocks_of

import fastbpe
from fastbpe import ChunkCounts
from fastbpe.corpus.sources import Corpus
from fastbpe.errors import DataError, MemoryBoundError, ParameterError, PatternError
from fastbpe.normalizing import UNICODE_VERSION, normalized
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline import count as module
from fastbpe.pipeline.bounded import BoundedCounter
from fastbpe.pipeline.count import count_chunks

words = st.sampled_from(
    ["a", "the", " the", "The", "\n", "  ", " \n", "1234", "é", "床前明月光", "，", "!!", "'s", "x" * 20]
)
texts = st.lists(st.lists(words, max_size=20).map("".join), max_size=6)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "none"])
@given(texts, st.sampled_from([1, 2, 5]), st.sampled_from([1, 7, 1 << 20]))
def test_counts_equal_the_reference(pattern: str, texts: list[str], threads: int, block_bytes: int) -> None:
    def in_blocks(self: Corpus):
        return blocks(self, block_bytes)

    def small(table_bytes: int, runs: object, copies: int) -> BoundedCounter:
        return BoundedCounter(table_bytes if block_bytes > 1 else 0, 1, 1, copies=copies)

    blocks = Corpus.blocks
    with patch.object(Corpus, "blocks", in_blocks), patch.object(module, "BoundedCounter", small):
        counts = count_chunks(iter(texts), pattern, threads=threads)
    assert list(counts.items()) == list(reference.count_chunks(texts, NAMED[pattern]).items())
    assert counts.pattern == NAMED[pattern]
    assert counts.corpus.documents == len(texts)
    assert counts.corpus.n_bytes == sum(len(text.encode()) for text in texts)


@given(
    st.lists(texts_of_cuts, max_size=5),
    st.sampled_from(["NFC", "NFKC"]),
    st.sampled_from([(), ("<s>",)]),
    st.sampled_from([1, 3]),
    st.lists(st.integers(1, 30), min_size=1, max_size=3),
)
def test_normalized_text_is_counted(documents, form, specials, threads, sizes) -> None:
    expected: dict[bytes, int] = {}
    splitter = Splitter("cl100k")
    for document in documents:
        for part in document.split(b"<s>") if specials else [document]:
            text = normalized(part, form)
            ends = splitter.ends(text).tolist()
            for start, stop in zip([0, *ends], ends, strict=False):
                expected[text[start:stop]] = expected.get(text[start:stop], 0) + 1
    with patch.object(Corpus, "blocks", lambda self: blocks_of(documents, sizes)):
        counts = count_chunks(documents, "cl100k", specials, normalizer=form, threads=threads)
    assert list(counts.items()) == list(expected.items())
    assert (counts.normalizer, counts.unicode_version) == (form, UNICODE_VERSION)
    assert counts.corpus.n_bytes == sum(map(len, documents))


def test_rows_keep_their_order_when_text_grows() -> None:
    long = "\ufdfa" * 40
    documents = [f"{long} a{i} " for i in range(30)]
    sizes = [7]
    data = [document.encode() for document in documents]
    with patch.object(Corpus, "blocks", lambda self: blocks_of(data, sizes)):
        small = count_chunks(documents, "cl100k", normalizer="NFKC", threads=2)
    assert list(small.items()) == list(count_chunks(documents, "cl100k", normalizer="NFKC").items())


def test_special_tokens_are_cut_out() -> None:
    counts = count_chunks(["a<s>b <s>", "<s><s>", "a <t>"], "gpt2", ["<s>", "<t>"])
    assert list(counts.items()) == [(b"a", 2), (b"b", 1), (b" ", 2)]
    assert counts.special_tokens == ("<s>", "<t>")
    assert counts.corpus.documents == 3


def test_counts_of_parts_add_up() -> None:
    a, b = ["the cat", "the dog"], ["a dog", "the end"]
    assert count_chunks(a) + count_chunks(b) == count_chunks(a + b)
    assert (count_chunks(a) + count_chunks(b)).corpus == count_chunks(a + b).corpus


def test_files_and_paths_are_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"the {name}")
    expected = [(b"the", 2), (b" a", 1), (b" b", 1)]
    for source in (tmp_path, fastbpe.files(tmp_path / "*.txt"), Corpus(tmp_path)):
        assert list(count_chunks(source).items()) == expected
    with pytest.raises(ParameterError, match="names an existing file"):
        count_chunks([str(tmp_path / "a.txt")])
    with pytest.raises(ParameterError, match="a bare str"):
        count_chunks(str(tmp_path))


@pytest.mark.parametrize("threads", [1, 3])
@given(st.lists(st.tuples(st.sampled_from(["zh", "en", "x"]), texts), max_size=5), st.sampled_from([1, 7, 1 << 20]))
def test_weighted_counts_equal_the_reference(threads: int, files: list, block_bytes: int) -> None:
    weights = {"zh": "2.5", "en": "1/3"}
    expected: dict[bytes, Fraction] = {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, documents) in enumerate(files):
            path = Path(folder, f"{k}", name)
            path.parent.mkdir()
            path.write_text("|".join(documents))
            for chunk, n in reference.count_chunks(documents, NAMED["gpt2"]).items():
                expected[chunk] = expected.get(chunk, Fraction(0)) + n * Fraction(weights.get(name, 1))
        given = {name: weight for name, weight in weights.items() if any(file[0] == name for file in files)}
        blocks = Corpus.blocks
        source = fastbpe.files(folder, separator="|")
        with patch.object(Corpus, "blocks", lambda self: blocks(self, block_bytes)):
            counts = count_chunks(source, "gpt2", weights=given, threads=threads)
    assert {chunk: Fraction(n, counts.denominator) for chunk, n in counts.items()} == expected
    assert [chunk for chunk, _ in counts.items()] == list(expected)


def test_weights_that_match_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(ParameterError, match=r"'b\.txt' is that of no source"):
        count_chunks(tmp_path, weights={"a.txt": 2, "b.txt": 2})
    with pytest.raises(ParameterError, match=r"'b\.txt' is that of no source"):
        count_chunks(["text"], weights={"*": 2, "b.txt": 2})
    assert list(count_chunks(["text"], weights={"documents given": "0.5"}).items()) == [(b"text", 1)]
    counts = count_chunks(tmp_path, weights=[("a.txt", "0.5")])
    assert counts.sources[0]["weights"] == [["a.txt", "1/2"]]


def test_an_empty_source_gives_empty_counts() -> None:
    counts = count_chunks([])
    assert len(counts) == 0 and counts.corpus.documents == 0
    counts = count_chunks(["", ""])
    assert len(counts) == 0 and counts.corpus.documents == 2


def test_invalid_bytes_are_kept_and_reported() -> None:
    counts = count_chunks([b"good", b"b\xffd \xe4\xb8"])
    assert sum(len(chunk) * n for chunk, n in counts.items()) == 10
    assert (counts.corpus.invalid_bytes, counts.corpus.first_invalid) == (3, "documents given, document 1, byte 1")


@pytest.mark.parametrize("threads", [1, 2])
def test_strict_refuses_the_first_invalid_byte(tmp_path: Path, threads: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"word " * 500_000 + b"\xff" + b" word\xfe" * 500_000)
    with pytest.raises(DataError, match=r"a\.txt, document 0, byte 2500000: the byte 0xff"):
        count_chunks(tmp_path, errors="strict", threads=threads)


def test_replace_counts_the_replaced_text() -> None:
    texts = [b"a \xff\xe4\xb8 b", b"\xc3", "good é".encode()]
    counts = count_chunks(texts, errors="replace")
    assert counts == count_chunks([text.decode("utf-8", "replace") for text in texts])
    assert (counts.corpus.invalid_bytes, counts.corpus.first_invalid) == (4, "documents given, document 0, byte 2")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_document_of_many_blocks_counts_as_one(threads: int) -> None:
    text = "".join(f"word{i % 997} {'x' * (i % 23)}\n  " for i in range(200_000))
    counts = count_chunks([text], "gpt2", threads=threads)
    expected = reference.count_chunks([text], NAMED["gpt2"])
    assert list(counts.items()) == list(expected.items())


def test_one_huge_chunk() -> None:
    for pattern in ("none", "gpt2"):
        counts = count_chunks(["a" * 5_000_000, "b", "a" * 5_000_000], pattern)
        assert list(counts.items()) == [(b"a" * 5_000_000, 2), (b"b", 1)]


def test_an_error_of_the_source_comes_through() -> None:
    def source():
        yield "text"
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        count_chunks(source(), threads=2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"errors": "ignore"}, ParameterError),
        ({"threads": 0}, ParameterError),
        ({"memory": "much"}, ParameterError),
        ({"memory": "1MB"}, ParameterError),
        ({"pattern": "nosuch"}, PatternError),
        ({"pattern": "a+"}, PatternError),
        ({"special_tokens": "<s>"}, ParameterError),
        ({"special_tokens": [b"<s>"]}, ParameterError),
        ({"special_tokens": ["<s>", "<s>"]}, ParameterError),
        ({"special_tokens": [""]}, ParameterError),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict, error: type[Exception]) -> None:
    with pytest.raises(error):
        count_chunks(["text"], **options)


def test_unmatched_text_can_be_kept() -> None:
    counts = count_chunks(["aab ba"], "a+", unmatched="isolate")
    assert list(counts.items()) == [(b"aa", 1), (b"b b", 1), (b"a", 1)]
    assert counts.unmatched == "isolate"


def test_progress_is_told() -> None:
    events = []
    counts = count_chunks(["the cat", "the"], threads=2, progress=events.append)
    assert (events[0].phase, events[0].unit) == ("count", "bytes")
    assert events[-1].finished and events[-1].done == 10
    assert events[-1].facts == {"documents": 2, "chunks": 3, "distinct_chunks": 2}
    assert isinstance(counts, ChunkCounts) and counts.counts.dtype == np.int64


LONG_TEXTS = [bytes([letter]) * 3_000_000 for letter in b"abcdefgabc"]


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_texts_without_a_cut_share_the_room_there_is(threads: int, pattern: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"\n".join(LONG_TEXTS))
    kinds = {
        "bytes": lambda: iter(LONG_TEXTS),
        "str": lambda: (text.decode() for text in LONG_TEXTS),
        "lines": lambda: fastbpe.files(lines, lines=True),
    }
    for kind, source in kinds.items():
        expected = list(count_chunks(source(), pattern, threads=threads).items())
        with patch.object(module, "table_bytes", lambda memory, threads: 12 << 20):
            assert list(count_chunks(source(), pattern, threads=threads).items()) == expected
        with (
            patch.object(module, "table_bytes", lambda memory, threads: 8 << 20),
            pytest.raises(MemoryBoundError, match="no place to cut and grows beyond the 3 MB") as info,
        ):
            count_chunks(source(), pattern, threads=threads)
        place = {"lines": f"{lines}, document 0, byte 0"}
        assert str(info.value).startswith(place.get(kind, "documents given, document 0, byte 0"))


@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.parametrize("between", [" ", "a"])
def test_long_lines_of_json_are_within_the_bound(threads: int, between: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"text": "b"}, *({"text": f"{letter}{between}" * 1_500_000} for letter in "abcdefgabc")]
    path.write_text("\n".join(map(json.dumps, records)))
    expected = list(count_chunks(fastbpe.files(path), "gpt2", threads=threads).items())
    with patch.object(module, "table_bytes", lambda memory, threads: 24 << 20):
        assert list(count_chunks(fastbpe.files(path), "gpt2", threads=threads).items()) == expected
    with (
        patch.object(module, "table_bytes", lambda memory, threads: 20 << 20),
        pytest.raises(MemoryBoundError, match=r"line 2: grows beyond the 2\.8 MB .* give more memory") as info,
    ):
        count_chunks(fastbpe.files(path), "gpt2", threads=threads)
    assert str(info.value).startswith(f"{path}, line 2")


def test_a_counter_goes_when_the_text_is_counted() -> None:
    counters = []

    def counter(*arguments: int, **options: object) -> BoundedCounter:
        made = BoundedCounter(*arguments, **options)  # type: ignore[arg-type]
        counters.append(weakref.ref(made))
        return made

    corpus = Corpus(["a text"])
    with patch.object(module, "BoundedCounter", counter):
        count_chunks(corpus, "gpt2", max_bytes=100)
    gc.collect()
    assert len(counters) == 1 and counters[0]() is None


def test_a_sample_holds_no_more_than_there_is_room_for() -> None:
    def sampled(table_bytes: int) -> list[tuple[bytes, int]]:
        with patch.object(module, "table_bytes", lambda memory, threads: table_bytes):
            return list(count_chunks(LONG_TEXTS * 4, "none", max_bytes=60_000_000, sample_seed=1, threads=2).items())

    expected = sampled(1 << 30)
    assert sum(count * len(chunk) for chunk, count in expected) > 30_000_000
    assert sampled(14 << 20) == expected
    with pytest.raises(MemoryBoundError, match="documents given, document"):
        sampled(1 << 20)
