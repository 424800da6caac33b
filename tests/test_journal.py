import os

import pytest

from fastbpe.errors import FastbpeError, FormatError, ParameterError
from fastbpe.shards.journal import begin, clean, difference

RUN = {"fingerprint": "f", "allowed": ("a",), "sources": "digest"}


def test_entries_come_back(tmp_path):
    out = tmp_path / "deep" / "out"
    journal = begin(out, RUN, resume=False)
    journal.append({"shard": 0})
    journal.append({"shard": 1})
    journal.close()
    with pytest.raises(ParameterError, match="--resume"):
        begin(out, RUN, resume=False)
    again = begin(out, RUN, resume=True)
    assert again.entries == [{"shard": 0}, {"shard": 1}]
    again.remove()
    assert os.listdir(out) == []


def test_a_line_cut_by_a_crash_was_not_written(tmp_path):
    out = tmp_path / "out"
    journal = begin(out, RUN, resume=True)
    journal.append({"shard": 0})
    journal.append({"shard": 1})
    journal.close()
    whole = (out / "journal.jsonl").read_bytes()
    for size in range(len(whole), -1, -1):
        (out / "journal.jsonl").write_bytes(whole[:size])
        again = begin(out, RUN, resume=True)
        assert len(again.entries) == max(0, whole[:size].count(b"\n") - 1)
        again.append({"shard": "new"})
        again.close()
        assert (out / "journal.jsonl").read_bytes().count(b"\n") == len(again.entries) + 1
        again = begin(out, RUN, resume=True)
        assert again.entries[-1] == {"shard": "new"}
        again.close()


def test_every_changed_byte_is_seen(tmp_path):
    """Of a line that is whole: one that is not counts as not written."""
    out = tmp_path / "out"
    journal = begin(out, RUN, resume=True)
    entries = [{"shard": 0, "left": {"<e>": 3}}, {"shard": 1, "offset": None}]
    for entry in entries:
        journal.append(entry)
    journal.close()
    path = out / "journal.jsonl"
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in (1, 4, 16):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            try:
                again = begin(out, RUN, resume=True)
            except FormatError as error:
                assert str(path) in str(error)
                continue
            again.close()
            assert again.entries == entries[: 2 - (at == len(whole) - 1)]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"sources": "other"}, "the sources have changed"),
        ({"fingerprint": "g"}, "the tokenizer is another"),
        ({"n": 1}, "n"),
    ],
)
def test_another_run_is_refused(tmp_path, change, what):
    begin(tmp_path, RUN, resume=True).close()
    with pytest.raises(ParameterError, match=what):
        begin(tmp_path, RUN | change, resume=True)
    begin(tmp_path, RUN, resume=True).close()


def test_what_lies_there_is_never_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    for resume in (False, True):
        with pytest.raises(ParameterError, match="holds other files"):
            begin(tmp_path, RUN, resume)
    (tmp_path / "manifest.json").write_text("x")
    with pytest.raises(ParameterError, match="holds shards already"):
        begin(tmp_path, RUN, resume=False)
    assert begin(tmp_path, RUN, resume=True) is None
    with pytest.raises(FastbpeError, match="cannot be made a directory"):
        begin(tmp_path / "mine.txt", RUN, resume=False)


def test_a_live_run_holds_the_lock(tmp_path):
    journal = begin(tmp_path, RUN, resume=True)
    for resume in (True, False):
        with pytest.raises(FastbpeError, match="another run is writing here"):
            begin(tmp_path, RUN, resume)
    journal.close()
    with pytest.raises(ParameterError, match="holds a run that is not finished"):
        begin(tmp_path, RUN, resume=False)
    begin(tmp_path, RUN, resume=True).close()


def test_a_run_that_ends_while_another_begins(tmp_path, monkeypatch):
    journal = begin(tmp_path, RUN, resume=True)
    open_file = os.open

    def ends_meanwhile(path, *args):
        descriptor = open_file(path, *args)
        if str(path).endswith("journal.jsonl"):
            monkeypatch.undo()
            journal.remove()
        return descriptor

    monkeypatch.setattr(os, "open", ends_meanwhile)
    with pytest.raises(FastbpeError, match="another run"):
        begin(tmp_path, RUN, resume=True)


def test_discard_and_clean(tmp_path):
    out = tmp_path / "out"
    journal = begin(out, RUN, resume=False)
    (out / "index").mkdir()
    (out / "index/.000000.npy.x.tmp").write_text("x")
    (out / ".000000.npy.tmp").write_text("x")
    (out / "tokenizer.json").write_text("x")
    clean(out)
    assert sorted(os.listdir(out)) == ["index", "journal.jsonl", "tokenizer.json"]
    journal.discard()
    assert not out.exists()


@pytest.mark.parametrize("damage", [b"[1]\n", b"{\n", b'"\xff"\n'])
def test_a_damaged_journal_is_refused(tmp_path, damage):
    out = tmp_path / "out"
    begin(out, RUN, resume=True).close()
    path = out / "journal.jsonl"
    path.write_bytes(path.read_bytes() + damage)
    with pytest.raises(FormatError, match="is damaged; remove the directory"):
        begin(out, RUN, resume=True)


def test_what_differs_is_said_by_its_name():
    before = {"fingerprint": "f", "reader": {"lines": False, "where": {}}, "pack": 8}
    assert difference(before, {**before}) is None
    assert difference(before, before | {"pack": None}) == "pack was 8 and is None now"
    assert difference(before, before | {"reader": {"lines": True, "where": {}}}) == "lines was False and is True now"
    assert difference(before, {"fingerprint": "f", "pack": 8}) == "lines was False and is None now"
    assert difference({"pack": 8}, {"pack": 9, "fingerprint": "f"}) == "pack was 8 and is 9 now"
    assert "'x'" in difference({}, {"reader": "x"})
