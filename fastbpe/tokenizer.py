"""Tokenizer: text to ids and back.

Immutable and safe in threads: what a call needs besides its arguments, a scratch with a cache, it takes from a pool
and puts back. The data are a Model; the encoder's tables are built from it when first needed, so that a tokenizer
pickles as its data and is the same after as before.
"""

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastbpe.errors import DataError, ParameterError, check_choice, whole_number
from fastbpe.kernels.encode import Encoder
from fastbpe.kernels.idlist import IdBuffer
from fastbpe.kernels.join import total_length
from fastbpe.kernels.matchtable import Matcher, matcher_of
from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.wholechunks import WholeTokens
from fastbpe.model import Model, list_names, model_of_merges, model_of_ranks
from fastbpe.pattern.splitter import Splitter
from fastbpe.pieces import PIECE_BYTES, Batch, Piece, batches, cut_text
from fastbpe.specials import Data, Names, SpecialChooser, Specials
from fastbpe.stream import StreamDecoder
from fastbpe.text import counted, to_bytes
from fastbpe.threads import ordered_map, thread_count
from fastbpe.vocabulary import Vocabulary

#: Bound of the caches of all threads that use one tokenizer at the same time; threads beyond the processors add a
#: small one each.
CACHE_BYTES = 128 << 20

Text = str | bytes


