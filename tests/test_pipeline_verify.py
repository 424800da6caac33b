import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cuts import texts as texts_of_cuts

from fastbpe.corpus.sources import files
from fastbpe.errors import DataError
from fastbpe.normalizing import UNICODE_VERSION
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.pipeline.verify import Verified, verify_dataset
from fastbpe.text import counted
from fastbpe.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

TOKENIZER = Tokenizer.from_merges([(97, 98)], pattern="none", special_tokens=["<e>"])


lists = st.lists(st.sampled_from([b"", b"a", b"ab", b"abab", b"b" * 9]), max_size=6)


@given(lists, lists, st.integers(1, 9), st.sampled_from([None, "<e>"]))
def test_differs_exactly_when_the_documents_do(documents, others, shard_tokens, eos):
    with tempfile.TemporaryDirectory() as out:
        encode_dataset(TOKENIZER, documents, out, eos_token=eos, shard_tokens=shard_tokens)
        size = sum(map(len, documents))
        verified = verify_dataset(out, TOKENIZER, documents)
        assert verified.bytes == size and verified.documents == len(documents)
        if documents == others:
            verify_dataset(out, TOKENIZER, others)
            return
        first = next((i for i, pair in enumerate(zip(documents, others, strict=False)) if pair[0] != pair[1]), None)
        with pytest.raises(DataError) as caught:
            verify_dataset(out, TOKENIZER, others)
        if first is not None:
            assert f": document {first} " in str(caught.value)
        elif len(documents) > len(others):
            assert f"document {len(others)} is not in the source" in str(caught.value)
        else:
            assert f"ends after {counted(len(documents), 'document')}, and the source goes on" in str(caught.value)


def test_reads_the_sources_with_the_manifests_options(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab|b||" * 50)
    encode_dataset(TOKENIZER, files(path, separator="|"), tmp_path / "out", shard_tokens=40)
    for source in (path, files(path), files(path, lines=True)):
        assert verify_dataset(tmp_path / "out", None, source) == Verified(3, 100, 151, 150)
    path.write_bytes(b"ab|b||" * 20 + b"ab|x||" + b"ab|b||" * 29)
    with pytest.raises(DataError, match=r"document 61 differs from .*a\.txt, document 61, byte 123"):
        verify_dataset(tmp_path / "out", None, path)


def test_without_a_source(tmp_path):
    encode_dataset(TOKENIZER, ["ab"], tmp_path / "out")
    assert verify_dataset(tmp_path / "out") == Verified(1, 1, 1, None)
    other = Tokenizer.from_merges([(97, 99)], pattern="none", special_tokens=["<e>"])
    with pytest.raises(DataError, match=r"another tokenizer .*its own lies there as tokenizer\.json"):
        verify_dataset(tmp_path / "out", other)
    other.save(tmp_path / "out/tokenizer.json")
    with pytest.raises(DataError, match="not the tokenizer that encoded"):
        verify_dataset(tmp_path / "out")


def test_progress(tmp_path):
    encode_dataset(TOKENIZER, ["ab", "c"], tmp_path / "out")
    events = []
    verify_dataset(tmp_path / "out", None, ["ab", "c"], progress=events.append)
    assert [(e.phase, e.done) for e in events if e.finished] == [("verify", 2), ("compare", 3)]


def test_damage_is_found_first(tmp_path):
    encode_dataset(TOKENIZER, ["ab"], tmp_path / "out")
    shard = Path(tmp_path / "out/tokens_train_000000.npy")
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DataError, match=r"tokens_train_000000\.npy: is not as it was written"):
        verify_dataset(tmp_path / "out")


@given(
    st.lists(texts_of_cuts, max_size=4),
    st.sampled_from(["NFC", "NFKC"]),
    st.sampled_from([None, "<e>"]),
    st.sampled_from([(), "all"]),
)
def test_the_normalized_text_is_compared(documents, form, eos, allowed):
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=["<e>", "<s>"], normalizer=form)
    with tempfile.TemporaryDirectory() as out:
        manifest = encode_dataset(tokenizer, documents, out, eos_token=eos, allowed_special=allowed, shard_tokens=9)
        assert manifest.unicode_version == UNICODE_VERSION
        verified = verify_dataset(out, tokenizer, documents)
        size = sum(len(tokenizer.decode_bytes(tokenizer.encode(document, allowed))) for document in documents)
        assert (verified.bytes, verified.normalizer) == (size, form)
        with pytest.raises(DataError, match=rf"\(compared in {form}\)"):
            verify_dataset(out, tokenizer, [*documents[:-1], documents[-1] + b"!"] if documents else [b"x"])


def test_a_difference_in_normalized_text_is_placed(tmp_path):
    path = tmp_path / "a.txt"
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens=["<s>"], normalizer="NFC")
    path.write_text("e\u0301<s>abc", encoding="utf-8")
    encode_dataset(tokenizer, path, tmp_path / "out", allowed_special="all")
    assert verify_dataset(tmp_path / "out", None, path).normalizer == "NFC"
    path.write_text("e\u0301<s>abd", encoding="utf-8")
    with pytest.raises(DataError, match=r"document 0 differs from .*a\.txt, document 0, byte 6 \(compared in NFC\)"):
        verify_dataset(tmp_path / "out", None, path)
