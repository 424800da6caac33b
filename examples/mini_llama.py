"""Mini-LLaMA poetry: special tokens before the bytes, structured records, and a pattern that fuses punctuation.

    python examples/mini_llama.py

Left out of what the walk-through prints: its vocabulary of 276 ids and the merges in its encoded records, which come
from a text that is not published; the ids shown here are those that no merge touches. What the two patterns do to whole
corpora: corpora/classical.
"""

from collections import Counter
from typing import Any

from printing import show

import fastbpe

ROLES = ["<pad>", "<s>", "</s>", "<unk>"]
SPECIALS = [*ROLES, "<|title|>", "<|author|>", "<|dynasty|>", "<|content|>"]
RECORD = "<|title|>登鹳雀楼<|author|>王之涣<|dynasty|>唐<|content|>白日依山尽，黄河入海流。</s>"
MIXED = "从零手搓 Transformer 🚀 与 Tokenizer！"
COUPLET = "床前明月光，疑是地上霜。"
QUATRAIN = "朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不住，轻舟已过万重山。"
WORDS = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}


def bytes_only(special_tokens: list[str]) -> fastbpe.Tokenizer:
    """A tokenizer without merges."""
    return trained("白", 256 + len(special_tokens), special_tokens)


def trained(text: str, vocab_size: int, special_tokens: list[str]) -> fastbpe.Tokenizer:
    return fastbpe.train(
        [text],
        vocab_size,
        pattern="gpt2",
        special_tokens=special_tokens,
        special_placement="first",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        tie_break="first",
    )


def pair_counts() -> dict[str, int]:
    """Pairs of neighbours in low x 5, lower x 2, newest x 6, widest x 3: those that matter first"""
    pairs: Counter[str] = Counter()
    for word, count in WORDS.items():
        pairs.update({chr(left) + chr(right): count for left, right in zip(word, word[1:], strict=False)})
    return {pair: pairs[pair] for pair in ("es", "st", "lo", "ow")}


def first_merges() -> list[list[Any]]:
    """The first two merges: token, count"""
    tokenizer = fastbpe.train(fastbpe.ChunkCounts.from_dict(WORDS, pattern="none"), 258, tie_break="first")
    assert tokenizer.model.counts is not None
    return [[tokenizer.decode([256 + k]), int(tokenizer.model.counts[k])] for k in range(2)]


def ids() -> dict[str, int]:
    """Ids of special tokens and bytes, with four and with eight special tokens"""
    four, eight = bytes_only(ROLES), bytes_only(SPECIALS)
    return {
        "init4": four.vocab_size,
        "byte_base4": four.token_to_id(b"\0"),
        "init8": eight.vocab_size,
        "byte_base8": eight.token_to_id(b"\0"),
        **{name.strip("<|>"): id for name, id in eight.special_tokens.items() if "|" in name},
        "first_merge8": trained("白白", 265, SPECIALS).id_limit - 1,
    }


def classic_chunks() -> list[str]:
    """A couplet, split by GPT-2's pattern"""
    return fastbpe.Splitter("gpt2").split(COUPLET)


def fused_chunks() -> list[str]:
    """A couplet, split by the pattern that fuses Chinese punctuation"""
    return fastbpe.Splitter("poetry").split(COUPLET)


def penetration() -> list[str]:
    """What the pattern makes of a special token that is not cut out first"""
    return fastbpe.Splitter("gpt2").split("<|title|>")


def record() -> dict[str, Any]:
    """A structured record: its first ten ids, and its text without the special tokens"""
    tokenizer = bytes_only(SPECIALS)
    found = tokenizer.encode(RECORD, allowed_special="all")
    assert tokenizer.decode(found) == RECORD
    return {"first10": found[:10], "skip_specials": tokenizer.decode(found, skip_special_tokens=True)}


def mixed_text() -> dict[str, Any]:
    """Mixed text between bos and eos: first and last ids, and the text again"""
    tokenizer = bytes_only(SPECIALS)
    found = tokenizer.encode(MIXED, add_bos=True, add_eos=True)
    return {"head": found[:4], "tail": found[-4:], "round_trip": tokenizer.decode(found, skip_special_tokens=True)}


def quatrain() -> dict[str, int]:
    """A quatrain whose characters, alone and with their punctuation, are tokens: fused, and classic pattern"""
    marks = [QUATRAIN[i - 1 : i + 1] for i, character in enumerate(QUATRAIN) if character in "，。"]
    chunks = {**dict.fromkeys(map(str.encode, QUATRAIN), 100), **dict.fromkeys(map(str.encode, marks), 1)}
    counts = fastbpe.ChunkCounts.from_dict(chunks, pattern="none")
    learned = fastbpe.train(counts, 1000, min_frequency=1)
    fused, classic = (fastbpe.Tokenizer.from_merges(learned.merges, pattern=name) for name in ("poetry", "gpt2"))
    return {"chars": fused.count(QUATRAIN), "with_punct": classic.count(QUATRAIN)}


SECTIONS = {
    "004/pair_counts": pair_counts,
    "004/first_merges": first_merges,
    "004/ids": ids,
    "004/gpt2_chunks": classic_chunks,
    "004/fused_chunks": fused_chunks,
    "004/penetration": penetration,
    "004/meta": record,
    "004/mixed": mixed_text,
    "004/quatrain_tokens": quatrain,
}

if __name__ == "__main__":
    show(SECTIONS)