class Tokenizer:
    """A byte-level BPE tokenizer. Made by `train`, `load`, or the `from_` constructors.

    Two tokenizers are equal when their fingerprints are: when they encode and decode alike.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        #: The Splitter of the pattern.
        self.splitter = Splitter(model.pattern, model.unmatched)
        self._direct = self.splitter.engine != "regex" and model.normalizer is None
        self._chooser = SpecialChooser(model)

    @classmethod
    def from_merges(
        cls,
        merges: ArrayLike,
        counts: ArrayLike | None = None,
        pattern: str | Sequence[str] | None = "cl100k",
        special_tokens: Iterable[str] = (),
        special_placement: str = "last",
        bos_token: str | None = None,
        eos_token: str | None = None,
        pad_token: str | None = None,
        normalizer: str | None = None,
        unmatched: str = "refuse",
        record: Mapping[str, Any] | None = None,
    ) -> "Tokenizer":
        """The tokenizer of a list of merges, lowest rank first.

        merges is (n, 2) in byte/merge space (0..255 are bytes, 256 + k is merge k) whatever ids result;
        counts, (n,), says how often each pair occurred when it was learned. `pattern` is a name, a text, or None.
        """
        splitter = Splitter(pattern, unmatched)
        return cls(
            model_of_merges(
                np.asarray(merges, dtype=np.int64),
                special_tokens,
                special_placement,
                counts=None if counts is None else np.array(counts, dtype=np.int64),
                roles=roles_of(bos_token, eos_token, pad_token),
                pattern=splitter.pattern,
                unmatched=unmatched,
                normalizer=normalizer,
                record=None if record is None else dict(record),
            )
        )

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        pattern: str | None,
        special_tokens: Mapping[str, int] | None = None,
        bos_token: str | None = None,
        eos_token: str | None = None,
        pad_token: str | None = None,
        normalizer: str | None = None,
        unmatched: str = "refuse",
        whole_chunk_first: bool = True,
        id_offset: int = 0,
    ) -> "Tokenizer":
        """The tokenizer of a rank table as in tiktoken's files: {bytes of a token: rank}, id = rank + id_offset.

        Two tokens may merge when their joined bytes are a token, the lowest id first; a chunk that is a token is that
        token (whole_chunk_first). special_tokens: {name: id}. There is no pattern in such a file, so one must be given.
        Raises ParameterError and DataError, naming the place, for what contradicts itself.
        """
        splitter = Splitter(pattern, unmatched)
        return cls(
            model_of_ranks(
                ranks,
                id_offset,
                special_tokens=dict(special_tokens or {}),
                roles=roles_of(bos_token, eos_token, pad_token),
                pattern=splitter.pattern,
                unmatched=unmatched,
                whole_chunk_first=whole_chunk_first,
                normalizer=normalizer,
            )
        )

    # What it is

    @property
    def model(self) -> Model:
        """The data: arrays of tokens and merges, special tokens, pattern, record."""
        return self._model

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return self._model.vocab_size

    @property
    def id_limit(self) -> int:
        """The largest id + 1."""
        return self._model.id_limit

    @property
    def merges(self) -> NDArray[np.int64]:
        """int64 (n, 2): ids of each merge's left and right token, lowest rank first.

        Of a rank table: the merges that build its tokens out of their bytes.
        """
        return self._model.last_merges[:, :2]

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Ids of the special tokens by name, ascending."""
        return MappingProxyType(self._model.special_tokens)

    @property
    def pattern(self) -> str | tuple[str, ...] | None:
        """Text of the split pattern, or several that split in a row; None: a document is one chunk."""
        return self._model.pattern

    @property
    def pattern_name(self) -> str | None:
        """The named pattern that `pattern` is, if it is one."""
        return self._model.pattern_name

    @property
    def record(self) -> dict[str, Any] | None:
        """What training wrote down, if it was trained here."""
        return self._model.record

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all that encoding and decoding depend on."""
        return self._model.fingerprint

    @property
    def bos_id(self) -> int | None:
        """Id of the bos token, None when no token has that role."""
        return self._role_id("bos")

    @property
    def eos_id(self) -> int | None:
        """Id of the eos token, None when no token has that role."""
        return self._role_id("eos")

    @property
    def pad_id(self) -> int | None:
        """Id of the pad token, None when no token has that role."""
        return self._role_id("pad")

    def token_bytes(self, id: int) -> bytes:
        """The bytes of a token; a special token's are its name's. Raises DataError for an unknown id."""
        return self.decode_bytes([id])

    def token_to_id(self, token: Text) -> int:
        """The id of the token with these bytes, ordinary tokens before special ones. Raises DataError without one."""
        token = to_bytes(token)
        id = self._model.token_ids.get(token)
        if id is None:
            id = self._special_ids.get(token)
        if id is None:
            raise DataError(f"no token is {token!r}; encode it (fastbpe show) to see the tokens it is cut into")
        return id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        pattern = self.pattern_name or self.pattern
        specials = counted(len(self.special_tokens), "special token")
        return f"<{type(self).__name__}: {self.vocab_size} ids, pattern {pattern!r}, {specials}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._model,)

    # Text to ids

    def encode(
        self,
        text: Text,
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
    ) -> list[int]:
        """The ids of a text, a str or any bytes.

        Special tokens in it are ordinary text unless `allowed_special` names them (or is "all"); one that
        `disallowed_special` names (or, with "all", any that is not allowed) raises DataError and says where.
        `add_bos` and `add_eos` put that role's id around the text, and raise ParameterError without the role.
        """
        if not (allowed_special or disallowed_special or add_bos or add_eos) and self._direct:
            return self._encoder.encode_text(text)  # the shortest way, for short texts
        return self.encode_to_numpy(text, allowed_special, disallowed_special, add_bos, add_eos).tolist()

    def encode_ordinary(self, text: Text) -> list[int]:
        """The ids of a text in which nothing is special."""
        return self.encode(text)

    def encode_to_numpy(
        self,
        text: Text,
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
    ) -> NDArray[np.uint32]:
        """As `encode`, in a uint32 array."""
        specials = self._chooser.choose(allowed_special, disallowed_special, add_bos, add_eos)
        if self._in_pieces(text):
            buffer = IdBuffer()
            for number, piece in enumerate(cut_text(text, specials, self.splitter)):
                self._append_spans(buffer, piece.data, piece.spans)
                if number == 0:
                    _reserve(buffer, piece, [text])
            return np.frombuffer(memoryview(buffer), np.uint32)
        data: Data = to_bytes(text)
        if specials.none and self._direct:
            return self._encoder.encode_spans(data, None)[0]
        data, spans, _ = specials.spans(data, np.array([len(data)], np.int64))
        return self.encode_spans(data, spans)[0]

    def encode_batch(
        self,
        texts: Iterable[Text],
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
        threads: int | None = None,
    ) -> list[list[int]]:
        """As `encode`, for each of the texts, over `threads` threads (None: as many as the process may use)."""
        ids, offsets = self.encode_batch_to_numpy(texts, allowed_special, disallowed_special, add_bos, add_eos, threads)
        ends = offsets.tolist()
        return [ids[start:stop].tolist() for start, stop in zip(ends, ends[1:], strict=False)]

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
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise ParameterError("a batch is a list of texts, not one text: use encode, or put it in a list")
        n_threads = None if threads is None else thread_count(threads)
        specials = self._chooser.choose(allowed_special, disallowed_special, add_bos, add_eos)
        if isinstance(texts, list | tuple):
            texts = list(texts)  # others may change theirs meanwhile
        buffer = IdBuffer()
        offsets = [np.zeros(1, np.int64)]
        work = batches(texts, specials, self.splitter)
        first = list(itertools.islice(work, 2))
        if len(first) > 1 and n_threads is None:
            n_threads = thread_count(None)  # which takes longer than a few short texts
        if len(first) < 2 or n_threads == 1 or n_threads is None:
            for batch in itertools.chain(first, work):
                offsets.append(self._append(buffer, specials, batch))
                if len(offsets) == 2 and isinstance(texts, list):
                    _reserve(buffer, batch, texts)
        else:
            spare: list[IdBuffer] = []

            def encode(batch: Batch | Piece) -> tuple[Batch | Piece, IdBuffer, NDArray[np.int64]]:
                try:
                    part = spare.pop()
                except IndexError:
                    part = IdBuffer()
                return batch, part, self._append(part, specials, batch)

            for batch, part, text_ends in ordered_map(encode, itertools.chain(first, work), n_threads):
                offsets.append(text_ends + buffer.n)
                buffer.move(part)
                spare.append(part)
                if len(offsets) == 2 and isinstance(texts, list):
                    _reserve(buffer, batch, texts)
        return np.frombuffer(memoryview(buffer), np.uint32), np.concatenate(offsets)

    def encode_with_offsets(
        self,
        text: Text,
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
        unit: str = "bytes",
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids and, int64 (n, 2), where each one's text starts and stops.

        In bytes of the text's UTF-8, or in "characters", where a token that holds a part of a character gets the
        whole one. An added bos or eos has no text. With a normalizer the places are those of the normalized text.
        """
        check_choice("unit", unit, ("bytes", "characters"))
        data = to_bytes(text)
        ids = self.encode_to_numpy(data, allowed_special, disallowed_special, add_bos, add_eos)
        if self._model.normalizer is not None:
            data = self.decode_bytes(ids[int(add_bos) : len(ids) - int(add_eos)])
        lengths = self._vocabulary.lengths(ids)
        if add_bos:
            lengths[0] = 0
        if add_eos:
            lengths[-1] = 0
        stops = np.cumsum(lengths)
        offsets = np.column_stack((stops - lengths, stops))
        if unit == "characters":
            offsets = _character_offsets(data, offsets)
        return ids, offsets

    def count(
        self,
        text: Text,
        allowed_special: Names = (),
        disallowed_special: Names = (),
        add_bos: bool = False,
        add_eos: bool = False,
    ) -> int:
        """How many ids the text has."""
        if self._in_pieces(text):
            specials = self._chooser.choose(allowed_special, disallowed_special, add_bos, add_eos)
            pieces = cut_text(text, specials, self.splitter)
            return sum(len(self.encode_spans(piece.data, piece.spans)[0]) for piece in pieces)
        return len(self.encode_to_numpy(text, allowed_special, disallowed_special, add_bos, add_eos))

    # Ids to text

    def decode(self, ids: ArrayLike, skip_special_tokens: bool = False, errors: str = "replace") -> str:
        """The text of the ids; `errors` is what bytes.decode takes. Raises DataError for an unknown id."""
        return self.decode_bytes(ids, skip_special_tokens).decode("utf-8", errors)

    def decode_bytes(self, ids: ArrayLike, skip_special_tokens: bool = False) -> bytes:
        """The bytes of the ids. Raises DataError for an unknown id."""
        return self._vocabulary.join(ids, skip_special_tokens)

    def decode_batch(
        self, batch: Iterable[ArrayLike], skip_special_tokens: bool = False, errors: str = "replace"
    ) -> list[str]:
        """As `decode`, for each of the lists of ids."""
        return [self.decode(ids, skip_special_tokens, errors) for ids in batch]

    def stream_decoder(self, skip_special_tokens: bool = False, errors: str = "replace") -> StreamDecoder:
        """A decoder for ids that come one after the other."""
        return StreamDecoder(partial(self.decode_bytes, skip_special_tokens=skip_special_tokens), errors)

    # Others of its kind

    def truncate(self, vocab_size: int) -> "Tokenizer":
        """What training to `vocab_size` would have given, the record included.

        Special tokens that are placed last get their new ids. Refused for vocabularies with holes or an order of
        their own, and for sizes that training did not reach.
        """
        model = self._model
        placement = model.special_placement
        if placement is None:
            raise ParameterError("only a vocabulary in training's own layout can be truncated: this one has another")
        vocab_size = whole_number("vocab_size", vocab_size)
        floor = 256 + len(model.special_tokens)
        if vocab_size < floor:
            raise ParameterError(f"vocab_size {vocab_size} is below the floor of {floor}: 256 bytes and the specials")
        n_merges = vocab_size - floor
        record = None if model.record is None else dict(model.record)
        exhausted = record is not None and record.get("stop_reason", "vocab_size") != "vocab_size"
        if n_merges > len(model.merges) and not exhausted:
            raise ParameterError(f"vocab_size {vocab_size} is above {self.vocab_size}: training went no further")
        if record is not None:
            if isinstance(record.get("parameters"), dict) and "vocab_size" in record["parameters"]:
                record["parameters"] = {**record["parameters"], "vocab_size": vocab_size}
            if "stop_reason" in record and n_merges <= len(model.merges):
                record["stop_reason"] = "vocab_size"
        base = int(model.byte_ids[0])
        return Tokenizer(
            model_of_merges(
                model.merges[:n_merges, :2] - base,
                model.special_tokens,
                placement,
                counts=None if model.counts is None else model.counts[:n_merges].copy(),
                roles=model.roles,
                kept_tokens=model.kept_tokens,
                pattern=model.pattern,
                unmatched=model.unmatched,
                whole_chunk_first=model.whole_chunk_first,
                normalizer=model.normalizer,
                record=record,
            )
        )

    def with_special_tokens(
        self,
        names: Iterable[str],
        bos_token: str | None = None,
        eos_token: str | None = None,
        pad_token: str | None = None,
    ) -> "Tokenizer":
        """The tokenizer with more special tokens, whose ids follow the largest one; roles may be named anew."""
        new = list_names(names, "special_tokens")
        for name in new:
            if name in self._model.special_tokens:
                raise ParameterError(f"{name!r} is a special token already")
        specials = {**self._model.special_tokens, **{name: self.id_limit + i for i, name in enumerate(new)}}
        roles = {**self._model.roles, **roles_of(bos_token, eos_token, pad_token)}
        fields = {name: getattr(self._model, name) for name in Model.__dataclass_fields__}
        return type(self)(Model(**{**fields, "special_tokens": specials, "roles": roles}))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes our own file (JSON): whole, or not at all. Equal tokenizers with equal records give equal bytes."""
        upstairs("formats.own", "save")(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Tokenizer":
        """Reads a file that `save` wrote. Raises FormatError, naming file and place, for any other."""
        return upstairs("formats.own", "load")(path)

    # Inside

    @cached_property
    def _encoder(self) -> Encoder:
        model = self._model
        # Of a rank table's pairs only the one that merges last when a token stands alone ever builds it.
        merges = np.ascontiguousarray(model.last_merges)
        matcher = matcher_of(model.byte_ids, merges)
        rules = matcher or MergeList(model.byte_ids, merges)
        whole = None
        if model.whole_chunk_first:
            each_builds = matcher is not None or model.priority == "rank table"
            whole = _whole_tokens(model, np.isin(model.ids, merges[:, 2]) if each_builds else _built(model, rules))
        # One share for each processor, which further threads wait for anyway.
        return Encoder(rules, self.splitter.table, scratch_bytes(), whole=whole, n_shares=os.cpu_count() or 1)

    def encode_spans(self, data: Data, spans: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of spans of a buffer (see kernels/spans.pyx), uint32, and offsets, int64 of n + 1: those of span i
        are ids[offsets[i]:offsets[i + 1]]. For pipelines; any thread may call it."""
        ends = self.splitter.span_ends(data, spans)
        return self._encoder.encode_spans(data, spans, ends)

    def _append_spans(self, buffer: IdBuffer, data: Data, spans: NDArray[np.int64]) -> NDArray[np.int64]:
        """As `encode_spans`, the ids behind those in the buffer; offsets in the whole of it."""
        return self._encoder.append_spans(buffer, data, spans, self.splitter.span_ends(data, spans))

    def encode_chunks(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """As `encode_spans`, of chunks data[starts[i]:starts[i + 1]], which are not split any further."""
        return self._encoder.encode_spans(data, chunk_spans(starts), whole=True)

    def _append(self, buffer: IdBuffer, specials: Specials, batch: Batch | Piece) -> NDArray[np.int64]:
        """Appends the ids; returns where those of each text end that ends in the batch."""
        if isinstance(batch, Batch):
            if specials.none and self._direct:
                return self._encoder.append_texts(buffer, batch.texts, batch.start, batch.stop)
            batch = batch.piece(specials)
        return self._append_spans(buffer, batch.data, batch.spans)[batch.text_ends]

    def _in_pieces(self, text: Text) -> bool:
        """Whether the text is long enough to be encoded piece by piece."""
        return total_length([text]) > PIECE_BYTES

    def _role_id(self, role: str) -> int | None:
        name = self._model.roles.get(role)
        return None if name is None else self._model.special_tokens[name]

    @cached_property
    def _special_ids(self) -> dict[bytes, int]:
        return {name.encode(): id for name, id in self._model.special_tokens.items()}

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._model)


