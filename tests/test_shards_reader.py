import tempfile
import zlib
from dataclasses import asdict

import numpy as np
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_maker import EOS, TOKENIZER, change_manifest, make_shards

from fastbpe.errors import DataError, FormatError
from fastbpe.shards import TokenShards

documents = st.lists(st.text("abc<\n", max_size=8).map(str.encode) | st.binary(max_size=4), max_size=8)
policies = st.sampled_from([(False, None), (True, None), (False, "append"), (True, "append"), (False, "prepend")])


@settings(max_examples=effort(30))
@given(documents, policies, st.integers(1, 9), st.data())
def test_documents_and_slices(documents, policy, shard_tokens, data):
    with tempfile.TemporaryDirectory() as name:
        make_shards(f"{name}/out", documents, shard_tokens, *policy)
        shards = TokenShards(f"{name}/out")
        assert shards.documents == len(documents)
        assert [shards.document_bytes(i) for i in range(len(documents))] == documents
        assert [shards.document_text(i) for i in range(len(documents))] == [
            d.decode("utf-8", "replace") for d in documents
        ]
        everything = [token for i in range(len(documents)) for token in shards.document(i).tolist()]
        assert shards[:].tolist() == everything and len(shards) == len(everything)
        assert [array.tolist() for array in shards.iterate()] == [
            shards.document(i).tolist() for i in range(len(documents))
        ]
        for _ in range(5):
            place = data.draw(st.slices(max(1, len(everything))))
            assert shards[place].tolist() == everything[place]
        if everything:
            at = data.draw(st.integers(-len(everything), len(everything) - 1))
            assert shards[at] == everything[at]
        shards.verify()
        assert shards.tokenizer == TOKENIZER


@settings(max_examples=effort(40))
@given(documents, policies, st.integers(1, 3), st.integers(1, 8), st.data())
def test_rows(documents, policy, rows_a_shard, row, data):
    with tempfile.TemporaryDirectory() as name:
        make_shards(f"{name}/out", documents, rows_a_shard, *policy, pack=row)
        shards = TokenShards(f"{name}/out")
        shards.verify()
        assert [shards.document_bytes(i) for i in range(len(documents))] == documents
        assert [array.tolist() for array in shards.iterate()] == [
            shards.document(i).tolist() for i in range(len(documents))
        ]
        assert [token for i in range(shards.rows) for token in shards.row(i).tolist()] == shards[:].tolist()
        inside = np.zeros(len(shards), bool)
        for i in range(len(documents)):
            start, stop = shards.document_range(i)
            inside[start + 1 : stop] = True
        assert [on for i in range(shards.rows) for on in shards.goes_on(i).tolist()] == inside.tolist()


def test_damaged_rows(tmp_path):
    out = tmp_path / "out"
    manifest = make_shards(out, [b"xyz", b"xy"], 10, eos="append", pack=5)
    good = (out / "manifest.json").read_text()
    for changed, what in (
        ({"padding": 2}, "3 tokens lie in no document, and the manifest says 2 of rows of 5"),
        ({"pack": None, "pad_id": None}, "2 tokens after the end"),
        ({"pad_id": EOS}, "something that is no padding lies between documents"),
        ({"pack": 3}, "no padding lies between"),
    ):
        change_manifest(out, **changed)
        with pytest.raises(DataError, match=what):
            TokenShards(out).verify()
        (out / "manifest.json").write_text(good)
    path = out / manifest.shards[0].index
    np.save(path, np.array([4, 7], "<i8"))
    crc32 = f"{zlib.crc32(path.read_bytes()):08x}"
    change_manifest(out, shards=[asdict(manifest.shards[0]) | {"index_crc32": crc32}])
    with pytest.raises(DataError, match="no padding lies between"):
        TokenShards(out).verify()


def test_a_slice_in_one_shard_is_not_copied(tmp_path):
    make_shards(tmp_path / "out", [b"xyz" * 10], 100)
    shards = TokenShards(tmp_path / "out")
    assert isinstance(shards[2:5], np.memmap) and not shards[2:5].flags.writeable
    assert repr(shards).endswith("30 tokens, 1 document in 1 shard)")


def test_out_of_range(tmp_path):
    make_shards(tmp_path / "out", [b"xyz"])
    shards = TokenShards(tmp_path / "out")
    for call in (lambda: shards[3], lambda: shards[-4], lambda: shards.document(1), lambda: shards.document(-1)):
        with pytest.raises(IndexError):
            call()


def test_no_documents(tmp_path):
    make_shards(tmp_path / "out", [])
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert (len(shards), shards.documents, shards[:].tolist(), list(shards.iterate())) == (0, 0, [], [])


def test_every_changed_byte_is_seen(tmp_path):
    out = tmp_path / "out"
    make_shards(out, [b"abc", b"", b"xyz"], 3)
    for path in sorted(out.rglob("*.npy")):
        whole = path.read_bytes()
        for at in range(0, len(whole), 7):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(DataError, match="checksum"):
                TokenShards(out).verify()
        path.write_bytes(whole)
        path.rename(tmp_path / "away")
        with pytest.raises(DataError, match="cannot be read"):
            TokenShards(out).verify()
        (tmp_path / "away").rename(path)
    TokenShards(out).verify()


def test_contradictions_are_seen(tmp_path):
    out = tmp_path / "out"
    make_shards(out, [b"abc", b"xyz"], 10, eos="append")
    good = (out / "manifest.json").read_text()
    change_manifest(out, id_limit=257)
    with pytest.raises(DataError, match="ids that the tokenizer does not have"):
        TokenShards(out).verify()
    (out / "manifest.json").write_text(good)
    change_manifest(out, dtype="uint32", id_limit=70_000)
    with pytest.raises(FormatError, match="the manifest says"):
        TokenShards(out).verify()
    (out / "manifest.json").write_text(good)
    change_manifest(out, eos_id=EOS - 1)
    with pytest.raises(DataError, match="lacks its bos or eos"):
        TokenShards(out).document_bytes(0)
    (out / "manifest.json").write_text(good)
    change_manifest(out, fingerprint="0" * 64)
    with pytest.raises(FormatError, match="not the tokenizer"):
        _ = TokenShards(out).tokenizer


def test_index_must_tile_the_tokens(tmp_path):
    out = tmp_path / "out"
    manifest = make_shards(out, [b"xy", b"z"], 10)
    for ends, what in (([2, 1], "do not ascend"), ([2, 4], "do not ascend"), ([1, 2], "1 token after the end")):
        path = out / manifest.shards[0].index
        np.save(path, np.array(ends, "<i8"))
        crc32 = f"{zlib.crc32(path.read_bytes()):08x}"
        change_manifest(out, shards=[asdict(manifest.shards[0]) | {"index_crc32": crc32}])
        with pytest.raises(DataError, match=what):
            TokenShards(out).verify()
