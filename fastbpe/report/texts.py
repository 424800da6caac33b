"""The texts of a report: documents of a source in batches, all of them or a part that a bound on the bytes decides.

A part is, where the documents' sizes are known beforehand and there are several, a sample of whole documents by their
number (pipeline/sample.py); else, and where none is small enough, the text from the front, its last document cut at the
end of a character.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from fastbpe.corpus.blocks import Block
from fastbpe.corpus.sources import Corpus
from fastbpe.pipeline.progress import Progress
from fastbpe.pipeline.sample import Sample, sample_of

BATCH_BYTES = 8 << 20


class Text:
    """One source of a report. `part` says, once it has been read, which part of it was taken; None: all of it."""

    def __init__(self, source: Any, held_out: bool = False, name: str | None = None) -> None:
        self.corpus = source if isinstance(source, Corpus) else Corpus(source)
        self.held_out = held_out
        self.part: str | None = None
        self.of_bytes: int | None = None
        self._name = name

    @property
    def name(self) -> str:
        """As it was given; known when reading has begun."""
        return self._name or ", ".join(report.name for report in self.corpus.reports)

    def expected(self, max_bytes: int) -> int | None:
        """How many bytes will be read, if that can be known."""
        survey = self.corpus.survey()
        size = None if survey is None else survey.text_bytes
        return None if size is None else min(size, max_bytes)

    def batches(self, max_bytes: int, batch_bytes: int = BATCH_BYTES) -> Iterator[list[bytes]]:
        """The documents, in lists of about `batch_bytes`; of at most max_bytes in all."""
        documents, size, left = [], 0, max_bytes
        for document in self._documents(max_bytes):
            if len(document) > left:
                document = _cut(document, left)
                self.part = f"the first {max_bytes:,} bytes"
                if document:
                    documents.append(document)
                break
            left -= len(document)
            documents.append(document)
            size += len(document)
            if size >= batch_bytes:
                yield documents
                documents, size = [], 0
        if documents:
            yield documents

    def _documents(self, max_bytes: int) -> Iterator[bytes]:
        sample = self._sample(max_bytes)
        if sample is not None:
            self.part = f"a sample of its documents (seed {sample.seed}) of at most {max_bytes:,} bytes"
            nothing = True
            for document in _joined(sample.blocks(self.corpus.blocks()), max_bytes):
                nothing = False
                yield document
            again = self.corpus.again()
            if not nothing or again is None:
                return
            self.corpus, self.part = again, None  # each document is too big for a sample: the first one's beginning
        yield from _joined(self.corpus.blocks(), max_bytes)

    def _sample(self, max_bytes: int) -> Sample | None:
        """A sample where there is too much text of several documents, whose sizes are known."""
        survey = self.corpus.survey()
        if survey is None or survey.text_bytes is None:
            return None
        self.of_bytes = survey.text_bytes
        cut = self.corpus.options.plain
        if survey.text_bytes <= max_bytes or (survey.files == 1 and not cut):
            return None
        return sample_of(self.corpus, max_bytes, None, Progress())


def excerpts(documents: list[bytes], n: int = 3, size: int = 480) -> list[bytes]:
    """Up to n stretches of about `size` bytes that lie evenly in the documents, from the start of a line to the end of
    one where lines are short enough."""
    text = b"\n".join(document.rstrip(b"\n") for document in documents if document.strip())
    if len(text) <= n * size:
        return [text] if text else []
    found = []
    for k in range(n):
        start = k * (len(text) - size) // n
        line = text.find(b"\n", start, start + size)
        start = line + 1 if k and line >= 0 else start
        while k and start < len(text) and text[start] & 0xC0 == 0x80:
            start += 1
        stop = text.rfind(b"\n", start + size // 2, start + size)
        found.append(text[start:stop] if stop > start else _cut(text[start : start + size + 4], size))
    return [excerpt for excerpt in found if excerpt]


def _joined(blocks: Iterable[Block], max_bytes: int) -> Iterator[bytes]:
    """The documents of blocks, of the last one no more than is needed to know that it is longer than max_bytes."""
    begun: list[bytes] = []
    begun_bytes = 0
    for block in blocks:
        start = 0
        for end in block.ends.tolist():
            begun.append(block.data[start:end].tobytes())
            yield b"".join(begun)
            begun, begun_bytes, start = [], 0, end
        if start < len(block.data):
            begun.append(block.data[start:].tobytes())
            begun_bytes += len(begun[-1])
            if begun_bytes > max_bytes:
                break
    if begun:
        yield b"".join(begun)


def _cut(data: bytes, size: int) -> bytes:
    """At most `size` bytes of the data, not ending within a character."""
    if size < len(data):
        for back in range(min(4, size)):
            if data[size - back] & 0xC0 != 0x80:
                return data[: size - back]
    return data[:size]
