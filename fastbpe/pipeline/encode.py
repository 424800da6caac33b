"""encode_dataset: documents of a source to shards of tokens.

Stretches of text come in order, are encoded on threads, and are written in order again; what is in flight is bounded,
so memory does not grow with the corpus. The journal names a stretch and a place in its tokens for every complete shard:
a later run reads the source again, encodes from that stretch on, and so writes the same bytes.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES
from fastbpe.corpus.sources import Corpus, Source
from fastbpe.errors import ParameterError
from fastbpe.pipeline.checksum import checksums
from fastbpe.pipeline.documents import documents_of
from fastbpe.pipeline.encode_stretch import encode_stretch
from fastbpe.pipeline.entries import address_entry, origins_of, source_entries
from fastbpe.pipeline.invalid import InvalidBytes, invalid_in
from fastbpe.pipeline.lanes import Found, Lane, Work
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.settings import settled
from fastbpe.pipeline.stretches import StretchPacker
from fastbpe.shards.forms import form_named
from fastbpe.shards.journal import Journal, begin, clean, difference
from fastbpe.shards.manifest import Manifest, ShardEntry
from fastbpe.shards.naming import MANIFEST, TOKENIZER, TRAIN, VAL
from fastbpe.shards.packing import RowPacker
from fastbpe.shards.reader import TokenShards
from fastbpe.shards.writer import ShardWriter, check_written, disk_error, entered
from fastbpe.threads import ordered_map, thread_count
from fastbpe.tokenizer import Tokenizer


def encode_dataset(
    tokenizer: Tokenizer,
    source: Source,
    out: str | os.PathLike[str],
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
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> Manifest:
    """Encodes every document of `source` into shards in the directory `out`; returns their manifest.

    Shards are NPY files `{prefix}_{split}_{number:06d}.npy` (prefix "tokens") of `shard_tokens` ids (100 million), the
    first `val_shards` of them split "val", all others "train"; uint16 when every id fits, else uint32. With
    `val_fraction` that part of the documents is val instead, chosen by a hash of each. `format` "nanogpt", "llmc",
    "megatron" or "dolma" writes what the loaders of those read, by their rules for names, types and sizes. `shuffle`,
    a seed, takes the documents in a random order within a buffer of 256 MB.

    `pack` lays the documents into rows of so many tokens, in their order: one that does not fit into what is left of a
    row begins the next, and the special token `pad_token` (the tokenizer's pad role, if not given) fills the row. A
    document longer than a row begins a row and goes on in the next ones; the manifest counts these. Every shard then
    holds whole rows: `np.load(file).reshape(-1, pack)`. megatron and dolma have no rows.

    `eos_token` and `bos_token` name special tokens to put at every document's end (with eos_place="prepend" at its
    start) and start; without eos_token nothing in the tokens themselves tells documents apart, only the index does.
    Special tokens in the text are ordinary text unless `allowed_special` names them or is "all"; the manifest counts
    those left as text. `errors` says what to do with bytes that are not UTF-8: "keep" and count them, "strict" raises
    DataError, "replace" puts U+FFFD there.

    A directory that holds anything is refused. After a crash `resume=True` with the same source and parameters goes
    on, and ends with the bytes of an undisturbed run; what is complete is read again, the source too, and refused when
    it has changed. Raises ParameterError, DataError for the source, FastbpeError when the disk is full (the complete
    shards stay) or another run is writing there.
    """
    out = Path(out)
    workers = thread_count(threads)
    shown = as_progress(progress)
    corpus = Corpus(source, exclude=out)
    policy, fixed = settled(
        tokenizer,
        corpus.options,
        eos_token=eos_token,
        eos_place=eos_place,
        bos_token=bos_token,
        allowed_special=allowed_special,
        prefix=prefix,
        shard_tokens=shard_tokens,
        val_shards=val_shards,
        val_fraction=val_fraction,
        format=format,
        pack=pack,
        pad_token=pad_token,
        shuffle=shuffle,
        errors=errors,
    )
    survey = corpus.survey()
    run = {**fixed, "block_bytes": BLOCK_BYTES, "sources": survey and survey.digest}
    try:
        journal = begin(out, run, resume)
    except OSError as error:
        raise disk_error(error, out, 0) from error
    if journal is None:
        return _already_complete(out, fixed, corpus, shown)
    completed = False
    try:
        clean(out)
        if (out / MANIFEST).exists():  # the run before ended between its last two steps
            manifest = _already_complete(out, fixed, corpus, shown)
        else:
            if journal.entries:
                _check(out, entered(journal), shown)
            shown.phase("encode", None if survey is None else survey.text_bytes)
            manifest = _write(tokenizer, corpus, journal, policy, fixed, workers, shown)
            shown.finish(**_facts(manifest))
            corpus.warn()
        journal.remove()
        completed = True
    except OSError as error:
        raise disk_error(error, out, len(journal.entries)) from error
    finally:
        if not completed and not journal.entries and not (out / MANIFEST).exists():
            journal.discard()
        journal.close()
    return manifest


class Encoded(NamedTuple):
    """A stretch's tokens as shards hold them, where documents end among them, and what was found in its text."""

    tokens: np.ndarray
    ends: np.ndarray
    found: Found
    work: Work


