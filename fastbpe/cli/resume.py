"""--resume: going on with a long job that was stopped."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from fastbpe.pipeline.checkpoint import Checkpoint

Resume = Annotated[
    bool,
    Parameter(help="Go on with what was begun and stopped, however it was.", negative="", show_default=False),
]


@contextlib.contextmanager
def work_directory(output: Path, resume: bool) -> "Iterator[Checkpoint | None]":
    """Where a job keeps what it has come to, beside its output, until it is done; None where there is no place for it.

    After Ctrl-C, and what the system refused (a full disk), it is said that the job may go on.
    """
    from fastbpe.pipeline.checkpoint import Checkpoint

    if output.exists() and not output.is_file():
        yield None
        return
    with Checkpoint(output.with_name(f"{output.name}.work"), resume) as kept:
        try:
            yield kept
        except (KeyboardInterrupt, OSError):
            if kept.of_use:
                print(f"fastbpe: --resume goes on with what lies in {kept.directory}", file=sys.stderr)
            raise
        kept.remove()
