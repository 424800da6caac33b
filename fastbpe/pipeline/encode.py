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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES
from fastbpe.corpus.sources import Corpus, Source, SourceReport
from fastbpe.corpus.walk import literal_root
from fastbpe.errors import ParameterError
from fastbpe.kernels.special import SpecialTrie, make_spans
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.threads import ordered_map, thread_count
from fastbpe.pipeline.units import Unit, units
from fastbpe.shards.journal import Journal, begin, clean
from fastbpe.shards.manifest import Manifest
from fastbpe.shards.naming import MANIFEST, TOKENIZER, check_prefix
from fastbpe.shards.writer import SHARD_TOKENS, ShardWriter, disk_error, shard_dtype
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
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> Manifest:
    """Encodes every document of `source` into shards in the directory `out`; returns their manifest.

    Shards are NPY files `{prefix}_{split}_{number:06d}.npy` of `shard_tokens` ids, the first `val_shards` of them
    split "val", all others "train"; uint16 when every id fits, else uint32. `eos_token` and `bos_token` name special
    tokens to put at every document's end (with eos_place="prepend" at its start) and start; without eos_token nothing
    in the tokens themselves tells documents apart, only the index does. Special tokens in the text are ordinary text
    unless `allowed_special` names them or is "all"; the manifest counts those left as text.

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
        "reader": reader_entries(corpus),
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
            shown.phase("encode", None if survey is None else survey.bytes)
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


@dataclass(frozen=True)
class Policy:
    """Which ids go around documents, and which special tokens are cut out of the text."""

    bos_token: str | None
    bos_id: int | None
    eos_token: str | None
    eos_id: int | None
    eos_place: str
    allowed: SpecialTrie | None
    left: SpecialTrie | None
    every: SpecialTrie | None

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        eos_token: str | None,
        eos_place: str,
        bos_token: str | None,
        allowed_special: Iterable[str] | str,
    ) -> "Policy":
        """Raises ParameterError for tokens that the tokenizer does not have and for a place there is not."""
        specials = tokenizer.special_tokens
        if eos_place not in ("append", "prepend"):
            raise ParameterError(f"eos_place must be append or prepend, not {eos_place!r}")
        if eos_place == "prepend" and bos_token is not None and eos_token is not None:
            raise ParameterError("bos_token and an eos_token that is prepended would both begin a document; choose one")
        for name in (bos_token, eos_token):
            if name is not None and name not in specials:
                raise ParameterError(f"{name!r} is not a special token of this tokenizer{_choices(specials)}")
        if isinstance(allowed_special, str):
            if allowed_special != "all":
                raise ParameterError(f"allowed_special takes 'all' or a list of names, not {allowed_special!r}")
            allowed_special = list(specials)
        allowed = set(allowed_special)
        if unknown := sorted(allowed - set(specials)):
            raise ParameterError(f"{unknown[0]!r} is not a special token of this tokenizer{_choices(specials)}")
        cut = [(name.encode(), id) for name, id in specials.items() if name in allowed]
        left = [(name.encode(), id) for name, id in specials.items() if name not in allowed]
        return cls(
            bos_token,
            None if bos_token is None else specials[bos_token],
            eos_token,
            None if eos_token is None else specials[eos_token],
            eos_place,
            SpecialTrie(cut) if cut else None,
            SpecialTrie(left) if left else None,
            SpecialTrie(cut + left) if cut or left else None,
        )

    def entries(self) -> dict[str, Any]:
        """What the manifest says of it."""
        allowed = [] if self.allowed is None else sorted(name.decode() for name, _ in self.allowed.tokens)
        names = ("bos_token", "bos_id", "eos_token", "eos_id", "eos_place")
        return {name: getattr(self, name) for name in names} | {"allowed_special": allowed}

    def around(self) -> tuple[int, int]:
        """Ids before and after every document, -1 for none."""
        eos = -1 if self.eos_id is None else self.eos_id
        bos = -1 if self.bos_id is None else self.bos_id
        return (bos, eos) if self.eos_place == "append" else (max(bos, eos), -1)


def reader_entries(corpus: Corpus) -> dict[str, Any]:
    """The reader's options as the manifest holds them; a separator that is no UTF-8 as {"hex": ...}."""
    separator: Any = corpus.options.separator
    if separator is not None:
        try:
            separator = separator.decode()
        except UnicodeDecodeError:
            separator = {"hex": separator.hex()}
    return {"separator": separator, "lines": corpus.options.lines}