def _write(
    tokenizer: Tokenizer,
    corpus: Corpus,
    journal: Journal,
    policy: Policy,
    fixed: dict[str, Any],
    threads: int,
    progress: Progress,
) -> Manifest:
    errors = fixed["reader"]["errors"]
    normalizer = tokenizer.model.normalizer
    form = form_named(fixed["form"])
    replaced_bytes = InvalidBytes()  # what is replaced is found again by reading again
    bos, eos = policy.around()
    splits = [VAL, TRAIN] if fixed["val_fraction"] else [None]
    dtype = form.dtype(tokenizer.id_limit)

    def begun(split: str | None) -> Lane:
        packer = StretchPacker(tokenizer.splitter, policy.allowed, bos, eos, policy.every, normalizer)
        rows = RowPacker(fixed["pack"], fixed["pad_id"]) if fixed["pack"] else None
        return Lane(split, journal, packer, rows, dtype)

    lanes = [begun(split) for split in splits]
    dealt = documents_of(corpus, BLOCK_BYTES, errors, fixed["shuffle"], fixed["val_fraction"], replaced_bytes)

    def feed() -> Iterator[Work]:
        for parts in dealt:
            for lane, block in zip(lanes, parts, strict=True):
                if block is not None:
                    if form.origins:
                        lane.origins.extend(origins_of(block, corpus.reports))
                    yield from lane.work(lane.packer.take(block), progress)
        for lane in lanes:
            yield from lane.work(lane.packer.rest(), progress)
            lane.over()

    with ExitStack() as stack:
        writers: dict[str | None, ShardWriter] = {}
        for split in splits:
            other = next(iter(writers.values()), None)
            layout = (fixed["prefix"], tokenizer.id_limit, fixed["shard_tokens"], fixed["val_shards"], form)
            writers[split] = stack.enter_context(ShardWriter(journal, *layout, split, other))
        any_writer = writers[splits[0]]
        pack = any_writer.pack
        any_writer.before_shards(partial(tokenizer.save, journal.directory / TOKENIZER))

        def encode(work: Work) -> Encoded:
            stretch = work.stretch
            here = Found(
                policy.left_as_text(stretch), InvalidBytes() if errors == "replace" else invalid_in(stretch, errors)
            )
            ids, offsets = encode_stretch(tokenizer, stretch)
            return Encoded(pack(ids), offsets[stretch.document_spans], here, work)

        # Every other stretch may be a small one, across two blocks; and what feeds the threads may have to wait for a
        # processor that they keep busy.
        with closing(ordered_map(encode, feed(), threads, window=4 * threads + 8)) as results:
            for tokens, ends, here, work in results:
                lane = work.lane
                state = lane.state(work.number, work.checksum)
                if lane.rows is not None:
                    tokens, ends = lane.rows.take(tokens, ends)
                writers[lane.split].add(tokens, ends, state, lane.offset, work.origins)
                lane.offset = None
                lane.found.add(here)
                progress.advance(work.stretch.stop)
        for lane in lanes:
            writer = writers[lane.split]
            if lane.rows is not None:
                writer.add(lane.rows.rest(dtype), np.empty(0, np.int64))
            shards = writer.finish(lane.state(lane.number, lane.checksum.state(), last=True))
    if fixed["val_fraction"]:
        shards = sorted(shards, key=lambda shard: (shard.split == TRAIN, shard.file))
    found = Found()
    for lane in lanes:
        found.add(lane.found)
    if errors == "replace":
        found.invalid = replaced_bytes
    first = found.invalid.first
    manifest = Manifest(
        **fixed,
        tokens=sum(shard.tokens for shard in shards),
        documents=sum(shard.documents for shard in shards),
        bytes=sum(report.bytes for report in corpus.reports),
        special_left_as_text=dict(sorted(found.left.items())),
        invalid_bytes=found.invalid.count,
        first_invalid=None if first is None else address_entry(first, corpus.reports),
        checksums=[lane.checksum.hex() for lane in lanes],
        padding=sum(lane.rows.padding for lane in lanes if lane.rows is not None),
        longer_than_row=sum(lane.rows.longer for lane in lanes if lane.rows is not None),
        sources=source_entries(corpus),
        shards=shards,
    )
    manifest.save(journal.directory)
    return manifest


def _already_complete(out: Path, fixed: dict[str, Any], corpus: Corpus, progress: Progress) -> Manifest:
    """The manifest of shards that a run before has completed. Raises ParameterError when it had another source."""
    shards = TokenShards(out)
    manifest = shards.manifest
    what = difference({name: getattr(manifest, name) for name in fixed}, fixed)
    if what is not None:
        raise ParameterError(f"{out}: holds complete shards of another run: {what}; choose another directory")
    _check(out, manifest.shards, progress)
    _ = shards.tokenizer  # raises when it is another
    progress.phase("compare", manifest.bytes)
    errors, shuffle, val_fraction = fixed["reader"]["errors"], fixed["shuffle"], fixed["val_fraction"]
    again = documents_of(corpus, BLOCK_BYTES, errors, shuffle, val_fraction)
    if checksums(again, len(manifest.checksums), progress.advance) != manifest.checksums:
        raise ParameterError(
            f"{out}: holds complete shards of another source, or the source has changed since; "
            "choose another directory, or remove it"
        )
    progress.finish(**_facts(manifest))
    return manifest


def _check(out: Path, shards: list[ShardEntry], progress: Progress) -> None:
    progress.phase("check", sum(shard.tokens for shard in shards), "tokens")
    check_written(out, shards, progress.advance)


def _facts(manifest: Manifest) -> dict[str, Any]:
    return {"documents": manifest.documents, "tokens": manifest.tokens, "shards": len(manifest.shards)}
