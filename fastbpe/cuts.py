"""Where a text that is not yet whole may be cut: no chunk and no special token is cut, nor a sequence that normalizes.

A place is proved from the bytes around it. With a normalizer the proof is about the normalized text: parts between
characters that nothing before them is joined to are normalized each by itself, and a chunk must be sure to end, in
what they become, at the start of such a character. Behind a special token that is cut out of the text there is always
such a place: what stands before it is split and normalized without what follows.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fastbpe.kernels.special import SpecialTrie, last_behind, occurrences
from fastbpe.normalizing import begins_anew, normalized

HEAD_BYTES = 4096
"""How far to look for a safe place at first; four times as far each time that there is none."""
NORMALIZED_BYTES = 512
"""The same with a normalizer, where looking costs more."""
LONGEST_LOOK = 1 << 16

Text = npt.NDArray[np.uint8] | bytearray


class Cutter(Protocol):
    """What of a Splitter is needed here."""

    @property
    def cut_window(self) -> int: ...
    def last_cut(self, data: Text | bytes, start: int, stop: int, /) -> int: ...


class Cuts:
    """Finds the places. No special token of `uncut` is cut.

    apart: `uncut` are tokens that are cut out of the text before it is split.
    """

    def __init__(
        self, splitter: Cutter, uncut: SpecialTrie | None, normalizer: str | None, apart: bool = False
    ) -> None:
        self.splitter, self.uncut, self.normalizer = splitter, uncut, normalizer
        self._apart = uncut if apart else None
        self.reach = 2 * splitter.cut_window + (uncut.longest if uncut else 0)
        """How far before a place what is there may matter."""
        if normalizer is not None:
            self.reach = 4 * self.reach + 64

    def last(self, data: Text, lowest: int, highest: int, document: int) -> int:
        """A safe place near the end of data[lowest:highest], or -1 when it has none.

        `document` is where the open document starts in data, or what is left of it, which begins at a safe place.
        """
        if self.normalizer is not None:
            near = self._behind_special(data, max(lowest, highest - HEAD_BYTES), highest, document)
            if near < 0:
                near = self._last_normalized(data, lowest, highest, document)
            return near if near >= 0 else self._behind_special(data, lowest, highest, document)
        reach = HEAD_BYTES
        while True:
            start = max(lowest, highest - reach)
            behind = self._behind_special(data, start, highest, document)
            cut = self._last_verbatim(data, max(start, behind), highest, document)
            if max(cut, behind) >= 0 or start == lowest:
                return max(cut, behind)
            reach *= 4

    def _behind_special(self, data: Text, lowest: int, highest: int, document: int) -> int:
        return -1 if self._apart is None else last_behind(self._apart, data, lowest, highest, document)

    def _last_verbatim(self, data: Text, start: int, stop: int, document: int) -> int:
        window = self.splitter.cut_window
        while (cut := self.splitter.last_cut(data, start, stop)) >= 0:
            if self._keeps_special(data, max(document, cut - window), min(len(data), cut + max(window, 1))):
                return cut
            stop = cut
        return -1

    def _last_normalized(self, data: Text, lowest: int, highest: int, document: int) -> int:
        if not self.splitter.cut_window:
            return -1  # there are none
        look, stop = NORMALIZED_BYTES, highest
        while True:
            start = max(lowest, stop - look)
            part = data[start:stop]
            text = bytes(part) if isinstance(part, bytearray) else part.tobytes()
            if text.isascii():  # all of it but the last, which may be joined to what follows, is as it was
                cut = self._last_verbatim(data, start, stop - 1, document) if text else -1
            else:
                cut = self._last_joined(data, start, text)
            if cut >= 0 or start == lowest:
                return cut
            stop = min(stop - 1, start + self.reach)
            look = min(4 * look, LONGEST_LOOK)

    def _last_joined(self, data: Text, start: int, text: bytes) -> int:
        """The last safe place in `text`, which is what stands from `start` on."""
        raw, became, result = _parts(text, self.normalizer or "NFC")
        if not result:
            return -1
        window = self.splitter.cut_window
        stop = len(result)
        while (place := self.splitter.last_cut(result, 0, stop)) >= 0:
            part = bisect_left(became, place)
            if became[part] == place:
                first, last = bisect_right(became, place - window) - 1, bisect_left(became, place + window)
                around = raw[max(first, 0)], raw[min(last, len(raw) - 1)]
                if self._keeps_special(data, start + around[0], start + around[1]):
                    return start + raw[part]
            stop = place
        return -1

    def _keeps_special(self, data: Text, start: int, stop: int) -> bool:
        return self.uncut is None or not occurrences(self.uncut, data, start, stop)


def _parts(text: bytes, form: str) -> tuple[list[int], list[int], bytes]:
    """Places in a text between which each part is normalized by itself, those that they become, and the whole result.

    What stands before the first place and behind the last may depend on what is not there.
    """
    # A character that the beginning or the end cuts is left out.
    begin = next((i for i, byte in enumerate(text[:3]) if byte & 0xC0 != 0x80), 3)
    end = next((len(text) - i for i, byte in enumerate(text[:-5:-1], 1) if byte & 0xC0 != 0x80), len(text))
    decoded = text[begin : max(begin, end)].decode("utf-8", "surrogateescape")
    places = [i for i, character in enumerate(decoded) if begins_anew(character)]
    if len(places) < 2:
        return [0], [0], b""
    parts = [decoded[i:j] for i, j in zip(places, places[1:], strict=False)]
    coded = [part.encode("utf-8", "surrogateescape") for part in parts]
    begin += len(decoded[: places[0]].encode("utf-8", "surrogateescape"))
    raw = list(accumulate(map(len, coded), initial=begin))
    if unicodedata.is_normalized(form, decoded[places[0] : places[-1]]):  # type: ignore[arg-type]
        return raw, [place - begin for place in raw], text[begin : raw[-1]]
    after = [normalized(part, form) for part in coded]
    return raw, list(accumulate(map(len, after), initial=0)), b"".join(after)
