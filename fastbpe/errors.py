"""The errors that fastbpe raises on purpose. Each says what is wrong, where, and what to do.

The command line turns the class into its exit code, so a class is a kind of remedy: change the call, mend the
data, or give the machine what it lacks.
"""

import operator
from collections.abc import Iterable
from typing import SupportsIndex


class FastbpeError(Exception):
    """Base of all errors raised on purpose (exit code 1)."""

    exit_code = 1


class ParameterError(FastbpeError, ValueError):
    """A parameter, or a combination of parameters, that cannot be honoured (exit code 2)."""

    exit_code = 2


class PatternError(ParameterError):
    """A split pattern that cannot be used; names the place in the pattern."""


class DataError(FastbpeError, ValueError):
    """Input that is not what it must be; names the file and the line or offset (exit code 3)."""

    exit_code = 3


class DataWarning(UserWarning):
    """Some of the input was not read: bad records, or a file that is cut short. Told once, when all is read."""


class FormatError(DataError):
    """A file that is not of the expected format, or whose content contradicts itself."""


class UnknownCharacterError(DataError):
    """A character that a character tokenizer has no token for: what it is, and where it stands.

    `offset`: of its first byte in the bytes that were encoded.
    """

    def __init__(self, what: str, place: str = "", offset: int = 0) -> None:
        super().__init__(f"{place}: {what}" if place else what)
        self.what = what
        self.offset = offset


class MemoryBoundError(FastbpeError, MemoryError):
    """Work that would take more memory than it was given; `counts` holds what was counted (exit code 1)."""

    def __init__(self, message: str, counts: object = None) -> None:
        super().__init__(message)
        self.counts = counts


def whole_number(parameter: str, value: object) -> int:
    """The value as an int. Raises ParameterError, which names the parameter, when it is no whole number."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ParameterError(f"{parameter} must be a whole number, not {value!r:.50} ({type(value).__name__})")
    return operator.index(value)


def check_choice(parameter: str, value: object, choices: Iterable[object]) -> None:
    """Raises ParameterError, which lists the choices, when the value is none of them."""
    allowed = list(choices)
    if value not in allowed:
        *most, last = map(str, allowed)
        raise ParameterError(f"{parameter}={value!r}: choose {', '.join(most)}{' or ' if most else ''}{last}")
