"""Project 1: a byte-level BPE tokenizer built up in fourteen examples, each computed by fastbpe.

    python examples/project1.py

Ties go to the smallest pair of ids, special tokens come after the merges. Left out of what the walk-through prints:

- 000/ex10's look-ups of its scanning encoder and queue operations of its heap encoder: they describe its own program.
- 000/ex12's 1.23 bytes per token: the text that its 60 merges were learned from is not published.
- 000/qwen2_ids: ids out of the vocabularies of two published models, which are not in this repository.
"""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from java_random import JavaRandom
from printing import show

import fastbpe
from fastbpe.alphabet import BYTE_CHARACTERS, mark_words, to_characters
from fastbpe.formats import export
from fastbpe.merging import Merges

LOW = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"
CAT = "the cat sat on the mat. the dog sat on the log. the cat saw the dog. the dog saw the cat."
POOL = ["the", " cat", " dog", "public ", "static", "\n", "\t", "    ", "é", "e\u0301", "日本", "😀", "👨\u200d💻"]
POOL += ["{", "}", "0", "9", " "]
GREETER = (
    3
    * """\
public class Greeter {
    private final String name;
    public Greeter(String name) { this.name = name; }
    public String greet() { return "Hello, " + name + "!"; }
    public static void main(String[] args) {
        Greeter greeter = new Greeter("world");
        System.out.println(greeter.greet());
    }
}
The greeter prints a greeting. The class has a name and a method. The method returns the greeting.
"""
)


def trained(text: str, n_merges: int, pattern: str | None = None, **options: Any) -> tuple[fastbpe.Tokenizer, Merges]:
    """The tokenizer of a text, and the log of its merges: pairs, their counts, tokens left after each."""
    log: list[Merges] = []
    size = 256 + n_merges + len(options.get("special_tokens", ()))
    options = {"min_frequency": 1, **options}
    tokenizer = fastbpe.train([text], size, pattern=pattern, on_merges=log.append, **options)
    return tokenizer, log[0]


def pair_counts() -> dict[str, int]:
    """Pairs of neighbours in "aaabdaaabac", overlapping ones included"""
    text = "aaabdaaabac"
    counts = Counter(text[i : i + 2] for i in range(len(text) - 1))
    _, log = trained(text, 1)
    assert log.counts[0] == max(counts.values())  # what the engine merges first
    return {**dict(sorted(counts.items())), "total": counts.total()}


def merge_step() -> list[list[int]]:
    """One merge, (97, 97) to 256: from left to right, no position used twice"""
    tokenizer = fastbpe.Tokenizer.from_merges([(97, 97)], pattern=None)
    return tokenizer.encode_batch(["aaabdaaabac", "aaa"])


def ten_merges() -> list[list[Any]]:
    """Ten merges without pre-tokenization: left, right, id, token, count, tokens after"""
    tokenizer, log = trained(LOW, 10)
    rows = zip(tokenizer.merges.tolist(), log.counts.tolist(), log.tokens_after.tolist(), strict=True)
    return [
        [left, right, 256 + k, tokenizer.token_bytes(256 + k).decode(), count, after]
        for k, ((left, right), count, after) in enumerate(rows)
    ]


def encoding() -> list[list[int]]:
    """Encoding applies the merge of the lowest rank first: lowest, newer low, wider"""
    return trained(LOW, 10, min_frequency=2)[0].encode_batch(["lowest", "newer low", "wider"])


def decoding() -> dict[str, Any]:
    """Decoding joins the bytes first: one byte of the euro sign alone is U+FFFD, the three together are the sign"""
    tokenizer, _ = trained(LOW, 10)
    euro = list("€".encode())
    return {
        "text": tokenizer.decode([263, 101, 114, 261]),
        "single_bytes": [ord(tokenizer.decode([byte])) for byte in euro],
        "together": tokenizer.decode(euro),
    }


def pre_tokenization() -> dict[str, list[list[str]]]:
    """Chunks by three published patterns"""
    texts = ["Hello, world! It's 2026.", "x = 12345;\n    return x;"]
    return {name: [fastbpe.Splitter(name).split(text) for text in texts] for name in ("gpt2", "llama3", "qwen2")}


def merges_on_chunk_counts() -> dict[str, Any]:
    """Fourteen merges on the counts of distinct chunks"""
    counts = fastbpe.count_chunks([CAT], pattern="gpt2")
    tokenizer, log = trained(CAT, 14, "gpt2")
    tokens = [tokenizer.token_bytes(256 + k).decode() for k in range(14)]
    return {
        "chunks": counts.total,
        "distinct": len(counts),
        "merges": [list(row) for row in zip(tokens, log.counts.tolist(), strict=True)],
        "tokens_per_chunk": {chunk.decode(): tokenizer.count(chunk) for chunk, _ in sorted(counts.items())},
    }


