"""pipeline/extend.py: going on from a tokenizer is as if training had never stopped."""

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe.errors import ParameterError
from fastbpe.merging import TIE_BREAKS
from fastbpe.pattern.named import NAMED


def test_the_tokenizers_normalizer_is_taken():
    short = fastbpe.train(["e\u0301e\u0301 e\u0301"], 257, normalizer="NFC")
    long = fastbpe.extend(short, ["e\u0301e\u0301e\u0301e\u0301"], 258)
    assert long.model.normalizer == "NFC" and long.token_bytes(257) == "\u00e9\u00e9".encode()
    with pytest.raises(ParameterError, match="normalizer None, the tokenizer has 'NFC'"):
        fastbpe.extend(short, fastbpe.count_chunks(["a"]), 258)


documents_of = st.lists(st.text("abc \n", min_size=1, max_size=40), min_size=1, max_size=5)


@given(
    documents_of, st.integers(0, 10), st.integers(0, 10), st.sampled_from(TIE_BREAKS), st.sampled_from(["gpt2", "none"])
)
def test_the_same_text_gives_what_one_training_would_have(documents, first, more, tie_break, pattern):
    short = fastbpe.train(documents, 256 + first, pattern=pattern, tie_break=tie_break)
    long = fastbpe.extend(short, documents, short.vocab_size + more, tie_break=tie_break)
    whole = fastbpe.train(documents, short.vocab_size + more, pattern=pattern, tie_break=tie_break)
    assert long == whole
    assert long.model.counts.tolist() == whole.model.counts.tolist()
    assert long.record["extended"] == short.record


@given(documents_of, documents_of, st.integers(0, 20), st.integers(0, 10), st.booleans())
def test_a_rank_table_is_extended_as_the_merges_that_make_its_tokens(old, new, first, more, whole_chunk_first):
    listed = fastbpe.train(old, 256 + first, pattern="gpt2")
    ranks = {listed.token_bytes(id): id for id in range(listed.vocab_size)}
    table = fastbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", whole_chunk_first=whole_chunk_first)
    long = fastbpe.extend(table, new, table.vocab_size + more)
    assert long.merges.tolist() == fastbpe.extend(listed, new, table.vocab_size + more).merges.tolist()
    if len(long.merges) == len(listed.merges):
        assert [long.encode(text) for text in new] == [table.encode(text) for text in new]


def test_a_rank_table_with_a_token_that_no_merge_makes_is_refused():
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"xyz": 257}
    table = fastbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
    with pytest.raises(ParameterError, match=r"no merge of two tokens makes token 257, b'xyz'"):
        fastbpe.extend(table, iter(["never read"]), 300)
    assert fastbpe.extend(fastbpe.Tokenizer.from_ranks(dict(list(ranks.items())[:257]), pattern="gpt2"), ["abab"], 258)


@given(documents_of, documents_of, st.integers(0, 10), st.integers(1, 10))
def test_new_text_is_merged_as_the_tokenizer_encodes_it(old, new, first, more):
    short = fastbpe.train(old, 257 + first, pattern="gpt2", special_tokens=["<s>"])
    long = fastbpe.extend(short, new, short.vocab_size + more)
    assert long.merges[: len(short.merges)].tolist() == short.merges.tolist()
    assert long.special_tokens == short.special_tokens
    words = {
        chunk: reference.encode_chunk(chunk, short.merges.tolist())
        for chunk in reference.count_chunks(new, NAMED["gpt2"])
    }
    added = long.merges[len(short.merges) :].tolist()
    weighted = [(words[chunk], n) for chunk, n in reference.count_chunks(new, NAMED["gpt2"]).items()]
    for k, pair in enumerate(added):
        counts = reference.pair_counts(weighted)
        top = max(counts.values())
        assert pair == list(min(pair for pair, n in counts.items() if n == top))
        weighted = [(reference.replace(ids, tuple(pair), short.id_limit + k), n) for ids, n in weighted]


def test_ids_that_exist_do_not_move():
    short = fastbpe.train(["ab ab"], 258, special_tokens=["<s>"])
    long = fastbpe.extend(short, ["xyz xyz"], 260)
    assert long.special_tokens == {"<s>": 257}
    assert long.model.ids[-2:].tolist() == [258, 259]
    assert [long.token_bytes(i) for i in (256, 258, 259)] == [b"ab", b"xy", b"xyz"]
    assert long.decode(long.encode("ab xyz")) == "ab xyz"


def test_what_cannot_be_is_refused():
    short = fastbpe.train(["ab ab"], 257)
    with pytest.raises(fastbpe.ParameterError, match="below the 257 ids"):
        fastbpe.extend(short, ["ab"], 256)
    with pytest.raises(fastbpe.ParameterError, match="the pattern"):
        fastbpe.extend(short, fastbpe.ChunkCounts.from_dict({b"ab": 2}, pattern="gpt2"), 300)
    with pytest.raises(fastbpe.ParameterError, match="min_frequency=0"):
        fastbpe.extend(short, iter([]), 300, min_frequency=0)
    with pytest.raises(fastbpe.DataError, match="no text"):
        fastbpe.extend(short, [""], 300)


def test_counts_of_old_and_new_merges_have_one_denominator():
    tok = fastbpe.train(["ab ab"], 258, "gpt2", weights={"*": "0.5"}, min_frequency=1)
    more = fastbpe.extend(tok, ["cd" * 9], 260, weights={"*": "1/3"})
    assert more.record["denominator"] == 6 and more.record["corpus"]["denominator"] == 3
    assert more.model.counts.tolist() == [6, 18, 16]
    with pytest.raises(fastbpe.ParameterError, match="times"):
        fastbpe.extend(tok, fastbpe.count_chunks(["cd"], "gpt2"), 260, weights={"*": "1/3"})
