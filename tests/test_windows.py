import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shard_maker import TOKENIZER, make_shards

from fastbpe.errors import ParameterError
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.shards import TokenShards
from fastbpe.shards.windows import IGNORED, Order, Plan, Windows


@pytest.fixture
def shards(tmp_path):
    make_shards(tmp_path / "out", [bytes([97 + i % 26]) * (i % 9) for i in range(60)], shard_tokens=37)
    return TokenShards(tmp_path / "out")


@pytest.mark.parametrize("length", [1, 4, 36, 37, 100])
def test_windows(shards, length):
    windows = Windows(shards, length)
    tokens = shards[:].tolist()
    assert len(windows) == (len(tokens) - 1) // length
    for number in range(len(windows)):
        x, y = windows[number]
        assert (x.dtype, y.dtype) == (np.int64, np.int64)
        at = number * length
        assert (x.tolist(), y.tolist()) == (tokens[at : at + length], tokens[at + 1 : at + length + 1])
    with pytest.raises(IndexError):
        windows[len(windows)]


@pytest.mark.parametrize("val_fraction", [0.0, 0.4])
def test_rows_are_windows(tmp_path, val_fraction):
    rng = np.random.default_rng(5)
    documents = [bytes([97 + i % 3]) * int(n) for i, n in enumerate(rng.integers(0, 20, 80))]
    options = {"eos_token": "<e>", "pad_token": "<e>", "val_fraction": val_fraction, "shard_tokens": 50}
    encode_dataset(TOKENIZER, documents, tmp_path / "rows", pack=10, **options)
    shards = TokenShards(tmp_path / "rows")
    inside = [set() for _ in range(shards.rows)]  # places in a row whose token goes on with a document
    for number in range(shards.documents):
        start, stop = shards.document_range(number)
        for at in range(start + 1, stop):
            inside[at // 10].add(at % 10)
    windows = Windows(shards, 9)
    assert len(windows) == shards.rows > 20
    for number in range(len(windows)):
        x, y = windows[number]
        row = shards.row(number).tolist()
        assert x.tolist() == row[:-1]
        assert y.tolist() == [row[at] if at in inside[number] else IGNORED for at in range(1, 10)]
    if val_fraction:
        assert len(Windows(shards, 9, "val")) + len(Windows(shards, 9, "train")) == len(windows)
    with pytest.raises(ParameterError, match="rows of 10 tokens, so it must be 9"):
        Windows(shards, 10)
    with pytest.raises(IndexError, match="row"):
        shards.row(shards.rows)


def test_splits(shards):
    assert len(Windows(shards, 4, "train")) == len(Windows(shards, 4))
    with pytest.raises(ParameterError, match="these shards have train"):
        Windows(shards, 4, "val")
    with pytest.raises(ParameterError, match="at least 1"):
        Windows(shards, 0)


@given(st.integers(1, 300), st.integers(-(2**70), 2**70), st.integers(0, 5))
def test_an_order_is_a_permutation(n, seed, epoch):
    order = Order(n, seed, epoch)
    assert sorted(order[i] for i in range(n)) == list(range(n))


def test_orders_differ():
    orders = {tuple(Order(50, seed, epoch)[i] for i in range(50)) for seed in range(4) for epoch in range(4)}
    assert len(orders) == 16
    assert [Order(5, None, 3)[i] for i in range(5)] == list(range(5))
    # No place is left where it was more often than chance has it.
    stayed = sum(Order(1000, seed, 0)[i] == i for seed in range(10) for i in range(1000))
    assert stayed < 40


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_ranks_and_workers_share_without_overlap(shards, world, parts):
    windows = Windows(shards, 3)
    found = []
    for rank in range(world):
        plan = Plan(windows, 7, rank, world)
        places = [[place for place, _ in plan.take(part, parts)] for part in range(parts)]
        for batch in (2, 5):  # asked for batches one after the other, as a DataLoader does
            plan.taken = batch - 1
            workers = [plan.take(part, parts, batch) for part in range(parts)]
            asked = [place for _ in range(plan.per_epoch) for w in workers for place, _ in itertools.islice(w, batch)]
            assert asked == list(range(plan.taken, plan.per_epoch))
        plan.taken = 0
        assert sorted(place for part in places for place in part) == list(range(plan.per_epoch))
        order = Order(len(windows), 7, 0)
        found += [order[place * world + rank] for place in range(plan.per_epoch)]
    assert len(set(found)) == len(found) == len(windows) // world * world


def test_going_on(shards):
    plan = Plan(Windows(shards, 3), 7, 1, 2)
    whole = [(place, window.x.tolist()) for place, window in plan.take()]
    for taken in (0, 1, 5, plan.per_epoch):
        plan.taken = taken
        other = Plan(Windows(shards, 3), 7, 1, 2)
        other.set_state(plan.state())
        for parts in (1, 2):
            rest = [(place, w.x.tolist()) for part in range(parts) for place, w in other.take(part, parts)]
            assert sorted(rest) == whole[taken:]
    for more in ({"seed": 8}, {"rank": 0}, {"world": 3}):
        with pytest.raises(ParameterError, match="another reading"):
            Plan(Windows(shards, 3), **{"seed": 7, "rank": 1, "world": 2, **more}).set_state(plan.state())
    with pytest.raises(ParameterError, match="rank 2 of world_size 2"):
        Plan(Windows(shards, 3), 7, 2, 2)
