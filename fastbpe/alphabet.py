"""Bytes as characters: GPT-2's printable alphabet, word markers, and how tokens are shown to people.

GPT-2 gives each of the 256 bytes a printable character, so that a vocabulary can be kept as text: printable
Latin-1 bytes stand for themselves, the others take the characters from U+0100 on, in byte order. File formats
use that alphabet, and Hugging Face's trainer orders the bytes by it.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from fastbpe.errors import DataError, check_choice

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}


def _byte_characters() -> tuple[str, ...]:
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte) if byte in _PRINTABLE else chr(next(others)) for byte in range(256))


#: Character of each byte, in GPT-2's alphabet.
BYTE_CHARACTERS = _byte_characters()

#: Byte of each character, the inverse of BYTE_CHARACTERS.
CHARACTER_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}

# Byte of each code point, -1 for those of no byte; the last entry stands for all that lie above.
_POINT_BYTES = np.full(max(map(ord, BYTE_CHARACTERS)) + 2, -1, np.int16)
_POINT_BYTES[list(map(ord, BYTE_CHARACTERS))] = range(256)

#: uint8 array (256,): place of each byte when the bytes are sorted by their GPT-2 character.
BYTE_ORDER = np.argsort(np.argsort([ord(character) for character in BYTE_CHARACTERS])).astype(np.uint8)
BYTE_ORDER.flags.writeable = False

_SIGNS = {"\n": "↵", "\t": "→", "\r": "␍"}
# Controls, and what changes the direction of writing, breaks lines or takes no room.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")

MARKER_STYLES = ("gpt2", "sentencepiece", "wordpiece")


def to_characters(token: bytes) -> str:
    """The token in GPT-2's alphabet: one character for each byte."""
    return "".join([BYTE_CHARACTERS[byte] for byte in token])


def from_characters(text: str) -> bytes:
    """The bytes that `to_characters` wrote as `text`. Raises DataError on a character outside the alphabet."""
    try:
        return bytes([CHARACTER_BYTES[character] for character in text])
    except KeyError as error:
        raise DataError(f"{error.args[0]!r} in {text!r} is not a character of GPT-2's byte alphabet") from None


def all_from_characters(texts: Sequence[str]) -> list[bytes]:
    """As `from_characters`, of each of the texts; much faster for many."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    found = _POINT_BYTES.take(points, mode="clip")
    if found.min(initial=0) < 0:
        return list(map(from_characters, texts))  # which says where
    data, stops = found.astype(np.uint8).tobytes(), list(accumulate(map(len, texts)))
    return [data[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]


def mark_words(words: Iterable[Sequence[str]], style: str = "gpt2") -> list[str]:
    """The pieces of a sentence's words with their marker, as the three families of tokenizers print them.

    Each word is the sequence of its pieces. "gpt2" puts Ġ before every word but the first (a space that belongs to
    the word), "sentencepiece" puts ▁ before every word, "wordpiece" puts ## before every piece that goes on a word
    (and writes lower case, as its uncased vocabularies do).
    """
    check_choice("style", style, MARKER_STYLES)
    marked = []
    for w, word in enumerate(words):
        for p, piece in enumerate(word):
            if style == "wordpiece":
                marked.append("##" * (p > 0) + piece.lower())
            elif style == "sentencepiece":
                marked.append("▁" * (p == 0) + piece)
            else:
                marked.append("Ġ" * (p == 0 and w > 0) + piece)
    return marked


def show_token(token: bytes) -> str:
    """The token for people: whole characters as text, bytes of incomplete or invalid ones as `[e5 b8]`.

    Not reversible (a token may hold a bracket of its own): `to_characters` is.
    """
    shown = []
    at = 0
    while at < len(token):
        try:
            shown.append(token[at:].decode())
            break
        except UnicodeDecodeError as error:
            good, bad = at + error.start, at + error.end
            shown.append(token[at:good].decode())
            if shown[-1] == "" and len(shown) > 1:
                # Fragments that follow one another share one pair of brackets.
                shown[-2:] = [f"{shown[-2][:-1]} {token[good:bad].hex(' ')}]"]
            else:
                shown.append(f"[{token[good:bad].hex(' ')}]")
            at = bad
    return "".join(shown)


def visible(token: bytes) -> str:
    """As `show_token`, in one line and with nothing that a screen would obey: ↵ for a newline, → for a tab, \\x1b for
    other controls, \\u202e for signs that turn the direction of writing and the like."""
    return _UNSEEN.sub(_sign, show_token(token))


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SIGNS.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
