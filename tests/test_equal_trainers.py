"""Training against Hugging Face's BpeTrainer: the same merges in the same order, for both rules that decide by ids.

Hugging Face's ids follow the characters that stand for the bytes. With GPT-2's characters that is the rule
"huggingface"; with characters in the order of the bytes it is "lowest".
"""

import json
import lzma
import os
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.alphabet import BYTE_CHARACTERS
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.spelling import oniguruma
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline.train import train

tokenizers = pytest.importorskip("tokenizers", reason="the trainer compared with is not installed")
# Its threads would make it print a warning in every process started later, whose output other tests read.
os.environ["TOKENIZERS_PARALLELISM"] = "false"

TANG = Path(__file__).parent / "data" / "tang" / "poems.txt.xz"
IN_BYTE_ORDER = [chr(0x4E00 + byte) for byte in range(256)]

letters = st.text("ab", max_size=30) | st.text("aab \n", max_size=60)
words = st.lists(st.sampled_from(["low", "lower", " newest", "wide", "  ", "\n", "'s", "12345", "!?"])).map("".join)
others = st.text("éßжα床前明月，。\u3000😀\u0301\u00a0", max_size=20)
corpora = st.lists(letters | words | others, max_size=8)
patterns = st.sampled_from(["gpt2", "cl100k"])


def huggingface_merges(
    documents: Iterable[str], pre_tokenizer: object, alphabet: Sequence[str], n_merges: int, min_frequency: int
) -> list[tuple[bytes, bytes]]:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        min_frequency=min_frequency,
        initial_alphabet=list(alphabet),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    byte_of = {character: byte for byte, character in enumerate(alphabet)}
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(bytes(map(byte_of.get, left)), bytes(map(byte_of.get, right))) for left, right in merges]


def by_gpt2_characters(
    documents: Iterable[str], pattern: str, n_merges: int, min_frequency: int
) -> list[tuple[bytes, bytes]]:
    """Hugging Face's own way, its engine of patterns included."""
    spelling = tokenizers.Regex(oniguruma(NAMED[pattern]).text)
    steps = [
        tokenizers.pre_tokenizers.Split(spelling, "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    pre_tokenizer = tokenizers.pre_tokenizers.Sequence(steps)
    return huggingface_merges(documents, pre_tokenizer, BYTE_CHARACTERS, n_merges, min_frequency)


def in_byte_order(
    documents: Iterable[str], pattern: str, n_merges: int, min_frequency: int
) -> list[tuple[bytes, bytes]]:
    """Hugging Face's merging of our chunks, each byte a character whose place is the byte."""
    split = Splitter(pattern).split
    chunks = (
        "\n".join("".join(IN_BYTE_ORDER[byte] for byte in chunk.encode()) for chunk in split(text))
        for text in documents
    )
    pre_tokenizer = tokenizers.pre_tokenizers.CharDelimiterSplit("\n")
    return huggingface_merges(chunks, pre_tokenizer, IN_BYTE_ORDER, n_merges, min_frequency)


PEERS = {"huggingface": by_gpt2_characters, "lowest": in_byte_order}
ties = pytest.mark.parametrize("tie_break", PEERS)


def our_merges(
    documents: Iterable[str], pattern: str, n_merges: int, min_frequency: int, tie_break: str
) -> list[tuple[bytes, bytes]]:
    learned = train(documents, 256 + n_merges, pattern=pattern, min_frequency=min_frequency, tie_break=tie_break)
    return [(learned.token_bytes(left), learned.token_bytes(right)) for left, right in learned.merges]


@ties
@given(corpora, patterns, st.integers(0, 60), st.integers(1, 3))
def test_equal_on_made_up_text(
    tie_break: str, documents: list[str], pattern: str, n_merges: int, min_frequency: int
) -> None:
    if not any(documents):
        documents = ["a"]  # training on nothing is refused here
    ours = our_merges(documents, pattern, n_merges, min_frequency, tie_break)
    assert ours == PEERS[tie_break](documents, pattern, n_merges, min_frequency)


@ties
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
@pytest.mark.parametrize("corpus", ["python", "poems"])
def test_equal_on_real_text(corpus: str, pattern: str, tie_break: str) -> None:
    documents = python_sources() if corpus == "python" else poems()
    assert our_merges(documents, pattern, 1500, 2, tie_break) == PEERS[tie_break](documents, pattern, 1500, 2)


def python_sources(size: int = 600_000) -> list[str]:
    """Modules of the standard library, each a document."""
    found, total = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        with path.open(encoding="utf-8", newline="") as file:
            found.append(file.read())
        total += len(found[-1])
        if total > size:
            break
    return found


def poems(size: int = 300_000) -> list[str]:
    """One document; each poem a line."""
    with lzma.open(TANG) as file:
        return [file.read(size).decode(errors="ignore")]
