"""How many tokens texts take: by source, by script, training beside held-out text, and how evenly."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbpe.report.characters import group_names
from fastbpe.report.measured import Measured, Measurement, ratio, total
from fastbpe.report.usage import gini
from fastbpe.report.vocabulary import KINDS, SPECIAL, shares

SCRIPT_SHARE = 0.0005
"""Scripts of a smaller share of the bytes are summed up: of a few stray characters nothing can be said."""


def efficiency(measurement: Measurement) -> dict[str, Any]:
    """Rows of figures, one for each tokenizer: of each source, of all, of what is held out and what is not."""
    trained, out = measurement.chosen(False), measurement.chosen(True)
    return {
        "sources": [_rows(measurement, [number]) for number in measurement.everything],
        "all": _rows(measurement, measurement.everything),
        "training": _rows(measurement, trained) if trained and out else None,
        "held_out": _rows(measurement, out) if trained and out else None,
    }


def scripts(measurement: Measurement) -> list[dict[str, Any]]:
    """For all sources (source None) and each, its scripts, the one with most bytes first; the rest as "others"."""
    found = _scripts(measurement, None, measurement.everything)
    for number in measurement.everything if len(measurement.texts) > 1 else ():
        found += _scripts(measurement, number, [number])
    return found


def completeness(measurement: Measurement) -> list[dict[str, Any]]:
    """For each tokenizer, how its ordinary tokens divide into whole characters, several, and fragments: those of the
    vocabulary, and those that stand in the texts."""
    return [{"vocabulary": _divided(one, None), "texts": _divided(one, one.counts)} for one in measurement.tokenizers]


def punctuation(measurement: Measurement) -> list[dict[str, Any]]:
    """For each tokenizer and source, tokens that are one punctuation character alone and their share; beside it the
    share of tokens that are fragments, which fusing punctuation with words costs."""
    characters = [int(text.group_characters[group_names().index("punctuation")]) for text in measurement.texts]
    found = []
    for one in measurement.tokenizers:
        rows = []
        for usage, n in zip(one.usages, characters, strict=True):
            isolated = int(usage.counts[one.vocabulary.isolated].sum())
            fragments = shares(one.vocabulary, usage.counts)["fragments"]
            rows.append(
                {
                    "isolated": isolated,
                    "of_tokens": ratio(isolated, usage.tokens),
                    "of_punctuation": ratio(min(isolated, n), n),
                    "fragments_of_tokens": ratio(fragments, usage.tokens),
                }
            )
        found.append({"sources": rows})
    return found


def parity(measurement: Measurement) -> list[dict[str, Any]] | None:
    """For each tokenizer the Gini coefficients over sources of what text costs: tokens per word, character and byte;
    None of a single source. 0: every source costs the same."""
    used = [number for number in measurement.everything if measurement.texts[number].n_bytes]
    if len(used) < 2:
        return None
    found = []
    for one in measurement.tokenizers:
        costs: dict[str, list[float]] = {}
        for unit, name in (("word", "words"), ("character", "characters"), ("byte", "n_bytes")):
            costs[unit] = [one.usages[n].tokens / max(1, getattr(measurement.texts[n], name)) for n in used]
        found.append({f"tokens_per_{unit}": _rounded(gini(values)) for unit, values in costs.items()})
    return found


def _rows(measurement: Measurement, numbers: Sequence[int]) -> list[dict[str, Any]]:
    n_bytes, characters, words = (
        total(measurement.texts, numbers, name) for name in ("n_bytes", "characters", "words")
    )
    rows = []
    for one in measurement.tokenizers:
        tokens = sum(one.usages[number].tokens for number in numbers)
        rows.append(
            {
                "tokens": tokens,
                "bytes_per_token": ratio(n_bytes, tokens),
                "characters_per_token": ratio(characters, tokens),
                "tokens_per_character": ratio(tokens, characters),
                "tokens_per_word": ratio(tokens, words),
            }
        )
    return rows


def _scripts(measurement: Measurement, source: int | None, numbers: Sequence[int]) -> list[dict[str, Any]]:
    n_bytes = np.sum([measurement.texts[number].group_bytes for number in numbers], axis=0)
    characters = np.sum([measurement.texts[number].group_characters for number in numbers], axis=0)
    tokens = [np.sum([one.usages[number].group_tokens for number in numbers], axis=0) for one in measurement.tokenizers]
    order = np.argsort(-n_bytes, kind="stable").tolist()
    shown = [number for number in order if n_bytes[number] >= max(1, SCRIPT_SHARE * n_bytes.sum())]
    parts = [(group_names()[number], [number]) for number in shown]
    rest = [number for number in order if n_bytes[number] and number not in shown]
    if rest:
        parts.append((f"{len(rest)} others", rest))
    return [
        {
            "source": source,
            "script": name,
            "bytes": int(n_bytes[part].sum()),
            "characters": int(characters[part].sum()),
            "of_bytes": ratio(int(n_bytes[part].sum()), int(n_bytes.sum())),
            "tokenizers": [
                {
                    "tokens": round(float(its[part].sum())),
                    "of_tokens": ratio(float(its[part].sum()), float(its.sum())),
                    "bytes_per_token": ratio(int(n_bytes[part].sum()), float(its[part].sum())),
                    "characters_per_token": ratio(int(characters[part].sum()), float(its[part].sum())),
                    "tokens_per_character": ratio(float(its[part].sum()), int(characters[part].sum())),
                }
                for its in tokens
            ],
        }
        for name, part in parts
    ]


def _divided(one: Measured, counts: np.ndarray | None) -> dict[str, int]:
    return {name: n for name, n in shares(one.vocabulary, counts).items() if name != KINDS[SPECIAL]}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
