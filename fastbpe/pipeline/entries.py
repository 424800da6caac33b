"""What the manifest says of the sources and how they were read."""

import os
from collections.abc import Iterator
from typing import Any

from fastbpe.corpus.blocks import Address, Block
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import SourceReport
from fastbpe.corpus.sources import Corpus
from fastbpe.corpus.walk import literal_root
from fastbpe.shards.forms import Origin


def reader_entry(options: ReaderOptions, errors: str) -> dict[str, Any]:
    """How documents were told apart; a separator that is not UTF-8 stands as {"hex": ...}."""
    separator: Any = options.separator
    if separator is not None:
        try:
            separator = separator.decode()
        except UnicodeDecodeError:
            separator = {"hex": separator.hex()}
    return {
        "separator": separator,
        "lines": options.lines,
        "text_field": options.text_field,
        "where": dict(options.where),
        "members": options.members,
        "errors": errors,
    }


def reader_options(entry: dict[str, Any]) -> ReaderOptions:
    """The options that `reader_entry` wrote."""
    separator = entry.get("separator")
    if isinstance(separator, dict):
        separator = bytes.fromhex(separator["hex"])
    elif separator is not None:
        separator = separator.encode()
    where = tuple(entry.get("where", {}).items())
    return ReaderOptions(separator, entry.get("lines", False), entry.get("text_field"), where, entry.get("members"))


def source_entries(corpus: Corpus) -> list[dict[str, Any]]:
    """What there is to say of all sources of a corpus that has been read."""
    return [source_entry(report) for report in corpus.reports]


def source_entry(report: SourceReport) -> dict[str, Any]:
    """What the manifest says of a source. An absolute path is shortened to what does not depend on the machine."""
    base = _base(report)
    entry: dict[str, Any] = {
        "name": _below(report.name, base),
        "files": report.files,
        "documents": report.documents,
        "bytes": report.bytes,
        "skipped": dict(sorted(report.skipped.items())),
        "skipped_examples": [[_below(what, base), why] for what, why in report.skipped_examples],
        "rejected": report.rejected,
        "damaged": [[_below(what, base), why] for what, why in report.damaged],
        "boms": report.boms,
    }
    if report.documents_per_file is not None:
        entry["documents_per_file"] = report.documents_per_file
    return entry


def address_entry(address: Address, reports: list[SourceReport]) -> str:
    """An address, its path shortened as that of its source."""
    for base in filter(None, map(_base, reports)):
        if address.source.startswith(base.rstrip("/") + "/"):
            return str(address._replace(source=_below(address.source, base)))
    return str(address)


def origins_of(block: Block, reports: list[SourceReport]) -> Iterator[Origin]:
    """Where the documents that end in a block came from."""
    for number in range(len(block.ends)):
        address = block.address(number, 0)
        source = address_entry(address, reports).removesuffix(str(address)[len(address.source) :])
        yield Origin(source, address.document + (address.noun == "document"))


def _base(report: SourceReport) -> str:
    """The part of a source's paths that depends on the machine."""
    return os.path.dirname(literal_root(report.name)) if os.path.isabs(report.name) else ""


def _below(path: str, base: str) -> str:
    return os.path.relpath(path, base) if base else path
