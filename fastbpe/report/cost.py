"""What a vocabulary costs a model: its embedding, and the output layer when that is not the same matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastbpe.report.measured import ratio


@dataclass(frozen=True)
class Model:
    """A model whose embedding is weighed: its width, and all its parameters, the embedding's included."""

    width: int
    parameters: int


COMMON = (Model(768, 124_000_000), Model(2048, 1_300_000_000), Model(4096, 7_000_000_000))


def costs(id_limits: Sequence[int], models: Sequence[Model]) -> list[dict[str, Any]]:
    """For each model and each vocabulary (by its largest id + 1, the rows that an embedding needs) the parameters.

    tied: one matrix for input and output; untied: two.
    """
    return [
        {
            "width": model.width,
            "parameters": model.parameters,
            "tokenizers": [
                {
                    "tied": rows * model.width,
                    "untied": 2 * rows * model.width,
                    "tied_share": ratio(rows * model.width, model.parameters),
                    "untied_share": ratio(2 * rows * model.width, model.parameters),
                }
                for rows in id_limits
            ],
        }
        for model in models
    ]
