"""encode_dataset: documents of a source to shards of tokens.

Units of text come in order, are encoded on threads, and are written in order again; what is in flight is bounded, so
memory does not grow with the corpus. The journal names a unit and a place in its tokens for every complete shard: a
later run reads the source again, encodes from that unit on, and so writes the same bytes.
"""

import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES, Address
from fastbpe.corpus.sources import Corpus, Source
from fastbpe.errors import ParameterError
from fastbpe.pipeline.entries import address_entry, reader_entry, source_entries
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in, replaced
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.units import Unit, units
from fastbpe.shards.journal import Journal, begin, clean
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.naming import MANIFEST, TOKENIZER, check_prefix
from fastbpe.shards.writer import SHARD_TOKENS, ShardWriter, disk_error, shard_dtype
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
    prefix: str = "tokens",
    shard_tokens: int = SHARD_TOKENS,
    val_shards: int = 0,
    errors: str = "keep",
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> Manifest:
    """Encodes every document of `source` into shards in the directory `out`; returns their manifest.

    Shards are NPY files `{prefix}_{split}_{number:06d}.npy` of `shard_tokens` ids, the first `val_shards` of them
    split "val", all others "train"; uint16 when every id fits, else uint32. `eos_token` and `bos_token` name special
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
    check_prefix(prefix)
    if shard_tokens < 1:
        raise ParameterError(f"shard_tokens must be at least 1, not {shard_tokens}")
    if val_shards < 0:
        raise ParameterError(f"val_shards must not be negative: {val_shards}")
    workers = thread_count(threads)
    shown = as_progress(progress)
    corpus = Corpus(source, exclude=out)
    survey = corpus.survey()
    fixed: dict[str, Any] = {
        "fingerprint": tokenizer.fingerprint,
        "dtype": shard_dtype(tokenizer.id_limit).name,
        "id_limit": tokenizer.id_limit,
        **policy.entries(),
        "reader": reader_entry(corpus.options, check_errors(errors)),
        "prefix": prefix,
        "shard_tokens": shard_tokens,
        "val_shards": val_shards,
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
        journal.remove()
        completed = True
    except OSError as error:
        raise disk_error(error, out, len(journal.entries)) from error
    finally:
        if not completed and not journal.entries:
            journal.discard()
        journal.close()
    return manifest


class Work(NamedTuple):
    """A unit to encode, and the checksum of all text up to its end, by which a later run knows the source again."""

    unit: Unit
    crc: int


class Encoded(NamedTuple):
    """A unit's tokens as shards hold them, where documents end among them, and what was found in its text."""

    tokens: np.ndarray
    ends: np.ndarray
    found: "Found"
    work: Work


class _Feed:
    """The units of a run, from the one on in which the last complete shard ends."""

    def __init__(self, stream: Iterator[Unit], check_content: bool) -> None:
        self._stream = stream
        self._check_content = check_content
        self._expected: int | None = None
        self.crc = 0

    def skip(self, state: dict[str, Any], progress: Progress) -> None:
        """Passes over what complete shards hold. Raises ParameterError when the source is not as it was, here or
        with the next unit."""
        for _ in range(state["unit"]):
            work = next(self, None)
            progress.advance(0 if work is None else work.unit.stop)
        if state["last"]:
            self._check(state["crc"], next(self, None) is None)
        else:
            self._expected = state["crc"]

    def __iter__(self) -> Iterator[Work]:
        return self

    def __next__(self) -> Work:
        unit = next(self._stream, None)
        if unit is not None and self._check_content:
            self.crc = zlib.crc32(unit.data[: unit.stop], self.crc)  # type: ignore[arg-type]
        if self._expected is not None:
            self._check(self._expected, unit is not None)
            self._expected = None
        if unit is None:
            raise StopIteration
        return Work(unit, self.crc)

    def _check(self, crc: int, as_long: bool) -> None:
        if self.crc != crc or not as_long:
            raise ParameterError("cannot go on: the source is not as it was; remove the directory and start anew")


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
    found = Found()
    number, offset = 0, None
    if journal.entries:
        state, offset = journal.entries[-1]["state"], journal.entries[-1]["offset"]
        number, found = state["unit"], Found.from_json(state["found"])
    blocks = corpus.blocks(BLOCK_BYTES)
    if errors == "replace":
        found.invalid = InvalidBytes()  # what is replaced is found again by reading again
        blocks = replaced(blocks, found.invalid)
    bos, eos = policy.around()
    feed = _Feed(units(blocks, tokenizer.splitter, policy.allowed, bos, eos, uncut=policy.every), check_content)
    if journal.entries:
        feed.skip(state, progress)

    def state_at(unit: int, crc: int, last: bool = False) -> dict[str, Any]:
        """What the journal says of a shard's end: the unit it lies in (`last`: that all are over), the checksum of the
        text up to and with it, and what was found before it."""
        return {"unit": unit, "crc": crc, "last": last, "found": found.as_json()}

    with ShardWriter(
        journal, fixed["prefix"], tokenizer.id_limit, fixed["shard_tokens"], fixed["val_shards"]
    ) as writer:

        def encode(work: Work) -> Encoded:
            unit = work.unit
            here = Found(policy.left_as_text(unit), InvalidBytes() if errors == "replace" else invalid_in(unit, errors))
            ids, offsets = tokenizer.encode_spans(unit.data, unit.spans)
            return Encoded(writer.pack(ids), offsets[unit.document_spans], here, work)

        with closing(ordered_map(encode, feed, threads)) as results:
            for tokens, ends, here, work in results:
                writer.add(tokens, ends, state_at(number, work.crc), offset)
                offset = None
                found.add(here)
                number += 1
                progress.advance(work.unit.stop)
        shards = writer.finish(state_at(number, feed.crc, last=True))
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
