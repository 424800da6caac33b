"""What the merges bought: compression at every size, the last merges, tokens that are never used."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastbpe.alphabet import visible
from fastbpe.report.measured import Measured, Measurement, ratio, total
from fastbpe.report.sizes import curve_points, stretches
from fastbpe.report.usage import covering, rank_frequency
from fastbpe.report.vocabulary import FRAGMENT, length_histogram, scripts
from fastbpe.weight import weighted

LAST_MERGES = 40
LISTED = 60


def sizes(measurement: Measurement) -> list[dict[str, Any] | None]:
    """For each tokenizer, tokens of the texts at many sizes of its vocabulary, exact; None where merges cannot be
    undone. `held_out` beside `training` where there are both."""
    return [None if one.joins is None else _curve(measurement, one) for one in measurement.tokenizers]


def gains(measurement: Measurement) -> list[dict[str, Any]] | None:
    """What each stretch of the first tokenizer's merges saves: tokens, and their share of those before it."""
    one = measurement.main
    if one.joins is None:
        return None
    saved = one.joins.sum(axis=1)
    after = int(one.counts.sum())
    found = []
    for first, stop in reversed(stretches(len(saved))):
        gain = int(saved[first:stop].sum())
        products = one.vocabulary.merges[first:stop, 2]
        found.append(
            {
                "first": first,
                "stop": stop,
                "saved": gain,
                "of_tokens": ratio(gain, after + gain),
                "never_used": int((one.counts[products] == 0).sum()),
            }
        )
        after += gain
    return found[::-1]


def last(measurement: Measurement, n: int) -> dict[str, Any] | None:
    """What the first tokenizer's last n merges save, beside what the first n do; their tokens that are most used."""
    one = measurement.main
    if one.joins is None:
        return None
    saved = one.joins.sum(axis=1)
    n = min(n, len(saved))
    first = len(saved) - n
    gain, counts = int(saved[first:].sum()), one.counts
    products = one.vocabulary.merges[first:, 2]
    best = products[np.argsort(-counts[products], kind="stable")][:10]
    return {
        "merges": n,
        "saved": gain,
        "of_tokens": ratio(gain, int(counts.sum()) + gain),
        "per_merge": ratio(gain, n),
        "first_per_merge": ratio(int(saved[:n].sum()), n),
        "never_used": int((counts[products] == 0).sum()),
        "best": [{**_token(one, row), "count": int(counts[row])} for row in best.tolist() if counts[row]],
    }


def frequencies(measurement: Measurement) -> list[dict[str, Any]]:
    """For each tokenizer the counts of its tokens by rank, and how many make up shares of the texts."""
    return [
        {
            "points": [list(point) for point in rank_frequency(one.counts)],
            "covering": {str(share): covering(one.counts, share) for share in (0.5, 0.9, 0.99)},
        }
        for one in measurement.tokenizers
    ]


def unused(measurement: Measurement) -> list[dict[str, Any]]:
    """For each tokenizer, its tokens longer than a byte (special ones aside) that never stand in the texts, or rarely.

    `steps` of those never used are parts of tokens that are; `idle` ones are not even that, so that without them the
    texts would be encoded as they are."""
    found = []
    for one in measurement.tokenizers:
        counts, vocabulary = one.counts, one.vocabulary
        ordinary = ~vocabulary.special & (vocabulary.lengths > 1)
        never = (counts == 0) & ordinary
        idle = never & ~_steps(one)
        rows = np.flatnonzero(idle)
        longest = rows[np.argsort(-vocabulary.lengths[rows], kind="stable")][:LISTED]
        rare = (counts > 0) & (counts < 10) & ordinary
        tokens = int(ordinary.sum())
        found.append(
            {
                "tokens": tokens,
                "never_used": int(never.sum()),
                "of_tokens": ratio(int(never.sum()), tokens),
                "steps": int((never & ~idle).sum()),
                "idle": int(idle.sum()),
                "fragments": int((never & (vocabulary.kinds == FRAGMENT)).sum()),
                "below_ten": int(rare.sum()),
                "below_hundred": int(((counts < 100) & ordinary).sum()),
                "longest_idle": [_token(one, row) for row in longest.tolist()],
            }
        )
    return found


