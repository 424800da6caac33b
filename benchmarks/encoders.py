"""How each library is called to encode, at its fastest, from documents in memory to ids in memory.

`ENCODERS` holds one Encoder a library. Its `prepare` imports the library, loads the vocabulary and returns two
functions: what the clock sees (a list of str to whatever the library gives), and what makes of that the ids, one
document after the other, and their offsets, one more than documents.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Encode = Callable[[list[str]], Any]
Flat = tuple[NDArray[np.uint32], NDArray[np.int64]]
Prepared = tuple[Encode, Callable[[Any], Flat]]


@dataclass(frozen=True)
class Vocabulary:
    name: str
    directory: Path | None
    """Made by prepare_vocabs.py: NAME.tiktoken and NAME.json."""

    def file(self, suffix: str) -> Path:
        if self.directory is None:
            raise ValueError("--vocabs says where the vocabularies are")
        return self.directory / f"{self.name}.{suffix}"

    def content(self) -> bytes:
        return self.file("tiktoken").read_bytes()


@dataclass(frozen=True)
class Encoder:
    package: str
    prepare: Callable[[Vocabulary, int, bool], Prepared]
    """Vocabulary, threads, whether there is one document only."""
    gives: str = "arrays"


def read_ranks(content: bytes) -> dict[bytes, int]:
    """The ranks in a .tiktoken file."""
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def published(name: str, content: bytes) -> dict[str, Any]:
    """What tiktoken.Encoding takes: the encoding as tiktoken defines it, with this file in place of the fetched one.

    ValueError when it is another file than the definition's.
    """
    import tiktoken_ext.openai_public as public

    def ranks(_: str, expected_hash: str) -> dict[bytes, int]:
        if hashlib.sha256(content).hexdigest() != expected_hash:
            raise ValueError(f"{name}: not the file that tiktoken publishes")
        return read_ranks(content)

    load = public.load_tiktoken_bpe
    public.load_tiktoken_bpe = ranks
    try:
        parameters: dict[str, Any] = public.ENCODING_CONSTRUCTORS[name]()
    finally:
        public.load_tiktoken_bpe = load
    return parameters


def fastbpe(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import fastbpe

    if Path(vocabulary.name).is_file():
        tokenizer = fastbpe.load(vocabulary.name)
    else:
        pattern = {"cl100k_base": "cl100k", "o200k_base": "o200k"}[vocabulary.name]
        tokenizer = fastbpe.Tokenizer.from_ranks(read_ranks(vocabulary.content()), pattern)
    tokenizer.encode("a")  # its tables are made when first needed: that is loading
    return lambda texts: tokenizer.encode_batch_to_numpy(texts, threads=threads), lambda raw: raw


def gigatoken(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import awkward
    import gigatoken

    tokenizer = gigatoken.Tokenizer.from_tiktoken(str(vocabulary.file("tiktoken")))
    if one:
        return lambda texts: tokenizer.encode(texts[0]), lambda raw: flat([np.asarray(raw)])

    def ids(raw: Any) -> Flat:
        return awkward.to_numpy(awkward.flatten(raw)), from_lengths(awkward.to_numpy(awkward.num(raw)))

    return lambda texts: tokenizer.encode_batch(texts, parallel=threads > 1), ids


def fastokens(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    from fastokens._native import Tokenizer  # the package's own wrapper gives lists

    return Tokenizer.from_file(str(vocabulary.file("json"))).encode_batch_flat, from_buffers


def snaptokens(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import snaptokens

    return snaptokens.Tokenizer.from_file(str(vocabulary.file("json"))).encode_batch_flat, from_buffers


def toktok(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import toktok

    tokenizer = toktok._encoding(vocabulary.name)  # comes with its own vocabularies; the public calls only count
    if one:
        return (
            lambda texts: tokenizer.encode_to_numpy(texts[0], disallowed_special=()),
            lambda raw: flat([raw]),
        )
    return lambda texts: tokenizer.encode_batch_to_numpy(texts, threads=threads), as_arrays


def quicktok(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import quicktok

    tokenizer = quicktok.get_encoding(vocabulary.name)  # comes with its own vocabularies
    return lambda texts: tokenizer.encode_batch(texts, threads=threads), as_arrays


def tiktoken(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    import tiktoken

    encoding = tiktoken.Encoding(**published(vocabulary.name, vocabulary.content()))
    if threads == 1 or one:
        return lambda texts: [encoding.encode_to_numpy(text, disallowed_special=()) for text in texts], flat
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads), flat


def huggingface(vocabulary: Vocabulary, threads: int, one: bool) -> Prepared:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(vocabulary.file("json")))

    def encode(texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return encode, flat


ENCODERS = {
    "fastbpe": Encoder("fastbpe-engine", fastbpe),
    "gigatoken": Encoder("gigatoken", gigatoken),
    "fastokens": Encoder("fastokens", fastokens),
    "toktok-rs": Encoder("toktok-rs", toktok),
    "snaptokens": Encoder("snaptokens", snaptokens),
    "quicktok-v1": Encoder("quicktok-v1", quicktok),
    "tiktoken": Encoder("tiktoken", tiktoken, gives="arrays (one thread), lists"),
    "tokenizers": Encoder("tokenizers", huggingface, gives="lists"),
}


def flat(raw: Iterable[Any]) -> Flat:
    """Of one sequence of ids for each document."""
    parts = [np.asarray(part, np.uint32) for part in raw]
    return np.concatenate([np.zeros(0, np.uint32), *parts]), from_lengths([len(part) for part in parts])


def from_lengths(lengths: Any) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def as_arrays(raw: tuple[Any, Any]) -> Flat:
    return np.asarray(raw[0]).astype(np.uint32), np.asarray(raw[1]).astype(np.int64)


def from_buffers(raw: tuple[bytes, bytes]) -> Flat:
    return np.frombuffer(raw[0], np.uint32), np.frombuffer(raw[1], np.uint64).astype(np.int64)
