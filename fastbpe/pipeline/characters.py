"""Training a character tokenizer: the characters of a corpus, counted as chunks of one character each."""

from collections.abc import Sequence

from fastbpe import __version__
from fastbpe.characters import CharTokenizer
from fastbpe.corpus.sources import Corpus, Source
from fastbpe.errors import DataError, ParameterError
from fastbpe.model import CHARACTER_PATTERN, list_names
from fastbpe.pipeline.count import count_chunks
from fastbpe.pipeline.progress import ProgressLike


def train_characters(
    source: Source | Corpus,
    special_tokens: Sequence[str] = (),
    special_placement: str = "last",
    bos_token: str | None = None,
    eos_token: str | None = None,
    pad_token: str | None = None,
    min_frequency: int = 1,
    normalizer: str | None = None,
    errors: str = "strict",
    threads: int | None = None,
    progress: ProgressLike = None,
) -> CharTokenizer:
    """The tokenizer of the characters that occur at least min_frequency times in a source, by ascending code point.

    source, special_tokens, special_placement, the roles and normalizer are as in `fastbpe.train`. A byte that is not
    UTF-8 is no character: errors="strict" raises DataError with its place, "replace" puts U+FFFD there. The record
    holds the corpus totals. Raises ParameterError, and DataError when no character is left.
    """
    names = list_names(special_tokens, "special_tokens")
    if errors == "keep":
        raise ParameterError("errors='keep': a byte that is not UTF-8 is no character; choose strict or replace")
    if min_frequency < 1:
        raise ParameterError(f"min_frequency={min_frequency}: it must be at least 1, which keeps every character")
    counts = count_chunks(
        source,
        pattern=CHARACTER_PATTERN,
        special_tokens=names,
        normalizer=normalizer,
        errors=errors,
        threads=threads,
        progress=progress,
    )
    characters = sorted(chunk.decode() for chunk, count in counts.items() if count >= min_frequency)
    if not characters:
        raise DataError(
            f"the corpus has no character that occurs {min_frequency} times ({counts.corpus.documents} documents, "
            f"{counts.corpus.n_bytes} bytes): give more text, or a lower min_frequency"
        )
    return CharTokenizer.from_characters(
        characters,
        special_tokens=names,
        special_placement=special_placement,
        bos_token=bos_token,
        eos_token=eos_token,
        pad_token=pad_token,
        normalizer=counts.normalizer,
        record={
            "fastbpe": __version__,
            "parameters": {"min_frequency": min_frequency},
            "corpus": counts.facts(),
        },
    )