def vocabulary_scripts(measurement: Measurement) -> list[list[dict[str, Any]]]:
    """For each tokenizer, its ordinary tokens by script: of which kinds they are, and how many stand in the texts."""
    found = []
    for one in measurement.tokenizers:
        used: dict[str, int] = {}
        for name, count in zip(one.vocabulary.groups, one.counts.tolist(), strict=True):
            used[name] = used.get(name, 0) + (count > 0)
        found.append(
            [
                {"script": name, "tokens": sum(kinds.values()), **kinds, "used": used[name]}
                for name, kinds in scripts(one.vocabulary).items()
            ]
        )
    return found


def lengths(measurement: Measurement) -> list[dict[str, Any]]:
    """For each tokenizer, tokens by their length in bytes: of the vocabulary, and as they stand in the texts."""
    return [
        {
            "vocabulary": length_histogram(one.vocabulary),
            "texts": length_histogram(one.vocabulary, one.counts),
        }
        for one in measurement.tokenizers
    ]


def last_merges(measurement: Measurement, n: int = LAST_MERGES) -> list[dict[str, Any]]:
    """The first tokenizer's last merges: what they join, how often in training, what they save in the texts."""
    one = measurement.main
    merges, counts = one.vocabulary.merges, one.counts
    found = []
    for rank in range(max(0, len(merges) - n), len(merges)):
        left, right, product = merges[rank].tolist()
        learned = one.vocabulary.counts
        found.append(
            {
                "rank": rank,
                **_token(one, product),
                "left": visible(one.vocabulary.tokens[left]),
                "right": visible(one.vocabulary.tokens[right]),
                "learned_count": None if learned is None else _count(learned[rank], one.vocabulary.denominator),
                "count": int(counts[product]),
                "saved": None if one.joins is None else int(one.joins[rank].sum()),
            }
        )
    return found


def _curve(measurement: Measurement, one: Measured) -> dict[str, Any]:
    assert one.joins is not None
    floor = one.tokenizer.vocab_size - len(one.joins)
    points = curve_points(len(one.joins))
    parts: dict[str, Sequence[int]] = {"all": measurement.everything}
    if measurement.chosen(True) and measurement.chosen(False):
        parts |= {"training": measurement.chosen(False), "held_out": measurement.chosen(True)}
    curve: dict[str, Any] = {"vocab_size": [floor + point for point in points]}
    for name, numbers in parts.items():
        tokens = sum(one.usages[number].tokens for number in numbers)
        saved = one.joins[:, list(numbers)].sum(axis=1)
        left = tokens + np.concatenate((np.cumsum(saved[::-1])[::-1], np.zeros(1, np.int64)))[points]
        n_bytes = total(measurement.texts, numbers, "n_bytes")
        curve[name] = {
            "tokens": left.tolist(),
            "bytes_per_token": [ratio(n_bytes, n) for n in left.tolist()],
        }
    return curve


def _steps(one: Measured) -> NDArray[np.bool_]:
    """bool (rows,): tokens that the texts' merging passes through; where that is not known, the parts of used ones."""
    steps = np.zeros(len(one.vocabulary), np.bool_)
    merges = one.vocabulary.merges
    if one.joins is not None:
        steps[merges[:, 2]] = one.joins.sum(axis=1) > 0
        return steps
    steps = one.counts > 0
    for left, right, product in merges[::-1].tolist():
        if steps[product]:
            steps[left] = steps[right] = True
    return steps


def _token(one: Measured, row: int) -> dict[str, Any]:
    return {"id": int(one.vocabulary.ids[row]), "token": visible(one.vocabulary.tokens[row])}


def _count(count: int, denominator: int) -> int | str:
    return int(count) if denominator == 1 else weighted(int(count), denominator)


def parts_of_curve(curve: dict[str, Any]) -> dict[str, str]:
    """Which parts of the texts a curve tells apart, and how their lines are drawn."""
    if "held_out" in curve:
        return {"training": "-", "held_out": "--"}
    return {"all": "-"}
