"""CharTokenizer: each character a token. The plain tokenizer that byte-level BPE is measured against.

Its data are a Model like any other's, whose tokens are characters and none of whose pairs merge, so that saving,
decoding, special tokens and pipelines are those of Tokenizer. What differs: there are no tokens for bytes to fall back
on, so a character that training did not meet cannot be encoded.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import ParameterError, UnknownCharacterError, check_choice
from fastbpe.kernels.idlist import ID_LIMIT, IdBuffer
from fastbpe.kernels.spans import check_spans
from fastbpe.model import CHARACTER_PATTERN, CHARACTERS, PLACEMENTS, Model, list_names
from fastbpe.specials import Data, Names
from fastbpe.text import to_bytes
from fastbpe.tokenizer import Text, Tokenizer, chunk_spans, roles_of

_NO_ID = np.uint32(ID_LIMIT)

Bytes = bytes | NDArray[np.uint8]


class CharTokenizer(Tokenizer):
    """A tokenizer whose tokens are single characters. Made by `train_characters`, `from_characters`, `load`.

    It encodes, decodes and saves as every Tokenizer does. A character that is none of its tokens, and a byte that is
    not UTF-8, raises UnknownCharacterError (a DataError), which says what it is and where it stands.
    """

    def __init__(self, model: Model) -> None:
        if model.priority != CHARACTERS:
            raise ParameterError(f"a CharTokenizer's model has the priority {CHARACTERS!r}, not {model.priority!r}")
        super().__init__(model)
        self._direct = False  # the short way is the byte-level encoder's

    @classmethod
    def from_characters(
        cls,
        characters: Iterable[str],
        special_tokens: Iterable[str] = (),
        special_placement: str = "last",
        bos_token: str | None = None,
        eos_token: str | None = None,
        pad_token: str | None = None,
        normalizer: str | None = None,
        record: dict[str, Any] | None = None,
    ) -> "CharTokenizer":
        """The tokenizer of these characters: a str, or an iterable of strs of one character each.

        Ids follow the order of the characters, one that is repeated keeping its first place; special tokens come after
        them ("last") or before ("first"). Raises ParameterError, DataError for what is not one character.
        """
        names = list_names(special_tokens, "special_tokens")
        check_choice("special_placement", special_placement, PLACEMENTS)
        tokens = [to_bytes(character) for character in dict.fromkeys(characters)]
        n = len(tokens)
        base, special_base = (0, n) if special_placement == "last" else (len(names), 0)
        lengths = np.array([len(token) for token in tokens], np.int64)
        return cls(
            Model(
                ids=np.arange(base, base + n, dtype=np.uint32),
                data=np.frombuffer(b"".join(tokens), np.uint8),
                starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
                merges=np.zeros((0, 3), np.int64),
                special_tokens={name: special_base + i for i, name in enumerate(names)},
                roles=roles_of(bos_token, eos_token, pad_token),
                pattern=CHARACTER_PATTERN,
                priority=CHARACTERS,
                normalizer=normalizer,
                record=record,
            )
        )

    @property
    def characters(self) -> str:
        """All characters, in the order of their ids."""
        return self.model.data.tobytes().decode()

    def unknown_characters(self, text: Text, allowed_special: Names = ()) -> dict[str, int]:
        """The characters of a text that cannot be encoded, in order of appearance, and how often each occurs.

        Special tokens that `allowed_special` names are no text. Raises UnknownCharacterError for bytes that are not
        UTF-8.
        """
        data = to_bytes(text)
        data, spans, _ = self._chooser.choose(allowed_special).spans(data, np.array([len(data)], np.int64))
        points = [_code_points(data[start:stop], start) for start, stop, _, id in spans.tolist() if id < 0]
        found = np.concatenate([np.empty(0, np.uint32), *points])
        found = found[self._encoder.look_up(found) == _NO_ID]
        distinct, firsts, counts = np.unique(found, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        return {chr(distinct[i]): int(counts[i]) for i in order}

    def encode_to_numpy(
        self,
        text: Text,
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
    ) -> NDArray[np.uint32]:
        """As `encode`, in a uint32 array."""
        try:
            return super().encode_to_numpy(text, allowed_special, disallowed_special, add_bos, add_eos)
        except UnknownCharacterError as error:
            data, which = to_bytes(text), "text"
            if self.model.normalizer is not None:
                ends = np.array([len(data)], np.int64)
                data, which = self._chooser.choose(allowed_special).spans(data, ends)[0], "normalized text"
            before = len(data[: error.offset].decode(errors="replace"))
            place = f"character {before} of the {which} (byte {error.offset})"
            raise UnknownCharacterError(error.what, place, error.offset) from None

    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
        threads: int | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """All texts' ids one after the other, uint32, and offsets, int64 of n + 1: those of text i are
        ids[offsets[i]:offsets[i + 1]]."""
        options = allowed_special, disallowed_special, add_bos, add_eos
        if not isinstance(texts, (str, bytes, bytearray, memoryview)):
            texts = list(texts)  # to be looked through again for the place of an error
        try:
            return super().encode_batch_to_numpy(texts, *options, threads)
        except UnknownCharacterError:
            for number, text in enumerate(texts):
                try:
                    self.encode_to_numpy(text, *options)
                except UnknownCharacterError as error:
                    raise UnknownCharacterError(str(error), f"text {number}", error.offset) from None
            raise

    def truncate(self, vocab_size: int) -> "CharTokenizer":
        """Is not there: a character that is left out could not be encoded. Raises ParameterError."""
        raise ParameterError("a character tokenizer has no merges to leave out: train it with a higher min_frequency")

    # Inside

    @cached_property
    def _encoder(self) -> "CharacterEncoder":  # type: ignore[override]
        return CharacterEncoder(self.characters, self.model.ids)

    def encode_spans(self, data: Bytes, spans: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """See Tokenizer.encode_spans. The offset of an UnknownCharacterError is one in the buffer."""
        return self._encoder.encode_spans(data, spans)

    def encode_chunks(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """See Tokenizer.encode_chunks."""
        return self._encoder.encode_spans(data, chunk_spans(starts))

    def _in_pieces(self, text: Text) -> bool:
        return False  # offsets of errors are those in the whole text

    def _append_spans(self, buffer: IdBuffer, data: Data, spans: NDArray[np.int64]) -> NDArray[np.int64]:
        before = buffer.n
        ids, offsets = self._encoder.encode_spans(data, spans)
        buffer.extend(ids)
        return offsets + before


class CharacterEncoder:
    """A table from code points to ids, as long as the largest code point known."""

    def __init__(self, characters: str, ids: NDArray[np.uint32]) -> None:
        points = _code_points(characters.encode())
        self._table = np.full(int(points.max(initial=0)) + 2, _NO_ID)  # the last entry stands for all that lie above
        self._table[points] = ids
        self._n = len(points)

    def look_up(self, points: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The ids of code points, the largest uint32 for those unknown."""
        return self._table.take(points, mode="clip")

    def encode_spans(
        self, data: Bytes, spans: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of spans (see kernels/spans.pyx), and offsets, (n + 1,), of each span's. Raises
        UnknownCharacterError with the first place in the buffer."""
        spans = check_spans(spans, len(data))
        if not len(spans):
            return np.empty(0, np.uint32), np.zeros(1, np.int64)
        low, high = int(spans[0, 0]), int(spans[-1, 1])
        text = np.frombuffer(data, np.uint8)[low:high]
        starts, stops, special = spans[:, 0] - low, spans[:, 1] - low, spans[:, 3] >= 0
        leads = (text & 0xC0) != 0x80
        # Where a span begins or ends inside a character, its text is not UTF-8, though the buffer may be.
        if not leads[starts[starts < len(text)]].all() or not leads[stops[stops < len(text)]].all():
            raise self._first_unknown(data, spans)
        try:
            points = _code_points(text.tobytes())
        except UnknownCharacterError:
            raise self._first_unknown(data, spans) from None
        ids = self.look_up(points)
        if len(spans) == 1 and not special[0]:
            offsets = np.array([0, len(ids)], np.int64)
        else:
            before = np.concatenate((np.zeros(1, np.int64), np.cumsum(leads)))
            firsts = before[starts]
            lengths = np.where(special, 1, before[stops] - firsts)
            offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
            if special.any() or offsets[-1] != len(ids):
                taken = np.repeat(np.where(special, len(ids), firsts) - offsets[:-1], lengths) + np.arange(offsets[-1])
                ids = np.append(ids, np.uint32(0))[taken]  # the one appended stands where special tokens go
                ids[offsets[:-1][special]] = spans[special, 3]
        if (ids == _NO_ID).any():
            raise self._first_unknown(data, spans)
        return ids, offsets

    def _first_unknown(self, data: Bytes, spans: NDArray[np.int64]) -> UnknownCharacterError:
        """The error for the first character of the spans that is not known."""
        view = np.frombuffer(data, np.uint8)
        for start, stop, _, id in spans.tolist():
            if id >= 0:
                continue
            text = view[start:stop].tobytes()
            try:
                points = _code_points(text, start)
                bad = None
            except UnknownCharacterError as error:
                points, bad = _code_points(text[: error.offset - start]), error
            unknown = self.look_up(points) == _NO_ID
            if unknown.any():
                at = int(np.argmax(unknown))
                offset = start + len(points[:at].astype("<u4").tobytes().decode("utf-32-le").encode())
                point = int(points[at])
                return UnknownCharacterError(
                    f"{chr(point)!r} (U+{point:04X}) is none of the {self._n:,} characters this tokenizer knows: train "
                    "it on text with it, or take it out (unknown_characters lists all there are)",
                    f"byte {offset}",
                    offset,
                )
            if bad is not None:
                return bad
        raise AssertionError("every character of the spans is known")


def _code_points(text: bytes, offset: int = 0) -> NDArray[np.uint32]:
    """The code points of UTF-8 text. Raises UnknownCharacterError for the first byte that is none; `offset` is the
    text's own place."""
    try:
        return np.frombuffer(text.decode().encode("utf-32-le"), np.dtype("<u4")).astype(np.uint32, copy=False)
    except UnicodeDecodeError as error:
        at = offset + error.start
        what = f"the byte 0x{text[error.start]:02x} is not UTF-8, and a character tokenizer has no token for bytes"
        raise UnknownCharacterError(what, f"byte {at}", at) from None
