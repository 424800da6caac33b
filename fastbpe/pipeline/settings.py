"""The parameters of an encoding: checked, and as the manifest tells of them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from fastbpe.corpus.readers import ReaderOptions
from fastbpe.errors import ParameterError
from fastbpe.normalizing import UNICODE_VERSION
from fastbpe.pipeline.entries import reader_entry
from fastbpe.pipeline.invalid import check_errors
from fastbpe.pipeline.policy import Policy
from fastbpe.shards.forms import UNLIMITED, Form, form_named
from fastbpe.shards.naming import check_prefix
from fastbpe.shards.writer import SHARD_TOKENS
from fastbpe.specials import special_id
from fastbpe.tokenizer import Tokenizer


class Settings(NamedTuple):
    """entries: by the names that they have in a Manifest."""

    policy: Policy
    entries: dict[str, Any]


def settled(
    tokenizer: Tokenizer,
    reading: ReaderOptions,
    eos_token: str | None = None,
    eos_place: str = "append",
    bos_token: str | None = None,
    allowed_special: Iterable[str] | str = (),
    prefix: str | None = None,
    shard_tokens: int | None = None,
    val_shards: int = 0,
    val_fraction: float = 0.0,
    format: str = "npy",
    pack: int | None = None,
    pad_token: str | None = None,
    shuffle: int | None = None,
    errors: str = "keep",
) -> Settings:
    """What `encode_dataset` was given. Raises ParameterError for what cannot be."""
    if not isinstance(tokenizer, Tokenizer):
        raise ParameterError(f"tokenizer: give what fastbpe.load(path) returns, not {type(tokenizer).__name__}")
    policy = Policy.of(tokenizer, eos_token, eos_place, bos_token, allowed_special)
    form = form_named(format)
    rows = _rows(tokenizer, form, pack, pad_token)
    layout = _layout(form, prefix, shard_tokens, val_shards, val_fraction, pack or 1)
    if shuffle is not None and (isinstance(shuffle, bool) or not isinstance(shuffle, int)):
        raise ParameterError(f"shuffle is a whole number, the seed of the order, not {shuffle!r}")
    entries: dict[str, Any] = {
        "fingerprint": tokenizer.fingerprint,
        "dtype": form.dtype(tokenizer.id_limit).name,
        "id_limit": tokenizer.id_limit,
        **policy.entries(),
        "reader": reader_entry(reading, check_errors(errors)),
        **rows,
        **layout,
        "shuffle": shuffle,
        "unicode_version": None if tokenizer.model.normalizer is None else UNICODE_VERSION,
    }
    return Settings(policy, entries)


def _rows(tokenizer: Tokenizer, form: Form, pack: int | None, pad_token: str | None) -> dict[str, Any]:
    """What the manifest says of rows. Raises ParameterError when there can be none."""
    if pack is None:
        if pad_token is not None:
            raise ParameterError(f"pad_token {pad_token!r} fills the rows of pack: give that too, or leave it out")
        return {"pack": None, "pad_token": None, "pad_id": None}
    if isinstance(pack, bool) or not isinstance(pack, int) or pack < 1:
        raise ParameterError(f"pack is the tokens in a row, a whole number of at least 1, not {pack!r}")
    if not form.rows:
        raise ParameterError(f"{form.name} has no rows, its loader makes them of the documents: leave out pack")
    name = tokenizer.model.roles.get("pad") if pad_token is None else pad_token
    if name is None:
        raise ParameterError(
            "pack fills rows up with a special token, and this tokenizer has no pad role: name one with pad_token "
            "(--pad), the eos if there is no other"
        )
    return {"pack": pack, "pad_token": name, "pad_id": special_id(tokenizer.special_tokens, name, "pad_token")}


def _layout(
    form: Form, prefix: str | None, shard_tokens: int | None, val_shards: int, val_fraction: float, row: int
) -> dict[str, Any]:
    """What the manifest says of the files. Raises ParameterError for what the form cannot hold."""
    given = {"shard_tokens": shard_tokens is not None, "val_shards": val_shards != 0}
    for name in given if form.one_file else ():
        if given[name]:
            raise ParameterError(f"{form.name} has one file a split: leave out {name} (val_fraction makes a val)")
    if not form.splits and (val_shards or val_fraction):
        raise ParameterError(f"{form.name} knows no splits: leave out val_shards and val_fraction")
    if not form.prefixed and prefix is not None:
        raise ParameterError(f"{form.name} names its files itself: leave out the prefix {prefix!r}")
    check_prefix("tokens" if prefix is None else prefix)
    tokens = SHARD_TOKENS if shard_tokens is None else shard_tokens
    if not 1 <= tokens <= form.longest:
        limit = f" and at most {form.longest:,} in {form.name}" if form.longest < UNLIMITED else ""
        raise ParameterError(f"shard_tokens must be at least 1{limit}, not {tokens}")
    if tokens < row:
        raise ParameterError(f"shard_tokens {tokens:,} has no room for a row of {row:,} tokens (pack)")
    if val_shards < 0:
        raise ParameterError(f"val_shards must not be negative: {val_shards}")
    if not 0 <= val_fraction < 1:
        raise ParameterError(f"val_fraction must be at least 0 and below 1, not {val_fraction}")
    if val_shards and val_fraction:
        raise ParameterError("val_shards and val_fraction both say what is val: choose one")
    return {
        "form": form.name,
        "prefix": "tokens" if prefix is None else prefix,
        "shard_tokens": tokens - tokens % row,
        "val_shards": val_shards,
        "val_fraction": float(val_fraction),
    }
