"""AL-1: a worked example of BPE on "low low lower lowest", with six special tokens before the bytes.

    python examples/al1.py

Byte b has the id 6 + b. Ties go to the pair met first. How it trains on Python source: corpora/python.
"""

from collections import Counter
from typing import Any

from printing import show

import fastbpe

TEXT = "low low lower lowest"
SPECIALS = ["<pad>", "<bos>", "<eos>", "<tool_call>", "</tool_call>", "<tool_result>"]


def trained(vocab_size: int) -> fastbpe.Tokenizer:
    return fastbpe.train(
        [TEXT],
        vocab_size,
        pattern="al1",
        special_tokens=SPECIALS,
        special_placement="first",
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        tie_break="first",
    )


def pair_counts() -> dict[str, int]:
    """Pairs of neighbours within the chunks; the others occur once each"""
    pairs: Counter[str] = Counter()
    for chunk, count in fastbpe.count_chunks([TEXT], pattern="al1").items():
        pairs.update({left + right: count for left, right in zip(chunk.decode(), chunk.decode()[1:], strict=False)})
    often = {pair: count for pair, count in pairs.most_common() if count > 1}
    return {**often, "others": max(count for pair, count in pairs.items() if pair not in often)}


def worked() -> dict[str, Any]:
    """Merges (left, right, id, count) and ids; of 280 ids training reaches 266, as the best pair left occurs once"""
    chunks = ["low", " low", " lower", " lowest"]
    only_bytes, tokenizer = trained(262), trained(280)
    counts = tokenizer.model.counts
    assert counts is not None
    return {
        "pretokens": tokenizer.splitter.split(TEXT),
        "byte_ids": {chunk: only_bytes.encode(chunk) for chunk in chunks},
        "merges": [
            [*pair, 262 + k, count]
            for k, (pair, count) in enumerate(zip(tokenizer.merges.tolist(), counts.tolist(), strict=True))
        ],
        "final_vocab": tokenizer.vocab_size,
        "encodings": {chunk: tokenizer.encode(chunk) for chunk in chunks},
        "lowest": tokenizer.encode("lowest"),
        "lowest_bos_eos": tokenizer.encode("lowest", add_bos=True, add_eos=True),
        "decoded": tokenizer.decode(tokenizer.encode("lowest", add_bos=True, add_eos=True), skip_special_tokens=True),
    }


def too_small() -> str:
    """A vocabulary below 256 bytes and the special tokens is an error"""
    try:
        trained(261)
    except fastbpe.ParameterError as error:
        return str(error)
    raise AssertionError("261 ids were accepted")


SECTIONS = {"002/pair_counts": pair_counts, "002/worked": worked, "002/floor": too_small}

if __name__ == "__main__":
    show(SECTIONS)
