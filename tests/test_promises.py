"""What holds of every tokenizer, whatever it was trained on: for all of it together, through the public names."""

import os
import pickle
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe

texts = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=30).map(str.encode),
    st.lists(
        st.sampled_from([b"ab", b" the", b"\n", b"\xe6\x97\xa5", b"\xcc\x81", b"<s>", b"<s><t>", b"\xff", b"0123"])
    ).map(b"".join),
)
trainings = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(["gpt2", "cl100k", "o200k", "poetry", "al1", "none", r"\w+(?=\d)|\w|\W"]),
        "special_tokens": st.sampled_from([(), ("<s>",), ("<s>", "<s><t>", "\u65e5")]),
        "special_placement": st.sampled_from(["last", "first"]),
        "tie_break": st.sampled_from(["lowest", "huggingface", "first"]),
        "min_frequency": st.sampled_from([1, 2]),
        "max_token_length": st.sampled_from([None, 3]),
        "unmatched": st.just("isolate"),
    }
)


def trained(corpus, **options) -> fastbpe.Tokenizer:
    return fastbpe.train([*corpus, b"some text of our own"], 300, threads=1, **options)


@given(st.lists(texts, max_size=4), trainings, st.lists(texts, max_size=4), st.booleans())
def test_every_text_comes_back(corpus, options, documents, special):
    tok = trained(corpus, **options)
    allowed = "all" if special else ()
    for document in [*corpus, *documents]:
        ids = tok.encode(document, allowed)
        assert tok.decode_bytes(ids) == document
        assert tok.decode(ids) == document.decode("utf-8", "replace")
        stream = tok.stream_decoder()
        assert "".join(map(stream.feed, ids)) + stream.finish() == document.decode("utf-8", "replace")
        found, offsets = tok.encode_with_offsets(document, allowed)
        assert found.tolist() == ids and tok.count(document, allowed) == len(ids)
        assert all(tok.token_bytes(id) == document[a:b] for id, (a, b) in zip(ids, offsets.tolist(), strict=True))


@given(st.lists(texts, max_size=4), trainings, st.lists(texts, max_size=6), st.booleans(), st.sampled_from([1, 3]))
def test_a_batch_is_its_documents(corpus, options, documents, special, threads):
    tok = trained(corpus, **options)
    allowed = "all" if special else ()
    each = [tok.encode(document, allowed) for document in documents]
    assert tok.encode_batch(documents, allowed, threads=threads) == each
    ids, offsets = tok.encode_batch_to_numpy(documents, allowed, threads=threads)
    assert ids.tolist() == [id for row in each for id in row]
    assert offsets.tolist() == np.cumsum([0, *map(len, each)]).tolist()
    assert tok.decode_batch(each) == [document.decode("utf-8", "replace") for document in documents]


@given(st.lists(st.text(max_size=20), max_size=4), trainings, st.sampled_from(["NFC", "NFKC"]), st.text(max_size=20))
def test_with_a_normalizer_the_normalized_text_comes_back(corpus, options, form, text):
    tok = trained(corpus, normalizer=form, **options)
    assert tok.decode(tok.encode(text)) == unicodedata.normalize(form, text)


@settings(max_examples=20)
@given(st.lists(texts, max_size=4), trainings, st.lists(texts, min_size=1, max_size=4))
def test_use_leaves_no_trace(corpus, options, documents):
    tok = trained(corpus, **options)
    before = pickle.dumps(tok)
    copy = pickle.loads(before)
    ids = tok.encode_batch(documents, "all", threads=2)
    tok.decode_batch(ids)
    assert pickle.dumps(tok) == before
    after = pickle.loads(pickle.dumps(tok))
    assert tok == copy == after and tok.record == copy.record == after.record
    assert copy.encode_batch(documents, "all") == after.encode_batch(documents, "all") == ids


def test_one_tokenizer_in_many_threads():
    tok = trained([b"the cat sat on the mat. " * 20], special_tokens=["<s>"])
    rng = np.random.default_rng(0)
    documents = [bytes(rng.choice([*b"the cat<s>\xff"], n)) for n in rng.integers(0, 400, 200).tolist()]
    expected = [trained([b"the cat sat on the mat. " * 20], special_tokens=["<s>"]).encode(d, "all") for d in documents]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda document: tok.encode(document, "all"), documents)) == expected
        batches = [pool.submit(tok.encode_batch, documents, "all", threads=3) for _ in range(8)]
        assert all(batch.result() == expected for batch in batches)


WORKERS = """
import multiprocessing
import fastbpe

def main():
    tok = fastbpe.train(["the cat sat on the mat. " * 20], 300)
    documents = ["the cat", "", "on the mat"]
    expected = tok.encode_batch(documents * 20_000, threads=2)[:3]  # its threads and caches are there before the fork
    with multiprocessing.get_context({method!r}).Pool(6) as pool:
        assert pool.map(tok.encode, documents) == expected
        assert pool.map(tok.encode_batch, [documents] * 7) == [expected] * 7
        assert pool.map(tok.decode, expected) == documents
    assert tok.encode_batch(documents, threads=5) == expected
    print("done")

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_worker_processes(method, tmp_path):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    script = tmp_path / "workers.py"
    script.write_text(WORKERS.format(method=method))
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    result = subprocess.run([sys.executable, script], env=path, capture_output=True, text=True, timeout=300)
    assert (result.stdout, result.returncode) == ("done\n", 0), result.stderr
