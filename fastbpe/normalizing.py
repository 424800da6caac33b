"""Unicode normalization of the text between special tokens: NFC or NFKC, by the standard library.

What is normalized are whole stretches of text, before they are split. ASCII is its own normal form, so a text of it
costs one look. Bytes that are not UTF-8 stay as they are.
"""

import unicodedata

import numpy as np
from numpy.typing import NDArray

UNICODE_VERSION = unicodedata.unidata_version
"""Of the tables that normalize, which depends on the Python that runs."""


def normalized(text: bytes, form: str) -> bytes:
    """The normal form, NFC or NFKC, of a stretch of text; the text itself when it is in that form."""
    if text.isascii():
        return text
    decoded = text.decode("utf-8", "surrogateescape")
    if unicodedata.is_normalized(form, decoded):  # type: ignore[arg-type]
        return text
    return unicodedata.normalize(form, decoded).encode("utf-8", "surrogateescape")  # type: ignore[arg-type]


def normalize_spans(data: bytes, spans: NDArray[np.int64], form: str | None) -> tuple[bytes, NDArray[np.int64]]:
    """data and its spans (see kernels/special.pyx) with each span of text normalized; each must be a whole stretch."""
    if form is None or data.isascii():
        return data, spans
    parts, rows, at, changed = [], [], 0, False
    for start, stop, _, id in spans.tolist():
        text = data[start:stop]
        part = text if id >= 0 else normalized(text, form)
        changed |= part is not text
        parts.append(part)
        rows.append((at, at + len(part), at + len(part), id))
        at += len(part)
    if not changed:
        return data, spans
    return b"".join(parts), np.array(rows, np.int64).reshape(-1, 4)
