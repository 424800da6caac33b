import csv
import gzip
import json
import os
import resource
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from children import fork
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.corpus.sources import files
from fastbpe.errors import DataError, DataWarning, FastbpeError, FormatError, ParameterError
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.pipeline.verify import verify_dataset
from fastbpe.shards import TokenShards
from fastbpe.shards.texts import read_texts
from fastbpe.shards.writer import ShardWriter
from fastbpe.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="gpt2", special_tokens=["<s>", "<e>"])
BOS, EOS = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["<e>"]


def contents(directory):
    """Every file below a directory."""
    directory = Path(directory)
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def tokenizer_of(id_limit):
    """Bytes, and a special token with the largest id."""
    tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, None, {"<e>": id_limit - 1})
    assert tokenizer.id_limit == id_limit
    return tokenizer


documents = st.lists(st.text("abc <se>\n", max_size=12) | st.binary(max_size=6), max_size=8)


@settings(max_examples=effort(40))
@given(
    documents,
    st.sampled_from([{}, {"eos_token": "<e>"}, {"bos_token": "<s>", "eos_token": "<e>"}, {"bos_token": "<s>"}]),
    st.sampled_from([(), ["<e>"], "all"]),
    st.integers(1, 20),
    st.integers(1, 3),
    st.sampled_from([1, 5, 1 << 20]),
)
def test_shards_hold_what_encode_gives(documents, roles, allowed, shard_tokens, threads, block_bytes):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", block_bytes)
        out = Path(name) / "out"
        options = {"allowed_special": allowed, "shard_tokens": shard_tokens, "val_shards": 1, "threads": threads}
        manifest = encode_dataset(TOKENIZER, documents, out, **roles, **options)
        expected = []
        for document in documents:
            ids = TOKENIZER.encode(document, allowed_special=allowed)
            expected.append([BOS] * ("bos_token" in roles) + ids + [EOS] * ("eos_token" in roles))
        shards = TokenShards(out)
        assert [shards.document(i).tolist() for i in range(shards.documents)] == expected
        assert (manifest.documents, manifest.tokens) == (len(documents), sum(map(len, expected)))
        assert manifest == shards.manifest
        for number, shard in enumerate(manifest.shards):
            array = np.load(out / shard.file)
            assert array.dtype == np.uint16 and array.ndim == 1
            assert len(array) == shard_tokens or number == len(manifest.shards) - 1
            assert shard.file == f"tokens_{'train' if number else 'val'}_{number:06d}.npy"
        shards.verify()
        left = TOKENIZER.special_tokens.keys() - (TOKENIZER.special_tokens if allowed == "all" else allowed)
        texts = [d.encode() if isinstance(d, str) else d for d in documents]
        counted = {name: sum(text.count(name.encode()) for text in texts) for name in sorted(left)}
        assert manifest.special_left_as_text == {name: n for name, n in counted.items() if n}
        assert set(os.listdir(out)) == {"index", "manifest.json", "tokenizer.json", *(s.file for s in manifest.shards)}


def test_prepended_eos(tmp_path):
    encode_dataset(TOKENIZER, ["ab", "", "c"], tmp_path / "out", eos_token="<e>", eos_place="prepend")
    shards = TokenShards(tmp_path / "out")
    assert shards[:].tolist() == [EOS, 256, EOS, EOS, 99]
    assert [shards.document_text(i) for i in range(3)] == ["ab", "", "c"]


def test_threads_and_blocks_do_not_change_a_byte(tmp_path, monkeypatch):
    text = [("ab c " * 50 + "\n") * n for n in (0, 1, 5, 40)] * 3
    encode_dataset(TOKENIZER, text, tmp_path / "one", threads=1, shard_tokens=500, eos_token="<e>")
    encode_dataset(TOKENIZER, text, tmp_path / "two", threads=3, shard_tokens=500, eos_token="<e>")
    for size in (1, 50, 3000):
        monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", size)
        encode_dataset(TOKENIZER, text, tmp_path / f"{size}", shard_tokens=500, eos_token="<e>")
        assert contents(tmp_path / f"{size}") == contents(tmp_path / "one")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize(("id_limit", "dtype"), [(65_536, np.uint16), (65_537, np.uint32)])
