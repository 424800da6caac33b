"""Text out of ids that come one after the other."""

import codecs
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike


class StreamDecoder:
    """Decodes ids as they come. Bytes of a character that is not complete yet are held back.

    Made by `Tokenizer.stream_decoder`. With errors="strict", bytes that are not UTF-8 raise UnicodeDecodeError and are
    dropped; the text around them comes with the next call.
    """

    def __init__(self, decode_bytes: Callable[[ArrayLike], bytes], errors: str = "replace") -> None:
        codecs.lookup_error(errors)
        self._decode_bytes = decode_bytes
        self._errors = errors
        self._text, self._held = "", b""

    def feed(self, ids: int | ArrayLike) -> str:
        """The text that an id, or several, complete. Raises DataError for an unknown id."""
        several: ArrayLike = [int(ids)] if isinstance(ids, int | np.integer) else ids
        self._held += self._decode_bytes(several)
        return self._decoded(final=False)

    def finish(self) -> str:
        """The text of what was held back (U+FFFD with errors="replace"); the decoder starts anew."""
        try:
            return self._decoded(final=True)
        finally:
            self._text, self._held = "", b""

    def _decoded(self, final: bool) -> str:
        try:
            text, used = codecs.utf_8_decode(self._held, self._errors, final)
        except UnicodeDecodeError as error:
            self._text += self._held[: error.start].decode()
            self._held = self._held[error.end :]
            raise
        text, self._text, self._held = self._text + text, "", self._held[used:]
        return text
