import io
import json
import tempfile
from pathlib import Path

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.corpus.sniff import kind_by_content, not_text
from fastbpe.corpus.sources import files
from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline.decode import decode_dataset, texts
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.shards import TokenShards
from fastbpe.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

TOKENIZER = Tokenizer.from_merges([(97, 98)], pattern="none", special_tokens=["<e>"])


def decoded(directory, documents="raw"):
    out = io.BytesIO()
    decode_dataset(TokenShards(directory), out, documents)
    return out.getvalue()


body = st.text("ab|\n", max_size=12).map(str.encode) | st.binary(max_size=5)
bodies = st.lists(body.filter(lambda data: not (not_text(data) or kind_by_content(data))), min_size=1, max_size=4)


@settings(max_examples=effort(30))
@given(bodies, st.sampled_from([{}, {"separator": "|"}, {"separator": b"||"}, {"lines": True}]), st.integers(1, 9))
def test_raw_gives_the_files_back(bodies, options, shard_tokens):
    with tempfile.TemporaryDirectory() as name:
        for i, body in enumerate(bodies):
            (Path(name) / f"{i}.txt").write_bytes(body)
        for source in (files(f"{name}/*.txt", **options), files(*sorted(Path(name).glob("*.txt")), **options)):
            with tempfile.TemporaryDirectory() as out:
                encode_dataset(TOKENIZER, source, out, eos_token="<e>", shard_tokens=shard_tokens)
                assert decoded(out) == b"".join(bodies)


def test_documents(tmp_path):
    documents = ["ab\n", "", "诗", b"\xff<e>"]
    encode_dataset(TOKENIZER, documents, tmp_path / "out", shard_tokens=2)
    assert list(texts(TokenShards(tmp_path / "out"))) == [b"ab\n", b"", "诗".encode(), b"\xff<e>"]
    lines = decoded(tmp_path / "out", "jsonl").decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == [{"text": t} for t in ("ab\n", "", "诗", "\ufffd<e>")]
    assert "诗" in lines[2]


def test_refused(tmp_path):
    encode_dataset(TOKENIZER, ["ab"], tmp_path / "out")
    shards = TokenShards(tmp_path / "out")
    with pytest.raises(ParameterError, match="raw or jsonl"):
        decode_dataset(shards, io.BytesIO(), "text")
    other = Tokenizer.from_merges([(97, 99)], pattern="none", special_tokens=["<e>"])
    with pytest.raises(DataError, match="another tokenizer"):
        decode_dataset(shards, io.BytesIO(), tokenizer=other)
    assert decode_dataset(shards, io.BytesIO(), tokenizer=TOKENIZER) == 1
