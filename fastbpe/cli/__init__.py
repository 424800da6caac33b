"""The command line: one file a command, what they share in options and outcome."""

import sys


def main() -> None:
    """The entry point of `fastbpe`: runs the command of this process and leaves with its exit code."""
    from fastbpe.cli.outcome import leave, run

    leave(run(sys.argv[1:]))
