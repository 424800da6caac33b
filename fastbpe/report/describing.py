"""What is told of a tokenizer and of a source beside all figures: the run card."""

from typing import Any

from fastbpe.alphabet import visible
from fastbpe.report.measured import Measured
from fastbpe.report.texts import Text
from fastbpe.report.usage import TextFigures
from fastbpe.report.vocabulary import unbuildable


def card(measured: Measured) -> dict[str, Any]:
    """What a tokenizer is and how it came about."""
    tokenizer = measured.tokenizer
    model = tokenizer.model
    orphans = unbuildable(tokenizer)
    return {
        "name": measured.name,
        "vocab_size": tokenizer.vocab_size,
        "id_limit": tokenizer.id_limit,
        "merges": len(measured.vocabulary.merges),
        "special_tokens": dict(tokenizer.special_tokens),
        "roles": model.roles,
        "kind": model.priority,
        "whole_chunk_first": model.whole_chunk_first,
        "pattern_name": tokenizer.pattern_name,
        "pattern": list(tokenizer.pattern) if isinstance(tokenizer.pattern, tuple) else tokenizer.pattern,
        "normalizer": model.normalizer,
        "fingerprint": tokenizer.fingerprint,
        "record": tokenizer.record,
        "unbuildable": {
            "tokens": len(orphans),
            "examples": [{"id": id, "token": visible(tokenizer.token_bytes(id))} for id in orphans[:20]],
        },
    }


def source(text: Text, figures: TextFigures) -> dict[str, Any]:
    """What a source holds, and which part of it was read."""
    return {
        "name": text.name,
        "held_out": text.held_out,
        "documents": figures.documents,
        "bytes": figures.n_bytes,
        "characters": figures.characters,
        "words": figures.words,
        "invalid_bytes": figures.invalid_bytes,
        "part": text.part,
        "of_bytes": text.of_bytes if text.part else None,
    }
