"""Checks that fastbpe learns what other trainers learn, merge for merge, on real text.

    ~/peers/bin/python benchmarks/check_equality.py CORPUS... [--limit 20000000] [--vocab-size 8192]

For each corpus and pattern: tie_break="huggingface" against Hugging Face's BpeTrainer (train_from_iterator, with the
whole text as one document: its train(files) cuts at newlines, which is another corpus), and "lowest" against rustbpe.
The interpreter is that of an environment made by compare.py make-env.

Where two results part, a full recount of all pairs at that point, by the reference in tests/ and the regex module,
says which of the two took another pair than the rule asks for. The exit code is 1 then.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trainers import TRAINERS, Job

PEERS = {"huggingface": "tokenizers", "lowest": "rustbpe"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument("--limit", type=int, default=20_000_000, help="bytes taken of each; cut at a character")
    parser.add_argument("--vocab-size", type=int, default=8192)
    parser.add_argument("--patterns", nargs="+", default=["gpt2", "cl100k"])
    parser.add_argument("--ties", nargs="+", choices=PEERS, default=list(PEERS))
    arguments = parser.parse_args()
    parted = 0
    with tempfile.TemporaryDirectory() as directory:
        for corpus in arguments.corpora:
            text = Path(directory) / corpus.name
            with corpus.open("rb") as file:
                text.write_bytes(file.read(arguments.limit).decode("utf-8", "ignore").encode())
            for pattern in arguments.patterns:
                for ties in arguments.ties:
                    parted += not equal(text, arguments.vocab_size, pattern, ties)
    sys.exit(parted > 0)


def equal(corpus: Path, vocab_size: int, pattern: str, ties: str) -> bool:
    peer = PEERS[ties]
    ours, theirs = (learned(library, corpus, vocab_size, pattern, ties) for library in ("fastbpe", peer))
    same = next((n for n, pair in enumerate(zip(ours, theirs, strict=False)) if len(set(pair)) > 1), None)
    head = f"{corpus.name} ({corpus.stat().st_size:,} bytes), {pattern}, {ties}: "
    if same is None and len(ours) == len(theirs):
        print(f"{head}{len(ours):,} merges, all as {peer}'s", flush=True)
        return True
    same = min(len(ours), len(theirs)) if same is None else same
    print(f"{head}{same:,} merges as {peer}'s, then fastbpe {shown(ours[same:])}, {peer} {shown(theirs[same:])}")
    print(f"    {verdict(corpus, pattern, ties, ours[:same])}", flush=True)
    return False


def learned(library: str, corpus: Path, vocab_size: int, pattern: str, ties: str) -> list[bytes]:
    run, tokens = TRAINERS[library].prepare(Job(corpus, vocab_size, pattern, 2, ties, "file"))
    return tokens(run()) or []


def shown(rest: Sequence[bytes]) -> str:
    return f"{rest[0]!r}" if rest else "nothing"


def verdict(corpus: Path, pattern: str, ties: str, tokens: list[bytes]) -> str:
    """What the rule asks for after these merges."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import reference

    from fastbpe.pattern.named import NAMED

    counts = reference.count_chunks([corpus.read_text(encoding="utf-8")], NAMED[pattern])
    merges: list[tuple[int, int]] = []
    known = {bytes([byte]): byte for byte in range(256)}
    for token in tokens:
        merges.append(tuple(reference.encode_chunk(token, merges)))
        known[token] = 255 + len(merges)
    words = [(reference.encode_chunk(chunk, merges), count) for chunk, count in counts.items()]
    totals = reference.pair_counts(words)
    top = max(totals.values())
    names = reference.token_bytes(merges)
    tied = [f"{names[left]!r} + {names[right]!r}" for (left, right), count in totals.items() if count == top]
    return f"a full recount: {top:,} times {', '.join(tied)}; of several, {ties} decides"


if __name__ == "__main__":
    main()
