"""Names in a directory of shards.

Loaders take every file whose name contains "train" or "val", so no other name beside the shards may contain them.
"""

from fastbpe.errors import ParameterError

MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
JOURNAL = "journal.jsonl"
INDEX = "index"
TRAIN, VAL = "train", "val"


def check_prefix(prefix: str) -> str:
    """The prefix itself. Raises ParameterError for one that loaders would stumble over."""
    if not prefix or prefix.startswith(".") or any(character in prefix for character in "/\\\0"):
        raise ParameterError(f"the prefix {prefix!r} cannot begin a file name; take letters, digits, '-' and '_'")
    for split in (TRAIN, VAL):
        if split in prefix:
            raise ParameterError(
                f"the prefix {prefix!r} contains {split!r}, by which loaders choose files; take another"
            )
    return prefix


def split_of(number: int, val_shards: int) -> str:
    """Split of a shard: the first `val_shards` are val."""
    return VAL if number < val_shards else TRAIN


def shard_name(prefix: str, split: str, number: int) -> str:
    return f"{prefix}_{split}_{number:06d}.npy"


def index_name(number: int, split: str | None = None) -> str:
    """Name of a shard's document ends, relative to the directory of the shards; of a split that counts for itself."""
    return f"{INDEX}/{(split or '')[:1]}{number:06d}.npy"
