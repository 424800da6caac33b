import errno
import functools
import os
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.shards.journal import begin
from fastbpe.shards.writer import ShardWriter, check_written, disk_error, entered

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


documents = st.lists(st.lists(st.integers(0, 299), max_size=7), max_size=8)


def batches_of(documents, cuts):
    """Tokens and local ends, the tokens of all documents cut anywhere; ends at a cut go before or after it."""
    tokens = np.array([token for document in documents for token in document], np.uint32)
    ends = np.cumsum([len(document) for document in documents]).astype(np.int64)
    places = sorted(min(cut, len(tokens)) for cut, _ in cuts)
    used = 0
    for start, stop in zip([0, *places], [*places, len(tokens)], strict=True):
        upto = len(ends) if stop == len(tokens) else int(np.searchsorted(ends, stop, side="right"))
        yield tokens[start:stop], ends[used:upto] - start
        used = upto


def read(directory, entries):
    tokens, ends, base = [], [], 0
    for entry in entries:
        array, index = np.load(directory / entry.file), np.load(directory / entry.index)
        assert (len(array), len(index)) == (entry.tokens, entry.documents)
        for name, crc32 in ((entry.file, entry.crc32), (entry.index, entry.index_crc32)):
            assert f"{zlib.crc32((directory / name).read_bytes()):08x}" == crc32
        tokens += array.tolist()
        ends += (index + base).tolist()
        base += len(array)
    starts = [0, *ends]
    return [tokens[a:b] for a, b in zip(starts, ends, strict=False)]


@settings(max_examples=effort(40))
@given(documents, st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=5), st.integers(1, 9))
def test_documents_cross_shards(documents, cuts, shard_tokens):
    with tempfile.TemporaryDirectory() as name:
        journal = begin(Path(name), {}, resume=False)
        with ShardWriter(journal, "p", 300, shard_tokens, val_shards=1) as writer:
            for tokens, ends in batches_of(documents, cuts):
                writer.add(writer.pack(tokens), ends)
            entries = writer.finish()
        assert read(Path(name), entries) == documents
        total = sum(map(len, documents))
        assert all(entry.tokens == shard_tokens for entry in entries[:-1])
        assert len(entries) == (-(-total // shard_tokens) or (1 if documents else 0))
        assert [entry.split for entry in entries] == ["val", "train", "train"][: len(entries)] + ["train"] * (
            len(entries) - 3
        )
        assert [line["shard"]["file"] for line in journal.entries] == [entry.file for entry in entries]
        journal.close()
        assert not list(Path(name).rglob("*.tmp"))


@settings(max_examples=effort(40))
@given(documents, st.integers(1, 9), st.data())
def test_going_on_from_any_entry(documents, shard_tokens, data):
    batches = list(batches_of(documents, [(i, False) for i in (3, 9, 9, 20)]))

    def write(directory, kept, other=None):
        """A run that finds the first `kept` shards of another one, which lie in `other`, entered."""
        journal = begin(directory, {}, resume=True)
        first, offset = 0, None
        for line in kept:
            journal.append(line)
            first, offset = line["state"], line["offset"]
            for name in (line["shard"]["file"], line["shard"]["index"]):
                (directory / name).parent.mkdir(exist_ok=True)
                (directory / name).write_bytes((other / name).read_bytes())
        with ShardWriter(journal, "p", 300, shard_tokens) as writer:
            for number in range(first, len(batches)):
                tokens, ends = batches[number]
                writer.add(writer.pack(tokens), ends, functools.partial(int, number), offset)
                offset = None
            entries = writer.finish(lambda: len(batches))
        lines = list(journal.entries)
        journal.close()
        return entries, lines

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        entries, lines = write(Path(one), [])
        kept = data.draw(st.integers(0, len(lines)))
        assert write(Path(two), lines[:kept], Path(one)) == (entries, lines)
        for entry in entries[kept:]:
            assert (Path(one) / entry.file).read_bytes() == (Path(two) / entry.file).read_bytes()
            assert (Path(one) / entry.index).read_bytes() == (Path(two) / entry.index).read_bytes()


def changed(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [os.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1]), changed])
@pytest.mark.parametrize("part", ["file", "index"])
def test_entered_shards_must_be_whole(tmp_path, damage, part):
    journal = begin(tmp_path / "out", {}, resume=False)
    with ShardWriter(journal, "p", 300, 2) as writer:
        writer.add(writer.pack(np.arange(5, dtype=np.uint32)), np.array([2, 5]), lambda: 0)
        entry = writer.finish(lambda: 1)[0]
    checked = []
    check_written(tmp_path / "out", entered(journal), checked.append)
    assert checked == [2, 2, 1]
    damage(tmp_path / "out" / getattr(entry, part))
    with pytest.raises(FormatError, match="not as it was written, or not there"):
        check_written(tmp_path / "out", entered(journal))
    journal.entries[0]["shard"]["more"] = 1
    with pytest.raises(FormatError, match="journal is damaged"):
        ShardWriter(journal, "p", 300, 2)
    journal.close()


