import numpy as np
import pytest

from fastbpe.corpus.sources import Corpus, files
from fastbpe.errors import DataError, FastbpeError, MemoryBoundError
from fastbpe.pipeline.encode import encode_dataset
from fastbpe.pipeline.encode_stretch import encode_stretch
from fastbpe.pipeline.stretches import stretches
from fastbpe.tokenizer import Tokenizer

DOCUMENTS = ["ab c", "", "caf\u0065\u0301 ab", "x"]


def stretches_of(tokenizer, documents=DOCUMENTS):
    normalizer = tokenizer.model.normalizer
    return list(stretches(Corpus(documents).blocks(), tokenizer.splitter, bos=-1, eos=-1, normalizer=normalizer))


@pytest.mark.parametrize("normalizer", [None, "NFC"])
def test_the_ids_of_the_documents(normalizer):
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2", normalizer=normalizer)
    (stretch,) = stretches_of(tokenizer)
    ids, offsets = encode_stretch(tokenizer, stretch)
    bounds = [0, *offsets[stretch.document_spans].tolist()]
    assert [ids[a:b].tolist() for a, b in zip(bounds, bounds[1:], strict=False)] == [
        tokenizer.encode(document) for document in DOCUMENTS
    ]


class Failing:
    """A tokenizer that fails at a byte."""

    def __init__(self, tokenizer, byte, error):
        self.model, self.whole, self.byte, self.error = tokenizer.model, tokenizer, byte, error

    def encode_spans(self, data, spans):
        if any(self.byte in bytes(data[start:end]) for start, end in np.asarray(spans)[:, :2]):
            raise self.error
        return self.whole.encode_spans(data, spans)


@pytest.mark.parametrize(
    ("error", "kind", "what"),
    [
        (
            RuntimeError("odd"),
            FastbpeError,
            r"documents given, document 2, byte 0: cannot be encoded \(RuntimeError: odd",
        ),
        (ValueError(), FastbpeError, r"document 2, byte 0: cannot be encoded \(ValueError\)"),
        (MemoryError(), MemoryBoundError, "document 0, byte 0: there is not enough memory"),
        (DataError("as it is"), DataError, "^as it is$"),
    ],
)
def test_errors_say_where(error, kind, what):
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    (stretch,) = stretches_of(tokenizer)
    with pytest.raises(kind, match=what):
        encode_stretch(Failing(tokenizer, 0xCC, error), stretch)


def test_an_error_in_a_thread_comes_out_with_its_address(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one|two|bad \x07 one|three")
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    failing = Failing(Tokenizer.from_merges([(97, 98)], pattern="gpt2"), 7, RuntimeError("odd"))
    monkeypatch.setattr(tokenizer, "encode_spans", failing.encode_spans)
    with pytest.raises(FastbpeError, match=r"a\.txt, document 2, byte 8: cannot be encoded \(RuntimeError: odd\)"):
        encode_dataset(tokenizer, files(tmp_path / "a.txt", separator="|"), tmp_path / "out", threads=2)
    assert not (tmp_path / "out").exists()
