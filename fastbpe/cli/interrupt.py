"""Ctrl-C: the command is interrupted and tidies up; when that takes too long, or at a second Ctrl-C, the process ends.

Python raises KeyboardInterrupt when the main thread comes back from what it does, and that may be a kernel that works
for seconds. So another thread waits for what the signal's handler writes to a pipe, which it does at once. Nothing is
half-written under a final name at any time, so the process may end anywhere.
"""

import os
import signal
import threading

INTERRUPTED = 130
GRACE = 0.7
"""Seconds for tidying up: a thread may be in a kernel, or in a regular expression, that nobody can leave."""

_watching = False
_timer: threading.Timer | None = None


def watch() -> None:
    """From now on, Ctrl-C ends this process soon. Where it is ignored (a job in the background), it stays so."""
    global _watching
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_wait, args=(reader,), name="fastbpe-interrupt", daemon=True).start()
        _watching = True


def unwatch() -> None:
    """The work is done: Ctrl-C ends the process at once, without a word from Python's own winding up."""
    if _watching:
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


def _wait(reader: int) -> None:
    """Ends the process some time after the first Ctrl-C, and at the second."""
    global _timer
    while True:
        for number in os.read(reader, 64):
            if number != signal.SIGINT:
                continue
            if _timer is not None:
                end()
            _timer = threading.Timer(GRACE, end)
            _timer.daemon = True
            _timer.start()