def byte_to_unicode() -> dict[str, Any]:
    """Each byte as a printable character"""
    return {
        "entries": len(BYTE_CHARACTERS),
        "distinct": len(set(BYTE_CHARACTERS)),
        "code_points": [ord(BYTE_CHARACTERS[byte]) for byte in (9, 10, 32, 33, 65, 127, 173, 195, 255)],
        "visible": [to_characters(text.encode()) for text in (" world", "\n", " " * 8, " 😀", "世界")],
    }


def special_tokens() -> list[list[int]]:
    """Special tokens are cut out first; where they are not allowed they are plain bytes"""
    specials = {"<|im_start|>": 300, "<|im_end|>": 301, "<|endoftext|>": 302}
    tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, "none", special_tokens=specials)
    chat = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    return [tokenizer.encode(chat, allowed_special="all"), tokenizer.encode("<|im_end|>")]


def random_letters() -> list[list[int]]:
    """300 merges on 20,000 random letters: length of a new text, its tokens"""
    random = JavaRandom(7)

    def letters(n: int) -> str:
        return "".join("abcd"[random.next_int(4)] for _ in range(n))

    tokenizer, _ = trained(letters(20_000), 300)
    return [[n, tokenizer.count(letters(n))] for n in (200, 2_000, 20_000)]


def saved_file() -> dict[str, Any]:
    """The file of ex3's merges with one special token"""
    tokenizer, _ = trained(LOW, 10, special_tokens=["<|endoftext|>"])
    return {"file": exported(tokenizer), "vocab_size": tokenizer.vocab_size}


def exported(tokenizer: fastbpe.Tokenizer) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.txt"
        export(tokenizer, path, "bpe-v1")
        assert fastbpe.load(path, pattern=tokenizer.pattern or "none").merges.tolist() == tokenizer.merges.tolist()
        return path.read_text(encoding="utf-8")


def round_trip() -> dict[str, Any]:
    """2,000 random strings come back from their ids"""
    random = JavaRandom(2026)
    strings = []
    for _ in range(2_000):
        pieces = random.next_int(12)
        strings.append("".join(POOL[random.next_int(len(POOL))] for _ in range(pieces)))
    tokenizer, _ = trained("".join(strings), 60)
    decoded = tokenizer.decode_batch(tokenizer.encode_batch(strings))
    failures = sum(back != string for back, string in zip(decoded, strings, strict=True))
    return {"vocab": tokenizer.vocab_size, "failures": failures, "empty": tokenizer.encode("")}


def markers() -> dict[str, list[list[str]]]:
    """How three families mark words"""
    sentences = [[["Hello"], ["world"]], [["un", "happi", "ness"], ["token", "ization"]]]
    styles = {"bpe": "gpt2", "sentencepiece": "sentencepiece", "wordpiece": "wordpiece"}
    return {style: [mark_words(words, name) for words in sentences] for style, name in styles.items()}


def whole_tokenizer() -> dict[str, Any]:
    """The whole tokenizer, 340 ids"""
    tokenizer = fastbpe.train([GREETER], 340, pattern="gpt2", special_tokens=["<|endoftext|>", "<|im_end|>"])
    sample = 'public String greet() { return "Hello, " + name; }'
    texts = ["", " ", "\n\n", "café 日本 😀", "x = 12345;\n    return x;", "<|endoftext|>", "tabs\tand  spaces"]
    ids = tokenizer.encode(sample)
    decoded = tokenizer.decode_batch(tokenizer.encode_batch(texts))
    return {
        "vocab": tokenizer.vocab_size,
        "ids_256_263": [tokenizer.decode([id]) for id in range(256, 264)],
        "sample_tokens": len(ids),
        "sample_chars": len(sample),
        "decoded_equal": tokenizer.decode(ids) == sample,
        "chat_special": tokenizer.encode("Hello<|im_end|>", allowed_special="all"),
        "chat_plain_tokens": tokenizer.count("Hello<|im_end|>"),
        "count_sentence": tokenizer.count("The greeter prints a greeting."),
        "round_trip_failures": sum(back != text for back, text in zip(decoded, texts, strict=True)),
    }


SECTIONS = {
    "000/ex1": pair_counts,
    "000/ex2": merge_step,
    "000/ex3": ten_merges,
    "000/ex4": encoding,
    "000/ex5": decoding,
    "000/ex6": pre_tokenization,
    "000/ex7": merges_on_chunk_counts,
    "000/ex8": byte_to_unicode,
    "000/ex9": special_tokens,
    "000/ex10": random_letters,
    "000/ex11": saved_file,
    "000/ex12": round_trip,
    "000/ex13": markers,
    "000/ex14": whole_tokenizer,
}

if __name__ == "__main__":
    show(SECTIONS)
