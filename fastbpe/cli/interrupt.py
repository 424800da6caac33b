"""Ctrl-C: the command is interrupted and tidies up; when that takes too long, or at a second Ctrl-C, the process ends.

Nothing is half-written under a final name at any time, so the process may end anywhere.
"""

import os
import signal
import threading
from types import FrameType

INTERRUPTED = 130
GRACE = 0.7
"""Seconds for tidying up: a thread may be in a kernel, or in a regular expression, that nobody can leave."""

_timer: threading.Timer | None = None


def watch() -> None:
    """From now on, Ctrl-C ends this process soon. Where it is ignored (a job in the background), it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def unwatch() -> None:
    """The work is done: Ctrl-C ends the process at once, without a word from Python's own winding up."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def tidied() -> None:
    """The command has ended by itself: it tells so, nobody else."""
    if _timer is not None:
        _timer.cancel()


def end() -> None:
    """Says so and ends the process, whatever its threads are doing."""
    try:
        os.write(2, b"\x1b[?25h\nfastbpe: interrupted\n" if os.isatty(2) else b"fastbpe: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    global _timer
    if _timer is not None:
        end()
    _timer = threading.Timer(GRACE, end)
    _timer.daemon = True
    _timer.start()
    raise KeyboardInterrupt
