"""The command line: one file a command, what they share in options and outcome."""

import sys

from fastbpe.cli import interrupt
from fastbpe.cli.streams import hold_closed_streams


def main() -> None:
    """The entry point of `fastbpe`: runs the command of this process and leaves with its exit code."""
    try:
        hold_closed_streams()
        interrupt.watch()
        from fastbpe.cli.outcome import leave, run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded
        interrupt.end()
    leave(code)
