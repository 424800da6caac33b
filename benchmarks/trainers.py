"""How each library is called to train, at its fastest, from a file on disk to merges in memory.

`TRAINERS` holds one Trainer a library. Its `prepare` imports the library and returns two functions: what the clock
sees, and what makes the learned tokens of that (bytes, in the order learned, without the 256 bytes).

No library can be given every rule, so each says which it follows: `ties` ("lowest" and "huggingface" are the rules that
fastbpe knows by these names) and `documents` (documents.WAYS). The sequence of tokens says as much as the merges: the
pieces of a stretch that no later merge leaves do not depend on what stands around it, so no two merges make the same
token, and what came before says which two pieces a token is made of.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from documents import documents

Run = Callable[[], Any]
Tokens = Callable[[Any], list[bytes] | None]
Prepared = tuple[Run, Tokens]


@dataclass(frozen=True)
class Job:
    corpus: Path
    vocab_size: int
    pattern: str
    """The name of a pattern of fastbpe's."""
    threads: int
    ties: str | None
    documents: str
    phases: dict[str, float] = field(default_factory=dict)
    """Filled by those that know: seconds of each phase."""

    @cached_property
    def pattern_text(self) -> str:
        from fastbpe.pattern.named import NAMED

        text = NAMED[self.pattern]
        return r"(?s:.+)" if text is None else text

    def texts(self) -> Iterable[str]:
        return documents(self.corpus, self.documents)


@dataclass(frozen=True)
class Trainer:
    package: str
    prepare: Callable[[Job], Prepared]
    ties: str | None = None
    """None: another algorithm, whose tokens cannot be compared."""
    documents: str = "pieces"
    any_pattern: bool = True
    phases: tuple[tuple[str, str], ...] = ()
    """(phase, regular expression for its seconds, with a unit, in what the library prints)."""


def fastbpe(job: Job) -> Prepared:
    import fastbpe

    train = fastbpe.train  # names are loaded when first asked for

    def on_event(event: Any) -> None:
        if event.finished:
            job.phases[event.phase] = event.seconds

    def run() -> Any:
        source: Any = job.corpus
        if job.documents == "lines":
            source = fastbpe.files(job.corpus, lines=True)
        elif job.documents == "pieces":
            source = job.texts()
        return train(
            source,
            job.vocab_size,
            pattern=job.pattern,
            tie_break=job.ties,
            threads=job.threads,
            progress=on_event,
        )

    return run, lambda tokenizer: tokenizer.model.tokens[256:]


def huggingface(job: Job) -> Prepared:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=job.pattern == "gpt2")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = byte_level
    if job.pattern not in ("gpt2", "none"):
        from fastbpe.pattern.spelling import oniguruma

        spelling = oniguruma(job.pattern_text)
        if spelling.text is None:
            raise ValueError(f"pattern {job.pattern}: {spelling.reason}")
        split = pre_tokenizers.Split(Regex(spelling.text), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=job.vocab_size,
        min_frequency=2,
        show_progress=False,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )

    def tokens(_: None) -> list[bytes]:
        return _joined(json.loads(tokenizer.to_str())["model"]["merges"])

    return lambda: tokenizer.train_from_iterator(job.texts(), trainer), tokens


def rustbpe(job: Job) -> Prepared:
    import rustbpe

    tokenizer, pattern = rustbpe.Tokenizer(), job.pattern_text

    def run() -> None:
        tokenizer.train_from_iterator(job.texts(), job.vocab_size, pattern=pattern)

    return run, lambda _: _by_rank((bytes(token), rank) for token, rank in tokenizer.get_mergeable_ranks())


def bpeasy(job: Job) -> Prepared:
    import bpeasy

    pattern, longest_token = job.pattern_text, 1 << 20

    def run() -> dict[bytes, int]:
        return bpeasy.train_bpe(iter(job.texts()), pattern, longest_token, job.vocab_size)

    return run, lambda ranks: _by_rank(ranks.items())


