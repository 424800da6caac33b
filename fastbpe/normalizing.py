"""Unicode normalization of the text between special tokens: NFC or NFKC, by the standard library.

What is normalized are whole stretches of text, before they are split. ASCII is its own normal form, so a text of it
costs one look. Bytes that are not UTF-8 stay as they are.
"""

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import check_choice

UNICODE_VERSION = unicodedata.unidata_version
"""Of the tables that normalize, which depends on the Python that runs."""

GROWTH = 16
"""No text becomes this many times as long: by Unicode's own figures at most 11 times, in UTF-8."""

NORMALIZERS = (None, "NFC", "NFKC")


def check_normalizer(normalizer: str | None) -> None:
    """Raises ParameterError for what is no normalizer."""
    check_choice("normalizer", normalizer, NORMALIZERS)


def normalized(text: bytes, form: str) -> bytes:
    """The normal form, NFC or NFKC, of a stretch of text; the text itself when it is in that form."""
    if text.isascii():
        return text
    decoded = text.decode("utf-8", "surrogateescape")
    if unicodedata.is_normalized(form, decoded):  # type: ignore[arg-type]
        return text
    return unicodedata.normalize(form, decoded).encode("utf-8", "surrogateescape")  # type: ignore[arg-type]


def normalize_spans(data: bytes, spans: NDArray[np.int64], form: str | None) -> tuple[bytes, NDArray[np.int64]]:
    """data and its spans (see kernels/spans.pyx) with each span of text normalized.

    Each must be a whole stretch, or end where normalization joins nothing; what a pattern sees behind such an end is
    normalized too.
    """
    if form is None or normalized(data, form) is data:  # then each part of it is normal, too
        return data, spans
    parts, rows, at = [], [], 0
    for start, stop, text_end, id in spans.tolist():
        part = data[start:stop] if id >= 0 else normalized(data[start:stop], form)
        behind = normalized(data[stop:text_end], form) if id < 0 else b""
        parts += [part, behind]
        rows.append((at, at + len(part), at + len(part) + len(behind), id))
        at += len(part) + len(behind)
    return b"".join(parts), np.array(rows, np.int64).reshape(-1, 4)


@lru_cache(maxsize=1 << 16)
def begins_anew(character: str) -> bool:
    """Whether normalization joins nothing to this character that stands before it; any text may be cut there.

    It does so only to marks and to the vowels and final consonants of Hangul.
    """
    first = unicodedata.normalize("NFKD", character)[0]
    if unicodedata.combining(first) or unicodedata.category(first)[0] == "M":
        return False
    return not ("\u1160" <= first <= "\u11ff" or "\ud7b0" <= first <= "\ud7ff")
