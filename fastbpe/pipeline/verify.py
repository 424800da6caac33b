"""Checks shards against their manifest, a tokenizer, and the sources they were made from."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fastbpe.corpus.blocks import BLOCK_BYTES, Address, Block
from fastbpe.corpus.sources import Corpus, Files, Source, files
from fastbpe.errors import DataError, ParameterError
from fastbpe.normalizing import UNICODE_VERSION
from fastbpe.pipeline.decode import check_tokenizer
from fastbpe.pipeline.documents import documents_of
from fastbpe.pipeline.entries import reader_options
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.pipeline.stretches import Stretch, stretches
from fastbpe.shards.reader import TokenShards
from fastbpe.shards.texts import read_texts
from fastbpe.text import counted
from fastbpe.tokenizer import Tokenizer


@dataclass(frozen=True)
class Verified:
    """What was checked: `bytes` of text is None when no source was compared.

    normalizer: the form, NFC or NFKC, in which the text was compared.
    """

    shards: int
    tokens: int
    documents: int
    bytes: int | None
    normalizer: str | None = None


def verify_dataset(
    path: str | os.PathLike[str],
    tokenizer: Tokenizer | None = None,
    source: Source | None = None,
    progress: ProgressLike = None,
) -> Verified:
    """Reads shards again: checksums, document ends, ids, and the tokenizer beside them.

    `tokenizer` must be the one that encoded; with `source` every document is compared byte by byte with what the
    source gives now, read with the manifest's options and normalized if the tokenizer does so. Raises DataError at
    the first thing that is not as it must be.
    """
    shards = TokenShards(path)
    check_tokenizer(shards, shards.tokenizer if tokenizer is None else tokenizer)
    shown = as_progress(progress)
    shown.phase("verify", len(shards), "tokens")
    shards.verify(shown.advance)
    shown.finish(shards=len(shards.manifest.shards))
    size = normalizer = None
    if source is not None:
        corpus = Corpus(_read_as_before(source, shards), exclude=path)
        shown.phase("compare", shards.manifest.bytes)
        size = _compare(shards, corpus, shown)
        normalizer = shards.tokenizer.model.normalizer
        shown.finish(documents=shards.documents)
    return Verified(len(shards.manifest.shards), len(shards), shards.documents, size, normalizer)


def _read_as_before(source: Source, shards: TokenShards) -> Source:
    if isinstance(source, os.PathLike):
        source = files(source)
    if not isinstance(source, Files):
        if shards.manifest.val_fraction:
            raise ParameterError("documents dealt to splits are compared with files, which can be read twice")
        return source
    # What was bad then is bad now: it is skipped, as it was.
    return replace(source, options=reader_options(shards.manifest.reader), on_error="report")


class _Part(NamedTuple):
    """A stretch of text, where documents end in it, and what leads from an offset back to the source."""

    data: np.ndarray
    ends: np.ndarray
    address_at: Callable[[int], Address] | None = None


class _Stream:
    """Bytes and document ends of one side, taken in steps of any size."""

    def __init__(self, parts: Iterator[_Part]) -> None:
        self._parts = parts
        self._base = 0
        self.data = np.empty(0, np.uint8)
        self.ends = np.empty(0, np.int64)
        self._part: _Part | None = None
        self.over = False

    def fill(self) -> None:
        """Takes the next part when all bytes are used up."""
        while not len(self.data) and not self.over:
            part = next(self._parts, None)
            if part is None:
                self.over = True
                return
            self._part, self.data = part, part.data
            self.ends = np.concatenate((self.ends, part.ends + self._base))
            self._base += len(self.data)

    def take_ends(self, limit: int) -> np.ndarray:
        """The next ends up to and with `limit`."""
        n = int(np.searchsorted(self.ends, limit, side="right"))
        taken, self.ends = self.ends[:n], self.ends[n:]
        return taken

    def address(self) -> str:
        """Where in the source data[0] comes from."""
        if self._part is None or self._part.address_at is None or not len(self.data):
            return "an empty document"
        return str(self._part.address_at(len(self._part.data) - len(self.data)))


def _compare(shards: TokenShards, corpus: Corpus, progress: Progress) -> int:
    ours = _Stream(_Part(np.frombuffer(data, np.uint8), ends) for data, ends in read_texts(shards))
    if shards.tokenizer.model.normalizer is None:
        theirs = _Stream(_Part(block.data, block.ends, block.address_at) for block in _in_order(shards, corpus))
    else:
        theirs = _Stream(_normalized(shards, corpus))
    document = size = 0
    while True:
        ours.fill()
        theirs.fill()
        n = min(len(ours.data), len(theirs.data))
        unequal = np.flatnonzero(ours.data[:n] != theirs.data[:n])
        same = int(unequal[0]) if len(unequal) else n
        size += same
        # Ends before a byte that both sides have are known on both sides; so are all when both are over.
        sure = size if same < n or n == 0 else size - 1
        our_ends, their_ends = ours.take_ends(sure), theirs.take_ends(sure)
        both = min(len(our_ends), len(their_ends))
        differs = np.flatnonzero(our_ends[:both] != their_ends[:both])
        document += int(differs[0]) if len(differs) else both
        ours.data, theirs.data = ours.data[same:], theirs.data[same:]
        progress.advance(same)
        one_ends = len(our_ends) != len(their_ends)
        if n == 0:  # one side is over: what more the other has is told below, unless it is a longer last document
            one_ends = len(ours.data) > 0 < len(their_ends) - both or len(theirs.data) > 0 < len(our_ends) - both
        if len(differs) or one_ends:
            raise _different(shards, document, "ends elsewhere in the source")
        if same < n:
            raise _different(shards, document, f"differs from {theirs.address()}")
        if n == 0:
            break
    if len(ours.data) or len(our_ends) > both:
        raise _different(shards, document, "is not in the source, which ends before")
    if len(theirs.data) or len(their_ends) > both:
        raise DataError(
            f"{shards.path}: ends after {counted(document, 'document')}, and the source goes on: {theirs.address()}"
            f"{_compared_in(shards)}"
        )
    return size


def _in_order(shards: TokenShards, corpus: Corpus) -> Iterator[Block]:
    """The source's blocks in the order of the shards: those of val come first when documents were dealt to splits."""
    manifest = shards.manifest
    for split in range(2 if manifest.val_fraction else 1):
        errors = manifest.reader.get("errors", "keep")
        for parts in documents_of(corpus, BLOCK_BYTES, errors, manifest.shuffle, manifest.val_fraction):
            block = parts[split]
            if block is not None:
                yield block


