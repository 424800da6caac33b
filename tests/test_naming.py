import pytest

from fastbpe.errors import ParameterError
from fastbpe.shards.naming import INDEX, JOURNAL, MANIFEST, TOKENIZER, check_prefix, index_name, shard_name, split_of


def test_names_as_loaders_expect():
    splits = [split_of(number, 1) for number in range(3)]
    names = [shard_name("code", split, number) for number, split in enumerate(splits)]
    assert names == ["code_val_000000.npy", "code_train_000001.npy", "code_train_000002.npy"]


def test_nothing_else_is_taken_for_a_shard():
    for name in (INDEX, JOURNAL, MANIFEST, TOKENIZER, index_name(0)):
        assert "train" not in name and "val" not in name


@pytest.mark.parametrize("prefix", ["training", "my-val", "interval", "", "a/b", ".hidden", "a\\b", "\0"])
def test_refused_prefixes(prefix):
    with pytest.raises(ParameterError, match="prefix"):
        check_prefix(prefix)


def test_allowed_prefix():
    assert check_prefix("tang-诗_1") == "tang-诗_1"
