"""Tokenizer files: one module for each format, and `load`, which tells them apart by content."""

import os

from fastbpe.formats import own
from fastbpe.tokenizer import Tokenizer


def load(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of a file, told by its content. Raises FormatError for anything else."""
    return own.load(path)