def gigatoken(job: Job) -> Prepared:
    import gigatoken

    return (
        lambda: gigatoken.train_bpe(gigatoken.TextFileSource([str(job.corpus)]), job.vocab_size, []),
        lambda learned: [bytes(left) + bytes(right) for left, right in learned[1]],
    )


def gigabpe(job: Job) -> Prepared:
    import gigabpe

    def run() -> tuple[dict[str, int], list[tuple[str, str]]]:
        return gigabpe.train_bpe(
            [str(job.corpus)],
            job.vocab_size,
            special_tokens=[],
            min_frequency=2,
            pretokenizer="bytelevel",
            threads=job.threads,
        )

    # Bytes that the corpus lacks get no id there, so it learns a few merges more: those are left out.
    return run, lambda learned: _joined(learned[1])[: job.vocab_size - 256]


def ffbpe(job: Job) -> Prepared:
    import time

    import ffbpe

    pattern = None if job.pattern == "gpt2" else job.pattern_text

    def run() -> Any:
        started = time.perf_counter()
        counter = ffbpe.PreTokenizer([], pat_str=pattern).word_counter()
        counter.add_source(job.texts())
        counted = time.perf_counter()
        trainer = ffbpe.BpeTrainer([], unit="byte", tie_break="smallest_pair_id", bigram_cutoff_freq=2)
        trainer.add_word_counter(counter)
        trainer.train(job.vocab_size)
        job.phases.update(count=counted - started, merge=time.perf_counter() - counted)
        return trainer

    return run, lambda trainer: _by_rank(trainer.vocab.items())


def sentencepiece(job: Job) -> Prepared:
    import io

    import sentencepiece

    def run() -> None:
        sentencepiece.SentencePieceTrainer.train(
            input=str(job.corpus),
            model_writer=io.BytesIO(),
            vocab_size=job.vocab_size,
            model_type="bpe",
            byte_fallback=True,
            num_threads=job.threads,
            max_sentence_length=1 << 20,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            hard_vocab_limit=False,
            minloglevel=2,
        )

    return run, lambda _: None


TRAINERS = {
    "fastbpe": Trainer("fastbpe-engine", fastbpe, ties="lowest", documents="file"),
    "gigabpe": Trainer(
        "gigabpe",
        gigabpe,
        ties="huggingface",
        documents="lines",
        any_pattern=False,
        phases=(("merge", r"phase2 merge loop: ([\d.]+)(\S+)"),),
    ),
    "gigatoken": Trainer(
        "gigatoken",
        gigatoken,
        ties="huggingface",
        documents="file",
        any_pattern=False,
        phases=(("count", r"Pretokenization took ([\d.]+)(\S+)"),),
    ),
    "ffbpe": Trainer("ffbpe", ffbpe, ties="lowest"),
    "rustbpe": Trainer("rustbpe", rustbpe, ties="lowest"),
    "bpeasy": Trainer("bpeasy", bpeasy, ties="lowest"),
    "tokenizers": Trainer("tokenizers", huggingface, ties="huggingface"),
    "sentencepiece": Trainer("sentencepiece", sentencepiece, documents="lines", any_pattern=False),
}

_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def phases_in(trainer: Trainer, printed: str) -> dict[str, float]:
    """Seconds of the phases that the library told of while it ran."""
    found = ((phase, re.search(expression, printed)) for phase, expression in trainer.phases)
    return {phase: float(match[1]) * _UNITS[match[2]] for phase, match in found if match}


def _by_rank(ranks: Iterable[tuple[bytes, int]]) -> list[bytes]:
    return [token for token, _ in sorted(ranks, key=lambda item: item[1])][256:]


def _joined(merges: Iterable[tuple[str, str]]) -> list[bytes]:
    from fastbpe.alphabet import from_characters

    return [from_characters(left + right) for left, right in merges]
