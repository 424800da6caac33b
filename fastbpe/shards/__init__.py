"""Token shards on disk: writing, reading, checking."""

from fastbpe.shards.reader import TokenShards

__all__ = ["TokenShards"]
