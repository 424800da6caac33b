"""All figures of a report, as plain values that JSON holds: reads the texts once, encodes them with each tokenizer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline.memory import byte_size
from fastbpe.pipeline.progress import Progress, ProgressLike, as_progress
from fastbpe.report import answers, efficiency, learning, tokens
from fastbpe.report.cost import COMMON, Model, costs
from fastbpe.report.describing import card, source
from fastbpe.report.measured import Measured, Measurement
from fastbpe.report.sizes import can_be_undone, joins
from fastbpe.report.texts import Text, excerpts
from fastbpe.report.usage import TextFigures, Usage
from fastbpe.report.vocabulary import vocabulary_of
from fastbpe.specials import Names
from fastbpe.tokenizer import Tokenizer

VERSION = 1
MAX_BYTES = 256 * 10**6
SAMPLES = 16
"""Sources that are shown token by token, the first ones: a page must stay readable."""


def gather(
    tokenizer: Tokenizer,
    texts: Sequence[Text],
    against: Mapping[str, Tokenizer] | None = None,
    name: str = "tokenizer",
    allowed_special: Names = (),
    models: Sequence[Model] = COMMON,
    max_bytes: int | str = MAX_BYTES,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> dict[str, Any]:
    """The figures of a tokenizer on texts, beside the tokenizers of `against` (by name).

    allowed_special: special tokens to recognise in the texts, "all" or names. max_bytes bounds what is read of all
    texts together, each having an equal share. models: those whose embeddings are weighed. Raises DataError when the
    texts hold nothing, or when a character tokenizer does not know what is in them.
    """
    if not texts:
        raise ParameterError("a report needs a text: name at least one")
    share = byte_size(max_bytes, "max_bytes") // len(texts)
    if not share:
        raise ParameterError(f"max_bytes={max_bytes}: each of the {len(texts)} texts needs at least a byte")
    named = {name: tokenizer}
    for other, its in (against or {}).items():
        named[_unlike(other, named)] = its
    allowed = [_allowed(allowed_special, its, its is tokenizer) for its in named.values()]
    measured = [Measured(name, its, vocabulary_of(its)) for name, its in named.items()]
    found: list[TextFigures] = []
    shown_parts: list[list[bytes]] = []
    with as_progress(progress) as shown:
        expected = [text.expected(share) for text in texts]
        known = [size for size in expected if size is not None]
        shown.phase("read", sum(known) if len(known) == len(texts) else None)
        for text in texts:
            figures, documents = _read(text, share, measured, allowed, threads, shown)
            found.append(figures)
            shown_parts.append(excerpts(documents) if len(shown_parts) < SAMPLES else [])
        shown.finish(documents=sum(figures.documents for figures in found))
        if not any(figures.n_bytes for figures in found):
            raise DataError("the texts hold nothing to measure: give at least one that is not empty")
        shown.phase("undo", sum(len(one.vocabulary.merges) for one in measured), "merges")
        for one in measured:
            if can_be_undone(one.vocabulary):
                one.joins = joins(one.vocabulary, np.column_stack([usage.counts for usage in one.usages]))
            shown.advance(len(one.vocabulary.merges))
        shown.finish()
    measurement = Measurement(measured, found, [text.held_out for text in texts])
    result: dict[str, Any] = {
        "format": "fastbpe report",
        "version": VERSION,
        "tokenizers": [card(one) for one in measured],
        "sources": [source(text, figures) for text, figures in zip(texts, found, strict=True)],
        "efficiency": efficiency.efficiency(measurement),
        "scripts": efficiency.scripts(measurement),
        "sizes": learning.sizes(measurement),
        "gains": learning.gains(measurement),
        "last": learning.last(measurement, min(answers.LAST, max(1, len(measured[0].vocabulary.merges) // 2))),
        "frequencies": learning.frequencies(measurement),
        "unused": learning.unused(measurement),
        "vocabulary_scripts": learning.vocabulary_scripts(measurement),
        "lengths": learning.lengths(measurement),
        "cost": costs([int(one.tokenizer.id_limit) for one in measured], models),
        "completeness": efficiency.completeness(measurement),
        "punctuation": efficiency.punctuation(measurement),
        "parity": efficiency.parity(measurement),
        "last_merges": learning.last_merges(measurement),
        "samples": tokens.samples(measured, shown_parts, allowed),
        "vocabulary": tokens.table(measured[0]),
    }
    return {"answers": answers.answers(result), **result}


def _read(
    text: Text,
    max_bytes: int,
    measured: Sequence[Measured],
    allowed: Sequence[Names],
    threads: int | None,
    shown: Progress,
) -> tuple[TextFigures, list[bytes]]:
    """Counts one text, for each tokenizer too; returns the documents of its first batch besides."""
    figures = TextFigures()
    first: list[bytes] = []
    usages = [Usage(one.vocabulary) for one in measured]
    for documents in text.batches(max_bytes):
        data = b"".join(documents)
        of_bytes = figures.add(documents, data)
        step = len(data) // (len(measured) + 1)  # a single long document is no reason to say nothing for long
        shown.advance(len(data) - step * len(measured))
        for one, usage, specials in zip(measured, usages, allowed, strict=True):
            ids, _ = one.tokenizer.encode_batch_to_numpy(documents, allowed_special=specials, threads=threads)
            if one.tokenizer.model.normalizer is not None:
                normal = one.tokenizer.decode_bytes(ids)
                usage.add(ids, TextFigures().add([normal], normal))
            else:
                usage.add(ids, of_bytes)
            shown.advance(step)
        first = first or documents
    for one, usage in zip(measured, usages, strict=True):
        one.usages.append(usage)
    return figures, first


def _allowed(allowed_special: Names, tokenizer: Tokenizer, strict: bool) -> Names:
    """The special tokens to recognise; of another tokenizer those that it has."""
    if strict or isinstance(allowed_special, str):
        return allowed_special
    return tuple(name for name in allowed_special if name in tokenizer.special_tokens)


def _unlike(name: str, taken: Mapping[str, Any]) -> str:
    """A name that none has yet."""
    number, unlike = 2, name
    while unlike in taken:
        unlike = f"{name} ({number})"
        number += 1
    return unlike