def test_ids_out_of_range_raise(tmp_path):
    journal = begin(tmp_path, {}, resume=False)
    with ShardWriter(journal, "p", 70_000) as writer:
        assert writer.pack(np.array([69_999], np.uint32)).dtype == "<u4"
        with pytest.raises(FastbpeError, match="70000 is not below"):
            writer.pack(np.array([1, 70_000], np.uint32))
        with pytest.raises(ParameterError, match="uint16"):
            writer.add(np.zeros(1, np.uint16), np.zeros(0, np.int64))
    journal.close()


def full_disk(monkeypatch, room):
    """Lets `room` more bytes be written to shards."""
    write = os.write

    def limited(descriptor, data):
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, data[: min(room, len(data))])
        room -= written
        return written

    def unlink(path, *args):
        nonlocal room
        unlink_file(path, *args)
        room += 1000

    unlink_file = os.unlink
    monkeypatch.setattr(os, "write", limited)
    monkeypatch.setattr(os, "unlink", unlink)


@pytest.mark.parametrize("room", range(1000, 2400, 200))
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, room):
    journal = begin(tmp_path, {}, resume=False)
    full_disk(monkeypatch, room)
    tokens = np.arange(1000, dtype=np.uint32)
    with pytest.raises(OSError, match="No space"), ShardWriter(journal, "p", 1000, 400) as writer:
        for _ in range(10):
            writer.add(writer.pack(tokens), np.array([1000]))
    complete = sorted(line["shard"]["file"] for line in journal.entries)
    assert 1 <= len(complete) <= 2
    assert sorted(os.listdir(tmp_path)) == ["index", "journal.jsonl", *complete]
    journal.close()
    again = begin(tmp_path, {}, resume=True)
    assert [line["shard"]["file"] for line in again.entries] == complete
    again.close()


def test_disk_errors_say_what_to_do(tmp_path):
    full = disk_error(OSError(errno.ENOSPC, "No space left on device"), tmp_path, 2)
    assert "the disk is full; 2 complete shards stay; free some space, then go on with --resume" in str(full)
    other = disk_error(OSError(errno.EIO, "Input/output error"), tmp_path, 0)
    assert "cannot be written (input/output error); check the disk, then start again" in str(other)


def test_a_shard_is_entered_after_what_must_come_before(tmp_path):
    journal = begin(tmp_path / "out", {}, resume=False)
    seen = []
    with ShardWriter(journal, "p", 300, 2) as writer:
        writer.before_shards(lambda: seen.append(len(journal.entries)))
        writer.add(np.zeros(9, writer.dtype), np.array([9]))
        writer.finish()
    journal.close()
    assert seen == [0] and len(journal.entries) == 5


def test_no_shard_is_entered_when_what_must_come_before_fails(tmp_path):
    journal = begin(tmp_path / "out", {}, resume=False)

    def fail():
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"), ShardWriter(journal, "p", 300, 2) as writer:
        writer.before_shards(fail)
        writer.add(np.zeros(9, writer.dtype), np.array([9]))
    journal.close()
    assert journal.entries == [] and not list((tmp_path / "out").glob("*.npy"))