def _normalized(shards: TokenShards, corpus: Corpus) -> Iterator[_Part]:
    """As the shards' tokenizer normalized it: what it took for special tokens stays and bounds what is joined."""
    manifest, tokenizer = shards.manifest, shards.tokenizer
    form = tokenizer.model.normalizer
    policy = Policy.of(tokenizer, manifest.eos_token, manifest.eos_place, manifest.bos_token, manifest.allowed_special)
    for stretch in stretches(
        _in_order(shards, corpus), tokenizer.splitter, policy.allowed, uncut=policy.every, normalizer=form
    ):
        data, spans = stretch.normalized(form)
        stops = np.concatenate((np.zeros(1, np.int64), spans[:, 1]))
        yield _Part(data[: stops[-1]], stops[stretch.document_spans], _address_in(stretch, spans))


def _address_in(stretch: Stretch, spans: np.ndarray) -> Callable[[int], Address]:
    """Leads from an offset in the normalized text to where the stretch that holds it begins."""
    return lambda offset: stretch.address(int(stretch.spans[np.searchsorted(spans[:, 0], offset, side="right") - 1, 0]))


def _different(shards: TokenShards, document: int, how: str) -> DataError:
    return DataError(f"{Path(shards.path)}: document {document} {how}{_compared_in(shards)}")


def _compared_in(shards: TokenShards) -> str:
    normalizer, version = shards.tokenizer.model.normalizer, shards.manifest.unicode_version
    if normalizer is None:
        return ""
    if version != UNICODE_VERSION:
        return f" (compared in {normalizer}: of Unicode {version} in the shards and {UNICODE_VERSION} here)"
    return f" (compared in {normalizer})"
