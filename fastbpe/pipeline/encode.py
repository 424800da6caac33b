"""encode_dataset: documents of a source to shards of tokens.

Units of text come in order, are encoded on threads, and are written in order again; what is in flight is bounded, so
memory does not grow with the corpus. The journal names a unit and a place in its tokens for every complete shard: a
later run reads the source again, encodes from that unit on, and so writes the same bytes.
"""

import os
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES, Address
from fastbpe.corpus.sources import Corpus, Source
from fastbpe.errors import DataError, ParameterError, UnknownCharacterError
from fastbpe.normalizing import UNICODE_VERSION
from fastbpe.pipeline.documents import documents_of
from fastbpe.pipeline.entries import address_entry, origins_of, reader_entry, source_entries
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.units import Unit, UnitPacker
from fastbpe.shards.forms import UNLIMITED, Form, Origin, form_named
from fastbpe.shards.journal import Journal, begin, clean
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.naming import MANIFEST, TOKENIZER, TRAIN, VAL, check_prefix
from fastbpe.shards.writer import SHARD_TOKENS, ShardWriter, disk_error
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
    a seed, takes the documents in a random order within a buffer of 256 MB. `eos_token` and `bos_token` name special
    tokens to put at every document's end (with eos_place="prepend" at its start) and start; without eos_token nothing
    in the tokens themselves tells documents apart, only the index does. Special tokens in the text are ordinary text
    unless `allowed_special` names them or is "all"; the manifest counts those left as text. `errors` says what to do
    with bytes that are not UTF-8: "keep" and count them, "strict" raises DataError, "replace" puts U+FFFD there.

    A directory that holds anything is refused. After a crash `resume=True` with the same source and parameters goes
    on, and ends with the bytes of an undisturbed run. Raises ParameterError, DataError for the source, FastbpeError
    when the disk is full (the complete shards stay) or another run is writing there.
    """
    out = Path(out)
    policy = Policy.of(tokenizer, eos_token, eos_place, bos_token, allowed_special)
    form = form_named(format)
    layout = _layout(form, prefix, shard_tokens, val_shards, val_fraction)
    if shuffle is not None and (isinstance(shuffle, bool) or not isinstance(shuffle, int)):
        raise ParameterError(f"shuffle is a whole number, the seed of the order, not {shuffle!r}")
    workers = thread_count(threads)
    shown = as_progress(progress)
    corpus = Corpus(source, exclude=out)
    survey = corpus.survey()
    fixed: dict[str, Any] = {
        "fingerprint": tokenizer.fingerprint,
        "dtype": form.dtype(tokenizer.id_limit).name,
        "id_limit": tokenizer.id_limit,
        **policy.entries(),
        "reader": reader_entry(corpus.options, check_errors(errors)),
        **layout,
        "shuffle": shuffle,
        "unicode_version": None if tokenizer.model.normalizer is None else UNICODE_VERSION,
    }
    run = {**fixed, "block_bytes": BLOCK_BYTES, "sources": survey and survey.digest}
    journal = begin(out, run, resume)
    if journal is None:
        return _already_complete(out, fixed)
    completed = False
    try:
        clean(out)
        if (out / MANIFEST).exists():  # the run before ended between its last two steps
            manifest = Manifest.load(out)
        else:
            tokenizer.save(out / TOKENIZER)
            shown.phase("encode", None if survey is None else survey.text_bytes)
            manifest = _write(tokenizer, corpus, journal, policy, fixed, survey is None, workers, shown)
            shown.finish(**_facts(manifest))
            corpus.warn()
        journal.remove()
        completed = True
    except OSError as error:
        raise disk_error(error, out, len(journal.entries)) from error
    finally:
        if not completed and not journal.entries:
            journal.discard()
        journal.close()
    return manifest


def _layout(
    form: Form, prefix: str | None, shard_tokens: int | None, val_shards: int, val_fraction: float
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
    if val_shards < 0:
        raise ParameterError(f"val_shards must not be negative: {val_shards}")
    if not 0 <= val_fraction < 1:
        raise ParameterError(f"val_fraction must be at least 0 and below 1, not {val_fraction}")
    if val_shards and val_fraction:
        raise ParameterError("val_shards and val_fraction both say what is val: choose one")
    return {
        "form": form.name,
        "prefix": "tokens" if prefix is None else prefix,
        "shard_tokens": tokens,
        "val_shards": val_shards,
        "val_fraction": float(val_fraction),
    }


class Work(NamedTuple):
    """A unit to encode: its lane, its number there, and the checksum of the lane's text up to its end, by which a
    later run knows the source again. origins: of the documents that end in it, where the form wants them."""

    lane: "_Lane"
    unit: Unit
    number: int
    crc: int
    origins: list[Origin]


class Encoded(NamedTuple):
    """A unit's tokens as shards hold them, where documents end among them, and what was found in its text."""

    tokens: np.ndarray
    ends: np.ndarray
    found: "Found"
    work: Work