def chunk_spans(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spans of text data[starts[i]:starts[i + 1]]."""
    stops = starts[1:]
    return np.ascontiguousarray(np.column_stack((starts[:-1], stops, stops, np.full(len(stops), -1, np.int64))))


def _built(model: Model, rules: Matcher | MergeList) -> NDArray[np.bool_]:
    """Which of the tokens their own bytes merge to."""
    ids, offsets = Encoder(rules).encode_spans(model.data, chunk_spans(model.starts), whole=True)
    return (np.diff(offsets) == 1) & (ids[np.minimum(offsets[:-1], max(len(ids) - 1, 0))] == model.ids)


def _whole_tokens(model: Model, built: NDArray[np.bool_]) -> WholeTokens | None:
    """The tokens, bytes aside, that are not built, None when there are none."""
    other = ~built & (np.diff(model.starts) > 1)
    if not other.any():
        return None
    tokens = [model.tokens[row] for row in np.flatnonzero(other).tolist()]
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    return WholeTokens(np.frombuffer(b"".join(tokens), np.uint8), starts, model.ids[other])


def _reserve(buffer: IdBuffer, first: Batch | Piece, texts: list[Text]) -> None:
    """Room for about as many ids as all texts will have, by how many the first of them had."""
    if isinstance(first, Batch):
        done = total_length(first.texts[first.start : first.stop])
    else:
        done = int((first.spans[:, 1] - first.spans[:, 0]).sum())
    if done:
        buffer.reserve(int(1.05 * buffer.n * total_length(texts) / done))


def roles_of(bos_token: str | None, eos_token: str | None, pad_token: str | None) -> dict[str, str]:
    named = {"bos": bos_token, "eos": eos_token, "pad": pad_token}
    return {role: name for role, name in named.items() if name is not None}


def _character_offsets(data: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Byte offsets as offsets in characters: from the character with the first byte to the one with the last."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"the text has no characters at byte {error.start}: it is not UTF-8") from None
    leads = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(leads)))
    # The character that holds byte i is number before[i + 1] - 1.
    starts, stops = offsets[:, 0], offsets[:, 1]
    first = before[np.minimum(starts + 1, len(data))] - (starts < len(data))
    return np.column_stack((first, np.where(stops > starts, before[stops], first)))


def upstairs(module: str, name: str) -> Any:
    """A function of a layer above, which this one must not import: found when it is called."""
    return getattr(import_module(f"fastbpe.{module}"), name)


def scratch_bytes() -> int:
    """One thread's share of CACHE_BYTES, but at least what a second-level cache of a processor holds."""
    return max(CACHE_BYTES // (os.cpu_count() or 1), 1 << 20)
