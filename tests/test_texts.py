import tempfile

import numpy as np
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_maker import TOKENIZER, change_manifest, make_shards

from fastbpe.errors import DataError
from fastbpe.shards import TokenShards
from fastbpe.shards.texts import read_texts, token_lengths

documents = st.lists(st.text("abc<\n", max_size=8).map(str.encode) | st.binary(max_size=4), max_size=8)
policies = st.sampled_from([(False, None), (True, None), (False, "append"), (True, "append"), (False, "prepend")])


@settings(max_examples=effort(60))
@given(documents, policies, st.integers(1, 9), st.integers(1, 9), st.none() | st.integers(1, 8))
def test_texts_come_back(documents, policy, shard_tokens, stretch_tokens, row):
    with tempfile.TemporaryDirectory() as name:
        make_shards(f"{name}/out", documents, shard_tokens, *policy, pack=row)
        found, current = [], b""
        for data, ends in read_texts(TokenShards(f"{name}/out"), stretch_tokens):
            start = 0
            for end in ends.tolist():
                found.append(current + data[start:end])
                current, start = b"", end
            current += data[start:]
        assert (found, current) == (documents, b"")


def test_lengths():
    lengths = token_lengths(TOKENIZER)
    assert len(lengths) == TOKENIZER.id_limit
    assert np.array_equal(lengths, [len(TOKENIZER.token_bytes(id)) for id in range(TOKENIZER.id_limit)])


@pytest.mark.parametrize("change", [{"eos_id": 258}, {"bos_token": "<s>", "bos_id": 258}])
def test_missing_marks_are_seen(tmp_path, change):
    make_shards(tmp_path / "out", [b"abc", b"xyz"], eos="append")
    change_manifest(tmp_path / "out", **change)
    with pytest.raises(DataError, match="lacks its bos or eos"):
        list(read_texts(TokenShards(tmp_path / "out")))


def test_an_id_that_the_tokenizer_does_not_have(tmp_path):
    make_shards(tmp_path / "out", [b"abc", b"xyz"])
    path = next((tmp_path / "out").glob("*.npy"))
    data = bytearray(path.read_bytes())
    data[-1] = 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"{path.name}: id \d+ at position \d+ is not in the vocabulary"):
        list(read_texts(TokenShards(tmp_path / "out")))
