"""The standard streams, which whoever starts a program may have closed."""

import os
import sys


def hold_closed_streams() -> None:
    """Gives a closed standard stream a descriptor, or the next file that is opened would get its number.

    What is written to a closed standard output fails as it would in other programs; messages to a closed standard
    error are dropped; a closed standard input stays None.
    """
    for number, access in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        if (sys.stdin, sys.stdout, sys.stderr)[number] is None:
            descriptor = os.open(os.devnull, access)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