class Work(NamedTuple):
    """A unit to encode, and the checksum of all text up to its end, by which a later run knows the source again."""

    unit: Unit
    crc: int


class Encoded(NamedTuple):
    """A unit's tokens as shards hold them, where documents end among them, and the specials left as text."""

    tokens: np.ndarray
    ends: np.ndarray
    left: Counter[str]
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
    bos, eos = policy.around()
    stream = units(corpus.blocks(BLOCK_BYTES), tokenizer.splitter, policy.allowed, bos, eos, uncut=policy.every)
    feed = _Feed(stream, check_content)
    left: Counter[str] = Counter()
    number, offset = 0, None
    if journal.entries:
        state, offset = journal.entries[-1]["state"], journal.entries[-1]["offset"]
        number = state["unit"]
        left.update(state["left"])
        feed.skip(state, progress)
    with ShardWriter(
        journal, fixed["prefix"], tokenizer.id_limit, fixed["shard_tokens"], fixed["val_shards"]
    ) as writer:

        def encode(work: Work) -> Encoded:
            ids, offsets = tokenizer.encode_spans(work.unit.data, work.unit.spans)
            found = _specials_left(policy.left, work.unit)
            return Encoded(writer.pack(ids), offsets[work.unit.document_spans], found, work)

        with closing(ordered_map(encode, feed, threads)) as results:
            for tokens, ends, found, work in results:
                writer.add(tokens, ends, _state(number, left, work.crc), offset)
                offset = None
                left.update(found)
                number += 1
                progress.advance(work.unit.stop)
        shards = writer.finish(_state(number, left, feed.crc, last=True))
    manifest = Manifest(
        **fixed,
        tokens=sum(shard.tokens for shard in shards),
        documents=sum(shard.documents for shard in shards),
        bytes=sum(report.bytes for report in corpus.reports),
        special_left_as_text=dict(sorted(left.items())),
        sources=[source_entry(report) for report in corpus.reports],
        shards=shards,
    )
    manifest.save(journal.directory)
    return manifest


def _state(unit: int, left: Counter[str], crc: int, last: bool = False) -> dict[str, Any]:
    """What the journal says of a shard's end: the unit it lies in, or that it is the `last` one's, and the special
    tokens left as text before that unit."""
    return {"unit": unit, "left": dict(sorted(left.items())), "crc": crc, "last": last}


def _specials_left(trie: SpecialTrie | None, unit: Unit) -> Counter[str]:
    """How often each special token stands in text where it is nothing special."""
    if trie is None:
        return Counter()
    texts = unit.spans[unit.spans[:, 3] < 0]
    spans, _ = make_spans(unit.data, texts[:, 0].copy(), texts[:, 1].copy(), trie)
    found = Counter(spans[spans[:, 3] >= 0, 3].tolist())
    names = {id: name.decode() for name, id in trie.tokens}
    return Counter({names[id]: n for id, n in found.items()})


def source_entry(report: SourceReport) -> dict[str, Any]:
    """What the manifest says of a source. An absolute path is shortened to what does not depend on the machine."""
    base = os.path.dirname(literal_root(report.name)) if os.path.isabs(report.name) else ""
    entry: dict[str, Any] = {
        "name": _below(report.name, base),
        "files": report.files,
        "documents": report.documents,
        "bytes": report.bytes,
        "skipped": dict(sorted(report.skipped.items())),
        "skipped_examples": [[_below(what, base), why] for what, why in report.skipped_examples],
    }
    if report.documents_per_file is not None:
        entry["documents_per_file"] = report.documents_per_file
    return entry


def _below(path: str, base: str) -> str:
    return os.path.relpath(path, base) if base else path


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


def _choices(specials: Iterable[str]) -> str:
    names = ", ".join(specials)
    return f"; it has {names}" if names else "; it has none"
