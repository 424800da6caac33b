"""manifest.json: what a directory of shards holds and how it was made.

Equal inputs and parameters give equal bytes: no clock, no rate, no thread count, no absolute path.
"""

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_origin

from fastbpe.atomic import atomic_write
from fastbpe.errors import DataError, FormatError, ParameterError
from fastbpe.shards.crc import crc32_of_values
from fastbpe.shards.forms import form_named
from fastbpe.shards.naming import JOURNAL, MANIFEST, TOKENIZER

FORMAT = "fastbpe shards"
VERSION = 1


@dataclass(frozen=True)
class ShardEntry:
    """One shard. `file` and `index` (its document ends) are relative; `documents` are those that end in it.

    crc32, index_crc32: of the whole files. beside: other files that its form has, each with its CRC-32.
    """

    file: str
    index: str
    split: str
    tokens: int
    documents: int
    crc32: str
    index_crc32: str
    beside: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What there is to know about a directory of shards.

    Ids and names of bos and eos are None where encoding added none; `eos_place` is append or prepend. `bytes`: of the
    documents, as read; `invalid_bytes`: those that are not UTF-8. `reader`: how documents were told apart. `sources`:
    per source what was read and passed over. `form`: of the files, see forms.py. `val_fraction`: of the documents that
    were dealt to val, whose shards then come first. `shuffle`: the seed of the order, None for the input's.
    `unicode_version`: of the tables that normalized the text, None where the tokenizer has no normalizer. `checksums`:
    of the documents of each split as they were read. `pack`: tokens in a row, None where there are no rows; `padding`
    of all `tokens` are not of a document, and `longer_than_row` documents go through several rows.
    """

    fingerprint: str
    dtype: str
    id_limit: int
    tokens: int
    documents: int
    bytes: int
    bos_token: str | None = None
    bos_id: int | None = None
    eos_token: str | None = None
    eos_id: int | None = None
    eos_place: str = "append"
    allowed_special: list[str] = field(default_factory=list)
    special_left_as_text: dict[str, int] = field(default_factory=dict)
    invalid_bytes: int = 0
    first_invalid: str | None = None
    reader: dict[str, Any] = field(default_factory=dict)
    prefix: str = "tokens"
    form: str = "npy"
    shard_tokens: int = 0
    val_shards: int = 0
    val_fraction: float = 0.0
    shuffle: int | None = None
    pack: int | None = None
    pad_token: str | None = None
    pad_id: int | None = None
    padding: int = 0
    longer_than_row: int = 0
    unicode_version: str | None = None
    checksums: list[str] = field(default_factory=list)
    tokenizer: str = TOKENIZER
    sources: list[dict[str, Any]] = field(default_factory=list)
    shards: list[ShardEntry] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every file of the sources was read to its end."""
        return not any(source.get("damaged") for source in self.sources)

    def marks(self) -> tuple[int | None, int | None]:
        """Ids that encoding put before and after every document."""
        if self.eos_place == "prepend":
            return (self.bos_id if self.eos_id is None else self.eos_id), None
        return self.bos_id, self.eos_id

    def to_json(self) -> str:
        values = {"format": FORMAT, "version": VERSION} | asdict(self)
        sealed = values | {"crc32": crc32_of_values(values)}
        return json.dumps(sealed, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str = MANIFEST) -> Self:
        """Raises FormatError, naming `where`, for anything but what `to_json` wrote."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise FormatError(f"{where}: is no JSON ({error}); write the shards again") from None
        as_written = isinstance(values, dict) and values.pop("crc32", None) == crc32_of_values(values)
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise FormatError(f"{where}: is no manifest of fastbpe shards")
        version = values.pop("version", None)
        if version != VERSION:
            raise FormatError(
                f"{where}: has version {version}, and this fastbpe reads {VERSION}; use the one that wrote it"
            )
        try:
            values["shards"] = [ShardEntry(**entry) for entry in values["shards"]]
            manifest = cls(**values)
            _check_types(manifest)
            for entry in manifest.shards:
                _check_types(entry)
            _check_reader(manifest.reader)
            _check_sources(manifest.sources)
            if (manifest.pack is None) != (manifest.pad_id is None) or manifest.pack == 0:
                raise TypeError(f"pack is {manifest.pack} and pad_id {manifest.pad_id}")
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"{where}: has missing, wrong or unknown entries ({error}); write the shards again"
            ) from None
        try:
            dtype = form_named(manifest.form).dtype(manifest.id_limit).name
        except ParameterError as error:
            raise FormatError(f"{where}: {error}") from None
        if manifest.dtype != dtype:
            raise FormatError(
                f"{where}: dtype is {manifest.dtype!r}, but ids below {manifest.id_limit} are {dtype} in its form, "
                f"{manifest.form}"
            )
        totals = [sum(getattr(entry, name) for entry in manifest.shards) for name in ("tokens", "documents")]
        if totals != [manifest.tokens, manifest.documents]:
            raise FormatError(
                f"{where}: its shards hold {totals}, not {manifest.tokens} tokens and {manifest.documents} documents"
            )
        if not as_written:
            raise FormatError(f"{where}: is not as it was written (checksum); write the shards again")
        return manifest

    def save(self, directory: str | os.PathLike[str]) -> None:
        with atomic_write(Path(directory) / MANIFEST) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """The manifest of a directory. Raises DataError when there is none, and says why."""
        directory = Path(directory)
        path = directory / MANIFEST
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise FormatError(f"{path}: is no manifest of fastbpe shards") from None
        except OSError as error:
            if not directory.exists():
                why = "no such directory; check the name"
            elif (directory / JOURNAL).exists():
                why = "the run that wrote it is not finished; finish it by the same command with --resume"
            elif isinstance(error, FileNotFoundError | NotADirectoryError):
                why = f"has no {MANIFEST}; is it a directory that `fastbpe encode` wrote?"
            else:
                why = f"its {MANIFEST} cannot be read ({(error.strerror or str(error)).lower()})"
            raise DataError(f"{directory}: {why}") from None
        return cls.from_json(text, str(path))


def _check_reader(reader: dict[str, Any]) -> None:
    """Raises TypeError for what is no way of reading documents: decoding and comparing go by it."""
    separator, where = reader.get("separator"), reader.get("where", {})
    if isinstance(separator, dict):
        try:
            separator = bytes.fromhex(separator["hex"]) if list(separator) == ["hex"] else 0
        except (TypeError, ValueError):
            separator = 0
    if separator is not None and (not isinstance(separator, str | bytes) or not separator):
        raise TypeError(f"reader: separator is {reader['separator']!r}")
    if type(reader.get("lines", False)) is not bool:
        raise TypeError(f"reader: lines is {reader['lines']!r}")
    if not isinstance(where, dict) or not all(isinstance(value, str) for value in where.values()):
        raise TypeError(f"reader: where is {where!r}")
    for name in ("text_field", "members"):
        if not isinstance(reader.get(name), str | None):
            raise TypeError(f"reader: {name} is {reader[name]!r}")
    if reader.get("errors", "keep") not in ("keep", "strict", "replace"):
        raise TypeError(f"reader: errors is {reader['errors']!r}")


def _check_sources(sources: list[dict[str, Any]]) -> None:
    """Raises TypeError for what is no list of what was read of every source."""
    for source in sources:
        if not isinstance(source, dict) or type(source.get("documents")) is not int:
            raise TypeError(f"sources has {source!r}")
        counts = source.get("documents_per_file", [])
        if not isinstance(counts, list) or not all(type(n) is int and n >= 0 for n in counts):
            raise TypeError(f"sources: documents_per_file is {counts!r}")


def _check_types(entry: Manifest | ShardEntry) -> None:
    """Raises TypeError for a value that is not of its field's type, or a negative number."""
    for this in fields(entry):
        value = getattr(entry, this.name)
        kinds = get_args(this.type) if isinstance(this.type, UnionType) else (this.type,)
        if type(value) not in [get_origin(kind) or kind for kind in kinds]:
            raise TypeError(f"{this.name} is {value!r}")
        if isinstance(value, int) and value < 0:
            raise TypeError(f"{this.name} is {value}")
