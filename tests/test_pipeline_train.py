"""pipeline/train.py: from documents or counts to a tokenizer, against the reference."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe.errors import ParameterError
from fastbpe.merging import TIE_BREAKS
from fastbpe.normalizing import UNICODE_VERSION
from fastbpe.pattern.named import NAMED
from fastbpe.pipeline import train as module

texts = st.lists(st.text("ab c\n1é，月", max_size=30), min_size=1, max_size=6)


def trained(documents, vocab_size, **options):
    return fastbpe.train([document.encode() for document in documents], vocab_size, **options)


@given(texts, st.integers(0, 30), st.sampled_from(["gpt2", "cl100k", "none"]), st.sampled_from(TIE_BREAKS))
def test_equals_the_reference(documents, n_merges, pattern, tie_break):
    counts = reference.count_chunks(documents, NAMED[pattern])
    if not counts:
        with pytest.raises(fastbpe.DataError, match="no text to train on"):
            trained(documents, 256 + n_merges, pattern=pattern)
        return
    expected, reason = reference.train(counts, n_merges, tie_break=tie_break)
    tokenizer = trained(documents, 256 + n_merges, pattern=pattern, tie_break=tie_break)
    assert tokenizer.merges.tolist() == [[left, right] for left, right, _, _ in expected]
    assert tokenizer.model.counts.tolist() == [count for _, _, count, _ in expected]
    assert tokenizer.record["stop_reason"] == reason
    for document in documents:
        assert tokenizer.encode(document) == reference.encode(document, [pair[:2] for pair in expected], NAMED[pattern])


def test_special_tokens_are_cut_out_and_numbered():
    documents = ["<s>ab ab<s>ab</s>"] * 3
    last = trained(documents, 300, special_tokens=["<s>", "</s>"], eos_token="</s>")
    first = trained(documents, 300, special_tokens=["<s>", "</s>"], special_placement="first")
    assert not any(b"<" in last.token_bytes(i) for i in range(256, 256 + len(last.merges)))
    assert last.special_tokens == {"<s>": 256 + len(last.merges), "</s>": 257 + len(last.merges)}
    assert first.special_tokens == {"<s>": 0, "</s>": 1}
    assert (first.merges - 2).tolist() == last.merges.tolist()
    assert last.eos_id == last.special_tokens["</s>"]


def test_the_record_says_what_was_done():
    tokenizer = trained(["low low lower lowest", "", "\n"], 260, pattern="gpt2", min_frequency=3)
    assert tokenizer.record == {
        "fastbpe": fastbpe.__version__,
        "parameters": {
            "vocab_size": 260,
            "min_frequency": 3,
            "max_token_length": None,
            "tie_break": "lowest",
            "min_chunk_count": 1,
        },
        "corpus": {"documents": 3, "bytes": 21, "invalid_bytes": 0, "chunks": 5, "distinct_chunks": 5},
        "stop_reason": "min_frequency",
    }


def test_counts_bring_their_pattern_and_special_tokens():
    counts = fastbpe.ChunkCounts.from_dict({b"ab": 5, b" ab": 3}, pattern="gpt2", special_tokens=["<s>"])
    tokenizer = fastbpe.train(counts, 258)
    assert (tokenizer.pattern, tokenizer.pattern_name) == (NAMED["gpt2"], "gpt2")
    assert tokenizer.special_tokens == {"<s>": 257}
    assert fastbpe.train(counts, 258, pattern="gpt2", special_tokens=["<s>"]) == tokenizer
    for options, message in (
        ({"pattern": "cl100k"}, "made with"),
        ({"pattern": None}, "made with"),
        ({"special_tokens": ["</s>"]}, "name the same ones"),
        ({"unmatched": "isolate"}, "made with"),
        ({"errors": "strict"}, "errors='strict' is for text"),
        ({"errors": "bogus"}, "errors='bogus': choose"),
        ({"threads": -3}, "threads is an integer"),
    ):
        with pytest.raises(fastbpe.ParameterError, match=message):
            fastbpe.train(counts, 258, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, "below the floor of 258"),
        ({"vocab_size": 10**30}, "do not fit in 32 bits"),
        ({"vocab_size": "300"}, r"vocab_size must be a whole number, not '300' \(str\)"),
        ({"special_tokens": {"<s>": 5}}, r"which training gives: list\(names\)"),
        ({"min_frequency": 0}, "min_frequency=0"),
        ({"max_token_length": 0}, "max_token_length=0"),
        ({"special_placement": "middle"}, "special_placement='middle'"),
        ({"tie_break": "any"}, "tie_break='any'"),
        ({"min_frequency": 0}, "min_frequency=0"),
        ({"max_token_length": 0}, "max_token_length=0"),
        ({"eos_token": "</s>"}, "eos_token='</s>' is not among"),
        ({"special_tokens": "<s>"}, "list of names"),
        ({"pattern": "gpt3"}, "gpt3"),
    ],
)
def test_parameters_are_refused_before_anything_is_read(options, message):
    def documents():
        raise AssertionError("read")
        yield

    with pytest.raises(fastbpe.ParameterError, match=message):
        fastbpe.train(documents(), **{"vocab_size": 300, **options})


def test_limits_that_nothing_reaches():
    documents = ["aaaa aaaa"]
    assert trained(documents, 300, min_frequency=2**64).vocab_size == 256
    assert trained(documents, 300, max_token_length=2**64) == trained(documents, 300)
    for option in ("min_frequency", "max_token_length"):
        with pytest.raises(TypeError):
            trained(documents, 300, **{option: 1.5})


def test_merges_are_told_as_they_are_learned():
    parts = []
    tokenizer = trained(["low low lower lowest"] * 4, 262, on_merges=parts.append)
    assert np.concatenate([part.pairs for part in parts]).tolist() == tokenizer.merges.tolist()
    assert parts[-1].stop_reason == "vocab_size"


def test_rare_chunks_are_left_out_and_told():
    documents = ["ab ab ab cd"]
    tokenizer = trained(documents, 300, pattern="gpt2", min_chunk_count=2)
    assert [tokenizer.token_bytes(i) for i in range(256, tokenizer.vocab_size)] == [b" a", b" ab"]
    assert tokenizer.record["corpus"]["chunks"] == 4
    assert tokenizer.record["corpus"]["dropped_chunks"] == tokenizer.record["corpus"]["dropped_distinct_chunks"] == 2
    with pytest.raises(fastbpe.DataError, match="min_chunk_count"):
        trained(documents, 300, min_chunk_count=5)
    with pytest.raises(fastbpe.ParameterError, match="min_chunk_count=0"):
        trained(documents, 300, min_chunk_count=0)


def test_what_the_kernel_cannot_tell_apart_is_refused_before_merging():
    counts = fastbpe.ChunkCounts.from_dict({b"ab" * n: n for n in range(1, 10)})
    with patch.object(module, "MAX_DISTINCT_COUNTS", 5):
        with pytest.raises(fastbpe.ParameterError, match=r"9 different values, and merging can tell 5 apart"):
            fastbpe.train(counts, 300)
        assert fastbpe.train(counts, 300, min_chunk_count=5).merges.tolist()[0] == [97, 98]
        same = fastbpe.ChunkCounts.from_dict({b"ab" * n: 7 for n in range(1, 10)})
        assert fastbpe.train(same, 257).merges.tolist() == [[97, 98]]
    with (
        patch.object(module, "MAX_CELLS", 50),
        pytest.raises(fastbpe.ParameterError, match="9 distinct chunks of 90 bytes are too many"),
    ):
        fastbpe.train(counts, 300)


def test_more_distinct_counts_than_24_bits_number():
    n = 2**24 + 10
    starts = np.arange(0, 2 * n + 1, 2, dtype=np.int64)
    data = np.tile(np.frombuffer(b"ab", np.uint8), n)
    counts = fastbpe.ChunkCounts(data, starts, np.arange(1, n + 1, dtype=np.int64))
    tokenizer = fastbpe.train(counts, 257)
    assert tokenizer.model.counts.tolist() == [n * (n + 1) // 2]


@pytest.mark.parametrize("pattern", ["(", "a|(?:", "a"])
def test_counts_of_a_pattern_that_no_tokenizer_takes_are_refused_before_merging(pattern):
    counts = fastbpe.ChunkCounts(np.frombuffer(b"ab", np.uint8), np.array([0, 2]), np.array([3]), pattern)
    learned = []
    with pytest.raises(fastbpe.PatternError):
        fastbpe.train(counts, 300, on_merges=learned.append)
    assert not learned


def test_merging_above_the_memory_bound_is_refused_with_the_counts():
    with pytest.raises(fastbpe.MemoryBoundError, match=r"needs about .* MB of memory, above the bound of 1 MB") as info:
        fastbpe.train(fastbpe.ChunkCounts.from_dict({b"ab": 5}), 300, memory="1MB")
    assert isinstance(info.value, MemoryError)
    assert dict(info.value.counts.items()) == {b"ab": 5}


@given(
    st.lists(st.tuples(st.text("ab ", max_size=30), st.sampled_from(["5/2", "1/3", "0.2"])), min_size=1, max_size=5),
    st.integers(1, 12),
    st.sampled_from(TIE_BREAKS),
    st.integers(1, 4),
)
def test_weighted_text_equals_the_reference(texts, n_merges, tie_break, min_frequency):
    chunks, counts = {}, None
    for text, weight in texts:
        for chunk, n in reference.count_chunks([text], NAMED["gpt2"]).items():
            chunks[chunk] = chunks.get(chunk, 0) + n * Fraction(weight)
        part = fastbpe.count_chunks([text], "gpt2", weights={"*": weight})
        counts = part if counts is None else counts + part
    if not chunks:
        return
    expected, stop = reference.train(chunks, n_merges, min_frequency, None, tie_break)
    tok = fastbpe.train(counts, 256 + n_merges, min_frequency=min_frequency, tie_break=tie_break)
    assert [tuple(pair) for pair in tok.merges.tolist()] == [merge[:2] for merge in expected]
    assert [Fraction(n, tok.model.denominator) for n in tok.model.counts.tolist()] == [merge[2] for merge in expected]
    assert tok.record["stop_reason"] == stop


def test_weights_are_recorded_and_thresholds_are_weighted():
    text = ["ab " * 5, "cd"]  # " ab" has a weighted count of 2, "ab", " " and "cd" have 0.5
    tok = fastbpe.train(text, 300, weights={"*": "0.5"}, min_frequency=2, min_chunk_count=2)
    assert tok.record["corpus"]["weights"] == [[["*", "1/2"]]]
    assert tok.record["denominator"] == 2
    assert tok.record["corpus"]["dropped_distinct_chunks"] == 3
    tok = fastbpe.train(text, 300, weights={"*": "0.5"}, min_frequency=2)
    assert [tok.token_bytes(id) for id in range(256, tok.vocab_size)] == [b"ab", b" ab"]
    assert tok.model.counts.tolist() == [5, 4]
    counts = fastbpe.count_chunks(text, weights={"*": "0.5"})
    assert fastbpe.train(counts, 300) == tok
    with pytest.raises(fastbpe.ParameterError, match=r"counts\.times"):
        fastbpe.train(counts, 300, weights={"*": 2})


def test_the_normalizer_is_trained_with_and_kept() -> None:
    tok = fastbpe.train(["e\u0301e\u0301 e\u0301"], 257, normalizer="NFC")
    assert tok.model.normalizer == "NFC" and tok.token_bytes(256) == "\u00e9".encode()
    assert tok.record["corpus"]["unicode_version"] == UNICODE_VERSION
    counts = fastbpe.count_chunks(["e\u0301e\u0301 e\u0301"], normalizer="NFC")
    assert fastbpe.train(counts, 257) == fastbpe.train(counts, 257, normalizer="NFC") == tok
    with pytest.raises(ParameterError, match="normalizer='NFKC', but these counts"):
        fastbpe.train(counts, 257, normalizer="NFKC")
    with pytest.raises(ParameterError, match="NFD"):
        fastbpe.train(["a"], 257, normalizer="NFD")
    assert "unicode_version" not in fastbpe.train(["aa aa"], 257).record["corpus"]
