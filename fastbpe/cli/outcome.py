"""What becomes of a command: its exit code, and one line on standard error when it fails.

The line says what is wrong, where, and what to do. FASTBPE_DEBUG=1 puts the traceback before it.
"""

import errno
import os
import sys
import traceback
from typing import NoReturn

from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError, UnusedCliTokensError, ValidationError

from fastbpe.cli import interrupt
from fastbpe.cli.interrupt import INTERRUPTED
from fastbpe.errors import FastbpeError

FAILED, USAGE = 1, 2

REMEDIES = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENOSPC: "free some space or write elsewhere",
    errno.EDQUOT: "free some space or write elsewhere",
    errno.EROFS: "write elsewhere",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "name a directory",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EIO: "check the disk",
    errno.EBADF: "standard output is closed, or was opened for reading only",
}


def run(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code; what goes wrong is told on standard error."""
    from fastbpe.cli.app import build

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # file names and tokens may hold what it cannot show
    try:
        code = build()(arguments)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        drop_output()  # who read it has seen enough
        return 0
    except KeyboardInterrupt:
        interrupt.tidied()
        return tell("interrupted", INTERRUPTED)
    except CycloptsError as error:
        return tell(f"{usage_message(error, arguments)} (see: {asked_for(arguments)} --help)", USAGE)
    except FastbpeError as error:
        return tell(str(error), error.exit_code)
    except OSError as error:
        drop_output()
        return tell(system_message(error), FAILED)
    except MemoryError:
        return tell("out of memory: use fewer threads or less text", FAILED)
    except Exception as error:
        if isinstance(error, ImportError) and (error.name or "").startswith("fastbpe"):
            return tell(f"{error}; the compiled modules are not of this version: build or install it anew", FAILED)
        message = f"unexpected {type(error).__name__}: {error}; this is a fault of fastbpe, please report it"
        return tell(f"{message} with what FASTBPE_DEBUG=1 shows", FAILED)


def leave(code: int) -> NoReturn:
    """Ends the process. After an interruption nobody waits for threads that are still in a kernel."""
    if code == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    interrupt.unwatch()
    sys.exit(code)


def drop_output() -> None:
    """What standard output could not take is dropped, or Python would complain of it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(message: str, code: int) -> int:
    if os.environ.get("FASTBPE_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    print(f"fastbpe: {one_line(message)}", file=sys.stderr)
    return code


def one_line(message: str) -> str:
    return " ".join(message.split("\n")).strip()


def usage_message(error: CycloptsError, arguments: list[str]) -> str:
    """What is wrong with a command line, in our words where cyclopts' are hard to read."""
    if isinstance(error, UnknownCommandError):
        from fastbpe.cli.app import COMMANDS

        if arguments[0].startswith("-"):
            return f"unknown option {arguments[0]}"
        return f"unknown command {arguments[0]!r}: choose {', '.join(COMMANDS)}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        names = error.argument.names or (error.argument.name,)
        lacking = any(argument.split("=")[0] in names for argument in arguments)
        return f"{error.argument.name} is missing" + (" its value" if lacking else "")
    if isinstance(error, ValidationError) and error.exception_message:
        return error.exception_message
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"too many arguments: {' '.join(error.unused_tokens)}"
    message = str(error).rstrip(".")
    return message[:1].lower() + message[1:]


def asked_for(arguments: list[str]) -> str:
    from fastbpe.cli.app import COMMANDS

    return f"fastbpe {arguments[0]}" if arguments and arguments[0] in COMMANDS else "fastbpe"


def system_message(error: OSError) -> str:
    """What the system refused, with the file's name and what may help."""
    reason = error.strerror or str(error) or type(error).__name__
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    remedy = REMEDIES.get(error.errno or 0)
    return f"{where}{reason[0].lower()}{reason[1:]}" + (f"; {remedy}" if remedy else "")
