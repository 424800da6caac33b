"""--dry-run: what a job will take, said before it is begun."""

import json as json_module
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastbpe.corpus.sources import Files
    from fastbpe.counts import ChunkCounts


def told_estimate(source: "Files | ChunkCounts", counting: dict[str, Any], json: bool, **options: Any) -> int:
    """Prints what to expect; `counting` are parameters of count_chunks, `options` those of estimate()."""
    from fastbpe.pipeline.count import count_chunks
    from fastbpe.pipeline.estimate import estimate

    # The look takes all documents, and weighs them itself.
    given = {key: value for key, value in counting.items() if key not in ("weights", "max_bytes", "sample_seed")}

    def count(documents: Iterator[bytes]) -> "ChunkCounts":
        return count_chunks(documents, threads=options.get("threads"), **given)

    expected = estimate(source, count, weights=counting.get("weights"), **options)
    print(json_module.dumps(expected.as_json()) if json else expected.told())
    return 0
