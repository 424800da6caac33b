"""A megabyte of one thing: nothing is quadratic, nothing recurses, every byte comes back."""

import random

import pytest

from fastbpe.pipeline.train import train
from fastbpe.tokenizer import Tokenizer

MEGABYTE = 1_000_000
TEXTS = {
    "one letter": b"a" * MEGABYTE,
    "spaces": b" " * MEGABYTE,
    "newlines": b"\n" * MEGABYTE,
    "letters without a space": bytes(random.Random(1).choices(range(97, 123), k=MEGABYTE)),
    "an emoji": "😀".encode() * (MEGABYTE // 4),
    "digits": b"1234567890" * (MEGABYTE // 10),
    "no UTF-8": bytes(random.Random(2).randbytes(MEGABYTE)),
}
PATTERNS = ["cl100k", "gpt2", "poetry", None]


@pytest.fixture(scope="module", params=PATTERNS, ids=str)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """Trained on a little of each text, so that the long ones take many merges."""
    return train([text[:20_000] for text in TEXTS.values()], 1000, pattern=request.param)


@pytest.mark.parametrize("name", TEXTS)
def test_round_trip(tokenizer: Tokenizer, name: str) -> None:
    text = TEXTS[name]
    ids = tokenizer.encode_to_numpy(text)
    assert tokenizer.decode_bytes(ids) == text
    assert len(ids) <= len(text)


def test_a_run_takes_the_longest_tokens() -> None:
    merges = [(97, 97), *((256 + k, 256 + k) for k in range(9))]
    tokenizer = Tokenizer.from_merges(merges, pattern=None)
    ids = tokenizer.encode_to_numpy(b"a" * (1024 * 900 + 5))
    assert ids.tolist() == [265] * 900 + [257, 97]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("name", ["one letter", "letters without a space"])
def test_training_on_one_long_chunk(name: str, pattern: str | None) -> None:
    tokenizer = train([TEXTS[name]], 400, pattern=pattern, tie_break="first")
    assert tokenizer.vocab_size > 256
    assert tokenizer.decode_bytes(tokenizer.encode(TEXTS[name][:5000])) == TEXTS[name][:5000]