def test_dtype_at_the_edge(tmp_path, id_limit, dtype):
    tokenizer = tokenizer_of(id_limit)
    encode_dataset(tokenizer, ["a", "b"], tmp_path / "out", eos_token="<e>")
    shards = TokenShards(tmp_path / "out")
    assert shards[:].tolist() == [97, id_limit - 1, 98, id_limit - 1]
    assert np.load(tmp_path / "out/tokens_train_000000.npy").dtype == dtype
    shards.verify()


@pytest.mark.parametrize("documents", [[], ["", "", ""]])
def test_nothing_to_encode(tmp_path, documents):
    manifest = encode_dataset(TOKENIZER, documents, tmp_path / "out")
    assert (manifest.tokens, manifest.documents) == (0, len(documents))
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert [shards.document_text(i) for i in range(shards.documents)] == documents


def test_manifest_tells_of_the_sources(tmp_path):
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "a.txt").write_bytes(b"one|two|")
    (data / "sub/b.txt").write_bytes(b"three")
    (data / "sub/.c.txt").write_bytes(b"hidden")
    manifest = encode_dataset(TOKENIZER, files(data, separator="|"), tmp_path / "out")
    assert manifest.reader == {
        "separator": "|",
        "lines": False,
        "text_field": None,
        "where": {},
        "members": None,
        "errors": "keep",
    }
    assert manifest.sources == [
        {
            "name": "data",
            "files": 2,
            "documents": 4,
            "bytes": 11,
            "skipped": {"hidden": 1},
            "skipped_examples": [["data/sub/.c.txt", "hidden"]],
            "rejected": 0,
            "damaged": [],
            "boms": 0,
            "documents_per_file": [3, 1],
        }
    ]
    assert manifest.bytes == 11
    text = (tmp_path / "out/manifest.json").read_text()
    assert str(tmp_path) not in text
    manifest = encode_dataset(TOKENIZER, files(data, separator=b"\xff"), tmp_path / "bytes")
    assert manifest.reader["separator"] == {"hex": "ff"}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"eos_token": "<x>"}, r"'<x>' is not a special token of this tokenizer; it has <s>, <e>"),
        ({"prefix": "train"}, "prefix"),
        ({"shard_tokens": 0}, "shard_tokens"),
        ({"format": "x"}, "format"),
        ({"format": "llmc", "shard_tokens": 1 << 31}, "at most 2,147,483,647 in llmc"),
        ({"format": "nanogpt", "shard_tokens": 5}, "leave out shard_tokens"),
        ({"format": "megatron", "val_shards": 1}, "leave out val_shards"),
        ({"format": "nanogpt", "prefix": "x"}, "leave out the prefix"),
        ({"format": "dolma", "val_fraction": 0.1}, "knows no splits"),
        ({"val_fraction": 1.0}, "below 1"),
        ({"val_fraction": 0.1, "val_shards": 1}, "choose one"),
        ({"shuffle": 0.5}, "the seed"),
        ({"val_shards": -1}, "val_shards"),
        ({"threads": 0}, "threads"),
        ({"errors": "ignore"}, "errors"),
    ],
)
def test_refused_parameters(tmp_path, options, what):
    with pytest.raises(ParameterError, match=what):
        encode_dataset(TOKENIZER, ["a"], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_invalid_bytes(tmp_path, monkeypatch):
    data = tmp_path / "data.txt"
    data.write_bytes(b"good|b\xffd|\xe8\xaf" + b"|ok" * 50 + b"|\xfe")
    source = files(data, separator="|")
    out = tmp_path / "kept"
    manifest = encode_dataset(TOKENIZER, source, out)
    assert (manifest.invalid_bytes, manifest.first_invalid) == (4, "data.txt, document 1, byte 6")
    with pytest.raises(DataError, match=r"data\.txt, document 1, byte 6: the byte 0xff"):
        encode_dataset(TOKENIZER, source, tmp_path / "strict", errors="strict")
    encode_dataset(TOKENIZER, source, tmp_path / "whole", errors="replace", shard_tokens=20)
    shards = TokenShards(tmp_path / "whole")
    assert [shards.document_text(i) for i in (1, 2, 53)] == ["b\ufffdd", "\ufffd", "\ufffd"]
    assert shards.manifest.invalid_bytes == 4
    verify_dataset(tmp_path / "whole", None, data)
    for errors in ("keep", "replace"):
        whole, again = tmp_path / f"whole-{errors}", tmp_path / f"again-{errors}"
        monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", 30)
        options = {"errors": errors, "shard_tokens": 20}
        encode_dataset(TOKENIZER, source, whole, **options)
        interrupted(source, again, **options)
        encode_dataset(TOKENIZER, source, again, resume=True, **options)
        assert contents(again) == contents(whole)


def test_an_existing_directory_is_refused(tmp_path):
    encode_dataset(TOKENIZER, ["a"], tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(ParameterError, match="holds shards already"):
        encode_dataset(TOKENIZER, ["b"], tmp_path / "out")
    assert encode_dataset(TOKENIZER, ["a"], tmp_path / "out", resume=True) == TokenShards(tmp_path / "out").manifest
    with pytest.raises(ParameterError, match=r"another run: eos_token was None and is '<e>' now"):
        encode_dataset(TOKENIZER, ["a"], tmp_path / "out", resume=True, eos_token="<e>")
    assert contents(tmp_path / "out") == before


def test_what_is_complete_is_compared_with_its_source(tmp_path):
    data = tmp_path / "data.txt"
    data.write_bytes(b"one|two|three")
    source, out = files(data, separator="|"), tmp_path / "out"
    for options in ({}, {"val_fraction": 0.5, "shuffle": 1}, {"errors": "replace"}):
        data.write_bytes(b"one|two|three")
        manifest = encode_dataset(TOKENIZER, source, out, **options)
        assert encode_dataset(TOKENIZER, source, out, resume=True, **options) == manifest
        for other in (b"one|tow|three", b"one|two|thre", b"on|etwo|three", b""):
            data.write_bytes(other)
            with pytest.raises(ParameterError, match="of another source, or the source has changed"):
                encode_dataset(TOKENIZER, source, out, resume=True, **options)
        (out / manifest.shards[0].file).unlink()
        with pytest.raises(FormatError, match="not as it was written, or not there"):
            encode_dataset(TOKENIZER, source, out, resume=True, **options)
        shutil.rmtree(out)


def test_a_run_of_nothing_that_ended_before_its_last_step(tmp_path):
    """Its manifest is there, the journal too, and no shard."""
    out = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.shards.journal.Journal.remove", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            encode_dataset(TOKENIZER, [], out)
    before = contents(out)
    with pytest.raises(ParameterError, match="of another source"):
        encode_dataset(TOKENIZER, ["a"], out, resume=True)
    assert contents(out) == before
    assert encode_dataset(TOKENIZER, [], out, resume=True).documents == 0
    assert set(contents(out)) == {"manifest.json", "tokenizer.json"}


def test_entered_shards_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", 64)
    documents = [f"ab c{n}<e>" for n in range(100)]
    out = tmp_path / "out"
    interrupted(documents, out, shard_tokens=100)
    shard = sorted(out.glob("*.npy"))[0]
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DataError, match=f"{shard.name}: is not as it was written"):
        encode_dataset(TOKENIZER, documents, out, shard_tokens=100, resume=True)


def test_a_failed_source_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "b.txt").write_bytes("text".encode("utf-16"))
    source = files(tmp_path / "a.txt", tmp_path / "b.txt", on_error="stop")
    with pytest.raises(DataError, match="UTF-16"):
        encode_dataset(TOKENIZER, source, tmp_path / "out", shard_tokens=100)
    with pytest.raises(DataError, match="no such file"):
        encode_dataset(TOKENIZER, files(tmp_path / "missing"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_output_is_not_read_as_input(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"text")
    manifest = encode_dataset(TOKENIZER, files(tmp_path), tmp_path / "out")
    assert manifest.documents == 1
    assert manifest.sources[0]["skipped"] == {"the output directory": 1}


def interrupted(source, out, **options):
    """A run that fails after two shards."""
    with pytest.MonkeyPatch.context() as patch:
        add = ShardWriter.add

        def failing(self, *args):
            add(self, *args)
            if len(self.entries) >= 2:
                raise KeyboardInterrupt

        patch.setattr(ShardWriter, "add", failing)
        with pytest.raises(KeyboardInterrupt):
            encode_dataset(TOKENIZER, source, out, **options)


def test_resume_and_what_it_refuses(tmp_path, monkeypatch):
    monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", 64)
    data = tmp_path / "data.txt"
    data.write_bytes(b"ab c<e>\n" * 100)
    source = files(data, lines=True)
    options = {"shard_tokens": 100, "eos_token": "<e>"}
    encode_dataset(TOKENIZER, source, tmp_path / "whole", **options)
    out = tmp_path / "out"
    interrupted(source, out, **options)
    assert not list(out.rglob("*.tmp")) and len(list(out.glob("*.npy"))) >= 2
    with pytest.raises(ParameterError, match="--resume"):
        encode_dataset(TOKENIZER, source, out, **options)
    with pytest.raises(ParameterError, match="eos_place"):
        encode_dataset(TOKENIZER, source, out, **options, eos_place="prepend", resume=True)
    with pytest.raises(ParameterError, match="shard_tokens was 100 and is 101 now"):
        encode_dataset(TOKENIZER, source, out, eos_token="<e>", shard_tokens=101, resume=True)
    state = data.stat()
    data.write_bytes(data.read_bytes() + b"x")
    with pytest.raises(ParameterError, match="the sources have changed"):
        encode_dataset(TOKENIZER, source, out, **options, resume=True)
    data.write_bytes(data.read_bytes()[:-1])
    os.utime(data, ns=(state.st_atime_ns, state.st_mtime_ns))
    encode_dataset(TOKENIZER, source, out, **options, resume=True, threads=2)
    assert contents(out) == contents(tmp_path / "whole")


def test_resume_of_documents_given(tmp_path, monkeypatch):
    monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", 64)
    documents = [f"ab c{n}<e>" for n in range(100)]
    encode_dataset(TOKENIZER, iter(documents), tmp_path / "whole", shard_tokens=100)
    out = tmp_path / "out"
    interrupted(iter(documents), out, shard_tokens=100)
    for others in (["other", *documents[1:]], documents[:5], []):
        with pytest.raises(ParameterError, match="the source is not as it was"):
            encode_dataset(TOKENIZER, iter(others), out, shard_tokens=100, resume=True)
    encode_dataset(TOKENIZER, iter(documents), out, shard_tokens=100, resume=True)
    assert contents(out) == contents(tmp_path / "whole")


def test_a_second_run_is_refused_while_the_first_lives(tmp_path):
    def documents():
        yield "a"
        with pytest.raises(FastbpeError, match="another run is writing here"):
            encode_dataset(TOKENIZER, documents(), tmp_path / "out", resume=True)
        yield "b"

    assert encode_dataset(TOKENIZER, documents(), tmp_path / "out").documents == 2


def test_progress_and_facts(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ab" * 50)
    events = []
    encode_dataset(TOKENIZER, tmp_path / "a.txt", tmp_path / "out", progress=events.append)
    assert (events[0].phase, events[0].total) == ("encode", 100)
    assert events[-1].finished and events[-1].done == 100
    assert events[-1].facts == {"documents": 1, "tokens": 50, "shards": 1}


# The journal cannot be written, the shard, or what lies beside it, when the index has been.
@pytest.mark.parametrize(
    ("format", "documents", "limit"),
    [("npy", ["x"], 10), ("npy", ["xyz " * 5000], 8000), ("megatron", ["x"] * 1000, 15_000)],
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_file_that_cannot_grow_is_a_clean_error(tmp_path, format, documents, limit):
    read, write = os.pipe()
    child = fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            encode_dataset(TOKENIZER, documents, tmp_path / "out", threads=1, format=format)
        except FastbpeError as error:
            os.write(write, json.dumps([type(error).__name__, str(error)]).encode())
        finally:
            os._exit(0)
    os.close(write)
    message = json.loads(os.read(read, 10_000) or "null")
    os.waitpid(child, 0)
    os.close(read)
    assert message == ["FastbpeError", f"{tmp_path}/out: the disk is full; free some space, then start again"]
    assert not (tmp_path / "out").exists()


def megatron_documents(out, prefix):
    """Documents as Megatron-LM's IndexedDataset opens them."""
    index = (out / f"{prefix}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    assert np.frombuffer(index, "<u8", 1, 9)[0] == 1
    dtype = {8: np.uint16, 4: np.int32}[index[17]]
    sequences, documents = np.frombuffer(index, "<u8", 2, 18).tolist()
    lengths = np.frombuffer(index, "<i4", sequences, 34)
    pointers = np.frombuffer(index, "<i8", sequences, 34 + lengths.nbytes)
    indices = np.frombuffer(index, "<i8", documents, 34 + lengths.nbytes + pointers.nbytes)
    assert len(index) == 34 + lengths.nbytes + pointers.nbytes + indices.nbytes
    assert indices.tolist() == list(range(sequences + 1))
    data = np.memmap(out / f"{prefix}.bin", dtype, "r") if (out / f"{prefix}.bin").stat().st_size else np.zeros(0)
    itemsize = np.dtype(dtype).itemsize
    return [data[p // itemsize : p // itemsize + n].tolist() for p, n in zip(pointers, lengths, strict=True)], dtype


DOCUMENTS = ["ab c", "", "abc" * 30, "x", "", "ab"] * 4


def expected_documents(tokenizer=TOKENIZER, eos=EOS):
    return [[*tokenizer.encode(document), eos] for document in DOCUMENTS]


def flat(documents):
    return [token for document in documents for token in document]


@pytest.mark.parametrize("form", ["npy", "nanogpt", "llmc", "megatron", "dolma"])
def test_forms_are_read_by_our_own_reader(tmp_path, form):
    sized = {} if form in ("nanogpt", "megatron") else {"shard_tokens": 50}
    encode_dataset(TOKENIZER, DOCUMENTS, tmp_path / "out", eos_token="<e>", format=form, **sized)
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert [shards.document(i).tolist() for i in range(shards.documents)] == expected_documents()
    assert shards[:].tolist() == flat(expected_documents())
    assert verify_dataset(tmp_path / "out", None, DOCUMENTS).documents == len(DOCUMENTS)
    names = [name for name in os.listdir(tmp_path / "out") if "train" in name or "val" in name]
    assert len(names) == (len(shards.manifest.shards) if form in ("npy", "nanogpt", "llmc") else 0)
    (beside, *_) = [*shards.manifest.shards[0].beside, shards.manifest.shards[0].file]
    data = bytearray((tmp_path / "out" / beside).read_bytes())
    data[-1] ^= 1
    (tmp_path / "out" / beside).write_bytes(data)
    with pytest.raises(DataError, match="is not as it was written"):
        shards.verify()


@pytest.mark.parametrize("form", ["npy", "nanogpt", "llmc", "megatron", "dolma"])
@pytest.mark.parametrize("id_limit", [256, 257, 65_499, 65_500, 65_536, 65_537])
def test_types_of_ids_are_read_by_our_own_reader(tmp_path, form, id_limit):
    if form == "nanogpt":
        id_limit = min(id_limit, 1 << 16)
    bytes_only = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, None)
    tokenizer, eos = (bytes_only, None) if id_limit == 256 else (tokenizer_of(id_limit), "<e>")
    manifest = encode_dataset(tokenizer, DOCUMENTS, tmp_path / "out", eos_token=eos, format=form)
    assert verify_dataset(tmp_path / "out", tokenizer, DOCUMENTS).documents == len(DOCUMENTS)
    assert encode_dataset(tokenizer, DOCUMENTS, tmp_path / "out", eos, format=form, resume=True) == manifest


@pytest.mark.parametrize("form", ["npy", "nanogpt", "llmc", "megatron", "dolma"])
@pytest.mark.parametrize("documents", [[], ["", ""]])
def test_forms_of_nothing(tmp_path, form, documents):
    encode_dataset(TOKENIZER, documents, tmp_path / "out", format=form)
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert [shards.document_text(i) for i in range(shards.documents)] == documents


def test_nanogpt_opened_as_it_opens(tmp_path):
    encode_dataset(TOKENIZER, DOCUMENTS, tmp_path / "out", eos_token="<e>", format="nanogpt", val_fraction=0.5)
    files = {split: np.memmap(tmp_path / f"out/{split}.bin", np.uint16, "r").tolist() for split in ("train", "val")}
    assert sorted(files["train"] + files["val"]) == sorted(flat(expected_documents()))
    verify = TokenShards(tmp_path / "out")
    assert verify[:].tolist() == files["val"] + files["train"]


LLMC = [(300, 20240520, 1, "<u2"), (65_537, 20240801, 7, "<u4")]


@pytest.mark.parametrize(("id_limit", "magic", "version", "dtype"), LLMC)
def test_llmc_opened_as_it_opens(tmp_path, id_limit, magic, version, dtype):
    tokenizer = tokenizer_of(id_limit)
    out = tmp_path / "out"
    encode_dataset(tokenizer, DOCUMENTS, out, eos_token="<e>", format="llmc", shard_tokens=70, val_shards=1)
    tokens = []
    names = sorted(out.glob("tokens_*_*.bin"), key=lambda path: path.name.split("_")[-1])
    assert [name.name for name in names[:2]] == ["tokens_val_000000.bin", "tokens_train_000001.bin"]
    for name in names:
        data = name.read_bytes()
        head = np.frombuffer(data, "<i4", 256)
        assert head[:2].tolist() == [magic, version] and not head[3:].any()
        assert len(data) == 1024 + np.dtype(dtype).itemsize * int(head[2])
        tokens += np.frombuffer(data, dtype, offset=1024).tolist()
    assert tokens == flat(expected_documents(tokenizer, id_limit - 1))


@pytest.mark.parametrize(("id_limit", "dtype"), [(65_499, np.uint16), (65_500, np.int32), (65_537, np.int32)])
def test_megatron_opened_as_it_opens(tmp_path, id_limit, dtype):
    tokenizer = tokenizer_of(id_limit)
    encode_dataset(tokenizer, DOCUMENTS, tmp_path / "out", eos_token="<e>", format="megatron")
    found = megatron_documents(tmp_path / "out", "tokens_text_document")
    assert found == (expected_documents(tokenizer, id_limit - 1), dtype)


def test_megatron_with_splits(tmp_path):
    encode_dataset(TOKENIZER, DOCUMENTS, tmp_path / "out", eos_token="<e>", format="megatron", val_fraction=0.5)
    both = [megatron_documents(tmp_path / "out", f"tokens_{split}_text_document")[0] for split in ("val", "train")]
    assert sorted(both[0] + both[1]) == sorted(expected_documents())


@pytest.mark.parametrize(("id_limit", "dtype"), [(257, "<u2"), (65_536, "<u2"), (65_537, "<u4")])
def test_dolma_opened_as_it_opens(tmp_path, id_limit, dtype):
    tokenizer = tokenizer_of(id_limit)
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in DOCUMENTS[:10]))
    (data / "b,c.jsonl").write_text("broken\n" + "\n".join(json.dumps({"text": text}) for text in DOCUMENTS[10:]))
    out = tmp_path / "out"
    with pytest.warns(DataWarning, match="1 bad record,"):
        encode_dataset(tokenizer, data, out, eos_token="<e>", format="dolma", shard_tokens=60)
    documents, places = [], []
    for path in sorted(out.glob("part-0-*.npy")):
        assert path.read_bytes()[:6] != b"\x93NUMPY"
        tokens = np.memmap(path, dtype, "r")
        with gzip.open(path.with_suffix(".csv.gz"), "rt", newline="") as file:
            rows = list(csv.reader(file))
        at = 0
        for start, end, name, source, place in rows:
            assert (int(start), name) == (at, f"{source}:{place}")
            documents.append(tokens[int(start) : int(end)].tolist())
            places.append((source, int(place)))
            at = int(end)
        assert at == len(tokens)
    assert documents == expected_documents(tokenizer, id_limit - 1)
    expected = [("data/a.jsonl", i + 1) for i in range(10)] + [("data/b,c.jsonl", i + 2) for i in range(14)]
    assert places == expected


def test_nanogpt_refuses_what_it_cannot_hold(tmp_path):
    encode_dataset(tokenizer_of(65_536), ["a"], tmp_path / "edge", format="nanogpt")
    with pytest.raises(ParameterError, match="ids up to 65536; choose another format"):
        encode_dataset(tokenizer_of(65_537), ["a"], tmp_path / "out", format="nanogpt")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shuffle", [None, 3])
def test_splits_by_hash(tmp_path, monkeypatch, shuffle):
    documents = [f"document {i} " + "ab " * (i % 50) for i in range(500)]
    data = tmp_path / "data.txt"
    data.write_text("|".join(documents))
    source = files(data, separator="|")
    options = {"val_fraction": 0.2, "shard_tokens": 900, "eos_token": "<e>", "shuffle": shuffle}
    encode_dataset(TOKENIZER, source, tmp_path / "one", **options)
    verify_dataset(tmp_path / "one", None, data)
    shards = TokenShards(tmp_path / "one")
    names = [shard.split for shard in shards.manifest.shards]
    assert names == sorted(names, reverse=True) and {"val", "train"} == set(names)
    texts = [shards.document_text(i) for i in range(500)]
    assert sorted(texts) == sorted(documents)
    n_val = sum(shard.documents for shard in shards.manifest.shards if shard.split == "val")
    assert 60 < n_val < 140
    # Another corpus with the same documents deals them the same way.
    encode_dataset(TOKENIZER, documents[::-1], tmp_path / "two", val_fraction=0.2, threads=1)
    two = TokenShards(tmp_path / "two")
    n_two = sum(shard.documents for shard in two.manifest.shards if shard.split == "val")
    assert {two.document_text(i) for i in range(n_two)} == set(texts[:n_val])
    monkeypatch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", 300)
    encode_dataset(TOKENIZER, source, tmp_path / "small", threads=1, **options)
    assert contents(tmp_path / "small") == contents(tmp_path / "one")
    interrupted(source, tmp_path / "again", **options)
    encode_dataset(TOKENIZER, source, tmp_path / "again", resume=True, **options)
    assert contents(tmp_path / "again") == contents(tmp_path / "one")


def test_shuffled(tmp_path):
    documents = [f"document {i}" for i in range(200)]
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        encode_dataset(TOKENIZER, documents, tmp_path / name, shuffle=seed)
    texts = {name: [TokenShards(tmp_path / name).document_text(i) for i in range(200)] for name in ("one", "other")}
    assert contents(tmp_path / "one") == contents(tmp_path / "same")
    assert texts["one"] != texts["other"] != documents
    assert sorted(texts["one"]) == sorted(texts["other"]) == sorted(documents)
    verify_dataset(tmp_path / "one", None, documents)


def rows_of(documents, row, pad):
    """Documents of tokens as rows hold them."""
    tokens = []
    for document in documents:
        if len(document) > -len(tokens) % row:
            tokens += [pad] * (-len(tokens) % row)
        tokens += document
    return tokens + [pad] * (-len(tokens) % row)


@settings(max_examples=effort(40))
@given(
    documents,
    st.sampled_from([{}, {"eos_token": "<e>"}, {"bos_token": "<s>", "eos_token": "<e>"}]),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from([1, 7, 1 << 20]),
)
def test_packed_into_rows(documents, roles, row, rows_a_shard, block_bytes):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.pipeline.encode.BLOCK_BYTES", block_bytes)
        out = Path(name) / "out"
        options = {"pack": row, "pad_token": "<s>", "shard_tokens": row * rows_a_shard + row - 1, "threads": 1}
        manifest = encode_dataset(TOKENIZER, documents, out, **roles, **options)
        ids = []
        for document in documents:
            ids.append([BOS] * ("bos_token" in roles) + TOKENIZER.encode(document) + [EOS] * ("eos_token" in roles))
        shards = TokenShards(out)
        expected = rows_of(ids, row, BOS)
        assert shards[:].tolist() == expected
        assert [shards.document(i).tolist() for i in range(shards.documents)] == ids
        assert [found.tolist() for found in shards.iterate()] == ids
        assert shards.rows == len(expected) // row
        assert [shards.row(i).tolist() for i in range(shards.rows)] == np.reshape(expected, (-1, row)).tolist()
        assert manifest.padding == len(expected) - sum(map(len, ids))
        assert manifest.longer_than_row == sum(len(document) > row for document in ids)
        assert all(shard.tokens == row * rows_a_shard for shard in manifest.shards[:-1])
        assert all(np.load(out / shard.file).reshape(-1, row).ndim == 2 for shard in manifest.shards)
        verify_dataset(out, None, documents)


@pytest.mark.parametrize("form", ["npy", "nanogpt", "llmc"])
def test_packed_in_other_forms_and_splits(tmp_path, form):
    documents = [f"document {i} " + "ab " * (i % 7) for i in range(60)] + ["", "x" * 99]
    sized = {} if form == "nanogpt" else {"shard_tokens": 100}
    options = {"format": form, "pack": 20, "pad_token": "<e>", "val_fraction": 0.3, "shuffle": 1, **sized}
    encode_dataset(TOKENIZER, documents, tmp_path / "out", eos_token="<e>", **options)
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert sorted(shards.document_text(i) for i in range(shards.documents)) == sorted(documents)
    assert all(shard.tokens % 20 == 0 for shard in shards.manifest.shards)
    data = tmp_path / "data.txt"
    data.write_text("|".join(documents))
    encode_dataset(TOKENIZER, files(data, separator="|"), tmp_path / "files", **options)
    verify_dataset(tmp_path / "files", None, data)
    shards = TokenShards(tmp_path / "files")
    text = b"".join(stretch.data for stretch in read_texts(shards, 13))
    assert text.decode() == "".join(shards.document_text(i) for i in range(62))


def test_an_empty_document_at_the_start_of_a_split(tmp_path):
    """Its end alone would put it into the padding of the split before."""
    documents = ["", *(f"{i}" for i in range(30))]
    encode_dataset(TOKENIZER, documents, tmp_path / "out", pack=4, pad_token="<e>", val_fraction=0.5)
    shards = TokenShards(tmp_path / "out")
    shards.verify()
    assert sorted(shards.document_text(i) for i in range(31)) == sorted(documents)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"pack": 0}, "pack is the tokens in a row"),
        ({"pack": True}, "pack is the tokens in a row"),
        ({"pack": 8}, r"no pad role: name one with pad_token \(--pad\)"),
        ({"pack": 8, "pad_token": "<x>"}, "'<x>' is not a special token"),
        ({"pad_token": "<e>"}, "give that too"),
        ({"pack": 8, "pad_token": "<e>", "shard_tokens": 7}, "no room for a row of 8 tokens"),
        ({"pack": 8, "pad_token": "<e>", "format": "megatron"}, "megatron has no rows"),
        ({"pack": 8, "pad_token": "<e>", "format": "dolma"}, "dolma has no rows"),
    ],
)
def test_rows_that_cannot_be(tmp_path, options, what):
    with pytest.raises(ParameterError, match=what):
        encode_dataset(TOKENIZER, ["a"], tmp_path / "out", **options)


def test_the_pad_role_fills_rows(tmp_path):
    tokenizer = Tokenizer.from_merges([], pattern="none", special_tokens=["<e>", "<p>"], pad_token="<p>")
    manifest = encode_dataset(tokenizer, ["a"], tmp_path / "out", pack=3)
    assert (manifest.pad_token, manifest.pad_id, manifest.padding) == ("<p>", 257, 2)
    assert TokenShards(tmp_path / "out")[:].tolist() == [97, 257, 257]


def test_what_was_damaged_is_in_the_manifest(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\ntwo\nthree")[:-9])
    (tmp_path / "b.txt").write_bytes(b"four\n")
    with pytest.warns(DataWarning, match=r"a\.txt\.gz: is cut short"):
        manifest = encode_dataset(TOKENIZER, files(tmp_path, lines=True), tmp_path / "out")
    assert not manifest.complete
    assert manifest.sources[0]["damaged"][0][0].endswith("a.txt.gz")
    shards = TokenShards(tmp_path / "out")
    assert shards.document_text(shards.documents - 1) == "four\n"
    with pytest.raises(DataError, match=r"a\.txt\.gz: is cut short"):
        encode_dataset(TOKENIZER, files(tmp_path, lines=True, on_error="stop"), tmp_path / "stop")