class _Lane:
    """The units of one split, from the one on in which its last complete shard ends. Without splits there is one."""

    def __init__(self, split: str | None, journal: Journal, packer: UnitPacker, check_content: bool) -> None:
        lines = [line for line in journal.entries if split is None or line["shard"]["split"] == split]
        self.split = split
        self.packer = packer
        self.found = Found()
        self.offset: int | None = None
        self.origins: deque[Origin] = deque()
        self.crc = 0
        self.number = 0
        self._check_content = check_content
        self._state: dict[str, Any] | None = None
        if lines:
            self._state, self.offset = lines[-1]["state"], lines[-1]["offset"]
            self.found = Found.from_json(lines[-1]["state"]["found"])

    def work(self, units: Iterator[Unit], progress: Progress) -> Iterator[Work]:
        """What is to be done of the next units. Raises ParameterError when the source is not as it was."""
        for unit in units:
            if self._check_content:
                self.crc = zlib.crc32(unit.data[: unit.stop], self.crc)  # type: ignore[arg-type]
            origins = [self.origins.popleft() for _ in unit.ends] if self.origins else []
            number = self.number
            self.number += 1
            state = self._state
            if state is not None and number < state["unit"]:
                progress.advance(unit.stop)
                continue
            if state is not None and number == state["unit"]:
                self._check(self.crc == state["crc"] and not state["last"])
            yield Work(self, unit, number, self.crc, origins)

    def over(self) -> None:
        """Raises ParameterError when the source ends before what complete shards hold."""
        state = self._state
        if state is not None and state["last"]:
            self._check(self.number == state["unit"] and self.crc == state["crc"])
        elif state is not None:
            self._check(self.number > state["unit"])

    @staticmethod
    def _check(same: bool) -> None:
        if not same:
            raise ParameterError("cannot go on: the source is not as it was; remove the directory and start anew")

    def state(self, number: int, crc: int, last: bool = False) -> dict[str, Any]:
        """What the journal says of a shard's end: the unit it lies in (`last`: that all are over), the checksum of the
        text up to and with it, and what was found before it."""
        return {"unit": number, "crc": crc, "last": last, "found": self.found.as_json()}


@dataclass
class Found:
    """What the manifest tells of the text: special tokens left as text, and bytes that are not UTF-8."""

    left: Counter[str] = field(default_factory=Counter)
    invalid: InvalidBytes = field(default_factory=InvalidBytes)

    def add(self, other: "Found") -> None:
        self.left.update(other.left)
        self.invalid.add(other.invalid)

    def as_json(self) -> dict[str, Any]:
        return {"left": dict(sorted(self.left.items())), "invalid": [self.invalid.count, self.invalid.first]}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "Found":
        count, first = entry["invalid"]
        return cls(Counter(entry["left"]), InvalidBytes(count, None if first is None else Address(*first)))


def _write(
    tokenizer: Tokenizer,
    corpus: Corpus,
    journal: Journal,
    policy: Policy,
    fixed: dict[str, Any],
    check_content: bool,
    threads: int,
    progress: Progress,
) -> Manifest:
    errors = fixed["reader"]["errors"]
    normalizer = tokenizer.model.normalizer
    form = form_named(fixed["form"])
    replaced_bytes = InvalidBytes()  # what is replaced is found again by reading again
    bos, eos = policy.around()
    splits = [VAL, TRAIN] if fixed["val_fraction"] else [None]
    lanes = [
        _Lane(
            split,
            journal,
            UnitPacker(tokenizer.splitter, policy.allowed, bos, eos, policy.every or policy.allowed, normalizer),
            check_content,
        )
        for split in splits
    ]
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
        pack = writers[splits[0]].pack

        def encode(work: Work) -> Encoded:
            unit = work.unit
            here = Found(policy.left_as_text(unit), InvalidBytes() if errors == "replace" else invalid_in(unit, errors))
            data, spans = unit.normalized(normalizer)
            try:
                ids, offsets = tokenizer.encode_spans(data, spans)
            except UnknownCharacterError as error:
                at = error.offset
                if data is not unit.data:  # offsets have moved: where its stretch of text begins
                    at = int(unit.spans[np.searchsorted(spans[:, 1], at, side="right"), 0])
                raise DataError(f"{unit.address(at)}: {error.what}") from None
            return Encoded(pack(ids), offsets[unit.document_spans], here, work)

        with closing(ordered_map(encode, feed(), threads)) as results:
            for tokens, ends, here, work in results:
                lane = work.lane
                state = lane.state(work.number, work.crc)
                writers[lane.split].add(tokens, ends, state, lane.offset, work.origins)
                lane.offset = None
                lane.found.add(here)
                progress.advance(work.unit.stop)
        for lane in lanes:
            shards = writers[lane.split].finish(lane.state(lane.number, lane.crc, last=True))
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
        sources=source_entries(corpus),
        shards=shards,
    )
    manifest.save(journal.directory)
    return manifest


def _already_complete(out: Path, fixed: dict[str, Any]) -> Manifest:
    manifest = Manifest.load(out)
    for name, value in fixed.items():
        if getattr(manifest, name) != value:
            raise ParameterError(
                f"{out}: holds complete shards of another run ({name} {getattr(manifest, name)!r}, not {value!r}); "
                "choose another directory"
            )
    return manifest


def _facts(manifest: Manifest) -> dict[str, Any]:
    return {"documents": manifest.documents, "tokens": manifest.tokens, "shards": len(manifest.shards)}
