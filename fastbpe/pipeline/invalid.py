"""What to do with bytes that are not UTF-8: keep and report them, refuse them, or put U+FFFD in their place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fastbpe.corpus.blocks import Address, Block
from fastbpe.errors import DataError, check_choice
from fastbpe.kernels.utf8 import count_invalid, replace_invalid
from fastbpe.pipeline.stretches import Stretch

ERRORS = ("keep", "strict", "replace")


@dataclass(slots=True)
class InvalidBytes:
    """How many bytes a UTF-8 decoder does not accept, and where the first of them stands."""

    count: int = 0
    first: Address | None = None

    def add(self, other: "InvalidBytes") -> None:
        """Adds what was found further on in the input."""
        self.count += other.count
        if self.first is None:
            self.first = other.first


def check_errors(errors: str) -> str:
    """`errors` when it is one of ERRORS; ParameterError otherwise."""
    check_choice("errors", errors, ERRORS)
    return errors


def invalid_in(stretch: Stretch, errors: str) -> InvalidBytes:
    """What of a stretch's text is invalid. DataError when there is some and `errors` is strict."""
    ends = stretch.ends
    if not len(ends) or ends[-1] < stretch.stop:
        ends = np.append(ends, stretch.stop)
    count, first = count_invalid(stretch.data[: stretch.stop], ends)
    if not count:
        return InvalidBytes()
    address = stretch.address(first)
    if errors == "strict":
        raise DataError(
            f"{address}: the byte 0x{stretch.data[first]:02x} is not valid UTF-8 there; "
            "choose errors (--errors): replace puts U+FFFD in its place, keep, but for characters, takes it as it is"
        )
    return InvalidBytes(count, address)


def replaced(blocks: Iterable[Block], found: InvalidBytes) -> Iterator[Block]:
    """The blocks with U+FFFD as `bytes.decode(errors="replace")` has it; adds to `found` what was replaced.

    The blocks' positions are those in the new text.
    """
    position = 0
    held = np.empty(0, np.uint8)  # the start of a sequence that the next block may complete
    held_at: Address | None = None

    def address(block: Block, offset: int) -> Address:
        if held_at is not None and offset < len(held):
            return held_at._replace(offset=held_at.offset + offset)
        return block.address_at(offset - len(held))

    for block in blocks:
        data = np.concatenate((held, block.data)) if len(held) else block.data
        ends = block.ends + len(held)
        open_from = int(ends[-1]) if len(ends) else 0
        whole = len(data) - _unfinished(data[max(open_from, len(data) - 3) :].tobytes())
        stops = ends if open_from == whole and len(ends) else np.append(ends, whole)
        text = data[:whole]
        count, first = count_invalid(text, stops)
        if count:
            found.add(InvalidBytes(count, address(block, first)))
            text, stops = replace_invalid(text, stops)
        held_at = address(block, whole) if whole < len(data) else None
        held = data[whole:]
        yield replace(block, data=text, ends=stops[: len(ends)], position=position)
        position += len(text)
    assert not len(held), "a reader ends every document that it begins"


def _unfinished(text: bytes) -> int:
    """How many bytes at the end of the text may be the start of a valid sequence."""
    for n in range(min(3, len(text)), 0, -1):
        try:
            text[-n:].decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data" and error.start == 0:
                return n
    return 0
