"""A byte-level BPE training engine and batch encoder.

The names live in the modules below and are loaded when first asked for, so that `import fastbpe` costs next to nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "CharTokenizer": "characters",
    "ChunkCounts": "counts",
    "DataError": "errors",
    "DataWarning": "errors",
    "FastbpeError": "errors",
    "FormatError": "errors",
    "MemoryBoundError": "errors",
    "ParameterError": "errors",
    "PatternError": "errors",
    "Splitter": "pattern.splitter",
    "TokenShards": "shards",
    "Tokenizer": "tokenizer",
    "count_chunks": "pipeline.count",
    "encode_dataset": "pipeline.encode",
    "extend": "pipeline.extend",
    "documents": "corpus.sources",
    "files": "corpus.sources",
    "load": "formats",
    "train": "pipeline.train",
    "train_characters": "pipeline.characters",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'fastbpe' has no attribute {name!r}")
    value = getattr(import_module(f"fastbpe.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
