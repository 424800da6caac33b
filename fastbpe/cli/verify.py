"""fastbpe verify: are shards still what was written, and do they give back the text they came from?"""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.text import counted


def verify(
    shards: options.ShardDirectory,
    /,
    *,
    tokenizer: Annotated[
        Path | None, Parameter(help="The tokenizer they must have been encoded with; else the copy beside them.")
    ] = None,
    source: Annotated[
        tuple[str, ...],
        Parameter(
            help="The text they came from, read again and compared by document; --source=- reads standard input.",
            show_default=False,
            consume_multiple=1,  # none would be a check that is left out in silence
        ),
    ] = (),
    progress: options.ProgressStyle = "auto",
    json: options.Json = False,
) -> None:
    """Check shards against their manifest and, with --source, against the text they came from."""
    from fastbpe.corpus.sources import files
    from fastbpe.formats import load
    from fastbpe.pipeline.progress import progress_on
    from fastbpe.pipeline.verify import verify_dataset

    loaded = load(tokenizer) if tokenizer else None
    read_again = files(*source) if source else None
    with progress_on(style=progress) as display:
        verified = verify_dataset(shards, loaded, read_again, progress=display)
    if json:
        print(json_module.dumps({"shards_directory": str(shards), **asdict(verified)}))
        return
    against = "" if verified.bytes is None else f"; all {counted(verified.bytes, 'byte')} of text came back"
    if verified.normalizer is not None:
        against += f", compared in {verified.normalizer}"
    print(
        f"{shards}: {counted(verified.shards, 'shard')}, {counted(verified.tokens, 'token')} and "
        f"{counted(verified.documents, 'document')} are as they were written{against}"
    )
