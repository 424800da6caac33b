"""The command line: one file a command, what they share in options and outcome."""

import sys

from fastbpe.cli import interrupt


def main() -> None:
    """The entry point of `fastbpe`: runs the command of this process and leaves with its exit code."""
    try:
        interrupt.watch()
        from fastbpe.cli.outcome import hold_closed_streams, leave, run

        hold_closed_streams()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded
        interrupt.end()
    leave(code)
