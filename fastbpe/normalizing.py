"""Unicode normalization of the text between special tokens: NFC or NFKC, by the standard library.

What is normalized are whole stretches of text, before they are split. ASCII is its own normal form, so a text of it
costs one look. Bytes that are not UTF-8 stay as they are.
"""

import sys
import unicodedata
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import check_choice

UNICODE_VERSION = unicodedata.unidata_version
"""Of the tables that normalize, which depends on the Python that runs."""

GROWTH = 16
"""No text becomes this many times as long: by Unicode's own figures at most 11 times, in UTF-8."""

PIECE = 256
"""About how many characters are normalized at a time."""
LONG_PIECE = 512
"""Longer pieces, of marks alone, are put in order here."""
FEW = 16
"""So many kinds of characters are replaced one after the other."""

NORMALIZERS = (None, "NFC", "NFKC")


def check_normalizer(normalizer: str | None) -> None:
    """Raises ParameterError for what is no normalizer."""
    check_choice("normalizer", normalizer, NORMALIZERS)


def normalized(text: bytes, form: str) -> bytes:
    """The normal form, NFC or NFKC, of a stretch of text; the text itself when it is in that form."""
    if text.isascii():
        return text
    decoded = text.decode("utf-8", "surrogateescape")
    pieces = _pieces(decoded)
    if all(_is_normal(piece, form) for piece in pieces):
        return text
    kinds = _kinds(decoded)
    active = [character for character in kinds if not _is_inert(character, form)]
    if all(map(begins_anew, active)):  # nothing is joined: each character becomes what it becomes by itself
        result = decoded
        if len(active) <= FEW:
            for character in active:
                result = result.replace(character, _normal(character, form))
        else:
            result = decoded.translate({ord(character): _normal(character, form) for character in kinds})
    else:
        result = "".join([piece if _is_normal(piece, form) else _normal(piece, form) for piece in pieces])
    return result.encode("utf-8", "surrogateescape")


def _kinds(text: str) -> list[str]:
    """The different characters of a text."""
    if len(text) < 1000:
        return list(set(text))
    seen = np.zeros(sys.maxunicode + 1, np.bool_)
    seen[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)] = True
    return list(map(chr, np.flatnonzero(seen).tolist()))


def _pieces(text: str) -> list[str]:
    """The text cut where nothing is joined, because the library is slow with long texts."""
    pieces, start = [], 0
    while start < len(text):
        stop = start + PIECE
        while stop < len(text) and not begins_anew(text[stop]):
            stop += 1
        pieces.append(text[start:stop])
        start = stop
    return pieces


def _is_normal(piece: str, form: str) -> bool:
    if len(piece) > LONG_PIECE:
        return _normal(piece, form) == piece
    return unicodedata.is_normalized(form, piece)  # type: ignore[arg-type]


def _normal(piece: str, form: str) -> str:
    if len(piece) > LONG_PIECE:
        piece = _in_order(piece, form)
    return unicodedata.normalize(form, piece)  # type: ignore[arg-type]


def _in_order(text: str, form: str) -> str:
    """The text decomposed, with its marks in order: the library takes quadratic time to put many of them there."""
    decomposing = "NFKD" if form == "NFKC" else "NFD"
    decomposed = "".join([unicodedata.normalize(decomposing, character) for character in text])  # type: ignore[arg-type]
    runs = groupby(decomposed, lambda character: unicodedata.combining(character) > 0)
    return "".join(["".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs])


@lru_cache(maxsize=1 << 16)
def _is_inert(character: str, form: str) -> bool:
    return begins_anew(character) and unicodedata.is_normalized(form, character)  # type: ignore[arg-type]


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
