import pytest
from shard_maker import TOKENIZER, make_shards

torch = pytest.importorskip("torch", reason="the datasets are PyTorch's (extra torch)")

from torch.utils.data import DataLoader  # noqa: E402

from fastbpe.data import TokenStream, TokenWindows  # noqa: E402
from fastbpe.errors import ParameterError  # noqa: E402
from fastbpe.pipeline.encode import encode_dataset  # noqa: E402
from fastbpe.shards import TokenShards  # noqa: E402


@pytest.fixture
def out(tmp_path):
    make_shards(tmp_path / "out", [bytes([97 + i % 26]) * (i % 9) for i in range(60)], shard_tokens=37)
    return tmp_path / "out"


def rows(pairs):
    return [(x.tolist(), y.tolist()) for x, y in pairs]


def test_windows_by_number(out):
    tokens = TokenShards(out)[:].tolist()
    dataset = TokenWindows(out, 4)
    assert dataset[3][0].dtype == torch.int64
    for number, (x, y) in enumerate(rows(dataset[i] for i in range(len(dataset)))):
        assert (x, y) == (tokens[number * 4 : number * 4 + 4], tokens[number * 4 + 1 : number * 4 + 5])
    assert len(list(DataLoader(dataset, batch_size=5))) == -(-len(dataset) // 5)


def test_an_epoch_has_every_window_once(out):
    stream = TokenStream(out, 4, seed=3)
    first, second = rows(stream), rows(stream)
    assert first != second
    dataset = TokenWindows(out, 4)
    every = sorted(rows(dataset[i] for i in range(len(dataset))))
    assert sorted(first) == sorted(second) == every


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_give_the_same_order(out, workers):
    alone = rows(TokenStream(out, 4, seed=3))
    assert rows(DataLoader(TokenStream(out, 4, seed=3), batch_size=None, num_workers=workers)) == alone


def test_ranks(out):
    both = [rows(TokenStream(out, 4, seed=3, rank=rank, world_size=2)) for rank in (0, 1)]
    alone = rows(TokenStream(out, 4, seed=3))
    assert len(both[0]) == len(both[1]) == len(alone) // 2
    assert both[0] == alone[0 : 2 * len(both[0]) : 2]
    assert both[1] == alone[1 : 2 * len(both[1]) : 2]


def test_rows_are_windows_and_padding_is_no_target(tmp_path):
    encode_dataset(TOKENIZER, ["xy", "xyz", "x"], tmp_path / "rows", eos_token="<e>", pad_token="<s>", pack=5)
    rows_in_order = TokenStream(tmp_path / "rows", 4, seed=None)
    x, y, pad, end = ord("x"), ord("y"), *(TOKENIZER.special_tokens[name] for name in ("<s>", "<e>"))
    first, second, third = rows(rows_in_order)
    assert first == ([x, y, end, pad], [y, end, -100, -100])
    assert second == ([x, y, y + 1, end], [y, y + 1, end, -100])
    assert third == ([x, end, pad, pad], [end, -100, -100, -100])
    scores = torch.zeros(4, TOKENIZER.id_limit)
    loss = torch.nn.functional.cross_entropy(scores, torch.tensor(third[1]), reduction="sum")
    assert loss.item() == pytest.approx(torch.tensor(TOKENIZER.id_limit).log().item())


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("taken", [1, 4])
def test_going_on_exactly_with_workers_again(out, batch, taken):
    """Also after a number of batches that does not divide by that of the workers, and again after that."""

    def loaded(state=None):
        stream = TokenStream(out, 4, seed=3, batch_size=batch or 1)
        if state is not None:
            stream.load_state_dict(state)
        return stream, iter(DataLoader(stream, batch_size=batch, num_workers=2))

    alone = rows(DataLoader(TokenStream(out, 4, seed=3), batch_size=batch))
    found, state = [], None
    for _ in range(2):
        stream, loader = loaded(state)
        found += rows(next(loader) for _ in range(taken))
        state = stream.state_dict(taken=taken * (batch or 1))
    assert found + rows(loaded(state)[1]) == alone


def test_windows_are_counted_through_the_ends_of_epochs(out):
    stream = TokenStream(out, 4, seed=3)
    epochs = [rows(stream) for _ in range(3)]
    n = len(epochs[0])
    for taken in (0, 1, n - 1, n, n + 1, 2 * n, 2 * n + 5):
        again = TokenStream(out, 4, seed=3)
        again.load_state_dict(stream.state_dict(taken=taken))
        found = rows(again) or rows(again)
        assert found == [*epochs[0], *epochs[1], *epochs[2]][taken:][: len(found)]
        assert found[-1] == epochs[taken // n][-1]


def test_batch_size(out):
    with pytest.raises(ParameterError, match="batch_size must be at least 1"):
        TokenStream(out, 4, batch_size=0)


@pytest.mark.parametrize("workers", [0, 2])
def test_going_on_exactly(out, workers):
    alone = rows(TokenStream(out, 4, seed=3))
    stream = TokenStream(out, 4, seed=3)
    loader = iter(DataLoader(stream, batch_size=None, num_workers=workers))
    before = rows(next(loader) for _ in range(5))
    state = stream.state_dict(taken=5)
    again = TokenStream(out, 4, seed=3)
    again.load_state_dict(state)
    middle = rows(x for x, _ in zip(again, range(3), strict=False))
    third = TokenStream(out, 4, seed=3)
    third.load_state_dict(again.state_dict(taken=3))
    assert before + middle + rows(third) == alone
