"""A run that is killed at any point and goes on with resume=True writes the bytes of an undisturbed one.

A child process runs the encoder with every call that touches the disk counted, and kills itself (kill -9) at one of
them: before it, after it, or half way through a write.
"""

import itertools
import os
import random
import signal
from pathlib import Path

import pytest
from children import fork
from effort import effort

from fastbpe.corpus.sources import files
from fastbpe.pipeline import encode
from fastbpe.shards import TokenShards
from fastbpe.tokenizer import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="none", special_tokens=["<e>"])
CALLS = ("write", "pwrite", "fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "ftruncate", "open")


def contents(directory):
    directory = Path(directory)
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run into a directory, some shards long, with documents across blocks and shards."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # what the system was given outlives a killed process
    monkeypatch.setattr(encode, "BLOCK_BYTES", 40)
    monkeypatch.setattr("fastbpe.shards.writer.EARLY_SYNC_BYTES", 64)
    monkeypatch.setattr("fastbpe.shards.ends.HELD", 5)
    data = tmp_path / "data.txt"
    data.write_bytes(b"abc|ab<e>||" * 20 + b"abc" * 60)

    def encode_into(directory, **more):
        options = {"eos_token": "<e>", "shard_tokens": 60, "val_shards": 1, "threads": 1, "resume": True, **more}
        return encode.encode_dataset(TOKENIZER, files(data, separator="|"), directory, **options)

    return encode_into


def killed_at(point, how, work):
    """Runs `work` in a child that is killed at its `point`-th call; whether it was killed before it came to its end."""
    child = fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    try:
        count = itertools.count()
        for name in CALLS:
            setattr(os, name, deadly(name, getattr(os, name), count, point, how))
        work()
    finally:
        os._exit(0)


def deadly(name, call, count, point, how):
    def wrapped(*args, **kwargs):
        if next(count) != point:
            return call(*args, **kwargs)
        if how == "half" and name == "write":
            call(args[0], memoryview(args[1])[: len(args[1]) // 2])
        elif how == "after":
            call(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    return wrapped


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_at_every_point(run, tmp_path, how):
    run(tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    assert len(TokenShards(tmp_path / "whole").manifest.shards) >= 4
    for point in itertools.count():
        out = tmp_path / f"out{point}"
        if not killed_at(point, how, lambda out=out: run(out)):
            break
        if (out / "manifest.json").exists():
            TokenShards(out).verify()
        for shard in out.glob("*.npy"):
            assert shard.read_bytes() == whole[shard.name], "a final name is given to what is whole only"
        run(out)
        assert contents(out) == whole
    assert point > 50


OPTIONS = [
    {},
    {"val_shards": 0, "val_fraction": 0.4, "shuffle": 1},
    {"format": "llmc"},
    {"pack": 25, "pad_token": "<e>", "val_shards": 0, "val_fraction": 0.4},
    {"format": "dolma", "val_shards": 0},
    {"format": "megatron", "val_shards": 0, "val_fraction": 0.4, "shard_tokens": None},
    {"format": "nanogpt", "val_shards": 0, "shard_tokens": None},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join({"pack", "format"} & {*options}) or "npy")
@pytest.mark.parametrize("seed", range(effort(8)))
def test_killed_again_and_again(run, tmp_path, seed, options):
    run(tmp_path / "whole", **options)
    out = tmp_path / "out"
    chance = random.Random(seed)

    def work():
        run(out, threads=1 + seed % 2, **options)

    # A form of one file starts anew each time, so the points must come to lie behind its end.
    for most in itertools.count(40, 2):
        if not killed_at(chance.randrange(most), chance.choice(["before", "half", "after"]), work):
            break
    assert contents(out) == contents(tmp_path / "whole")


def test_resuming_what_is_complete_changes_nothing(run, tmp_path):
    run(tmp_path / "out")
    before = contents(tmp_path / "out")
    assert run(tmp_path / "out") == TokenShards(tmp_path / "out").manifest
    assert contents(tmp_path / "out") == before
