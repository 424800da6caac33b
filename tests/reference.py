"""The whole algorithm in plain Python, short enough to check by eye. Every kernel is held against it.

Slow on purpose: each merge recounts every pair. Nothing here comes from the package.
"""

import regex


def gpt2_order():
    """The 256 bytes in the order of their GPT-2 characters: printable Latin-1 stands for itself, the rest follows."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return printable + [byte for byte in range(256) if byte not in printable]


def split(text, pattern):
    """The chunks of a str as bytes; pattern None: the whole text is one chunk."""
    found = [text] if pattern is None else [match.group() for match in regex.finditer(pattern, text)]
    return [chunk.encode() for chunk in found if chunk]


def count_chunks(documents, pattern):
    """{chunk: count} in order of first appearance."""
    counts = {}
    for document in documents:
        for chunk in split(document, pattern):
            counts[chunk] = counts.get(chunk, 0) + 1
    return counts


def pair_counts(words):
    """{pair: count} over all adjacent positions, overlapping ones included, in order of first occurrence."""
    counts = {}
    for ids, weight in words:
        for pair in zip(ids, ids[1:], strict=False):
            counts[pair] = counts.get(pair, 0) + weight
    return counts


def replace(ids, pair, new_id):
    """Every occurrence of the pair, left to right and without overlap, becomes new_id."""
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def train(chunk_counts, n_merges, min_frequency=2, max_token_length=None, tie_break="lowest"):
    """Learns merges on {chunk: count}: a list of (left, right, count, tokens after it), and why it stopped.

    Bytes are 0..255, merge k is 256 + k. Stop reasons: vocab_size, min_frequency, max_token_length.
    """
    words = [(list(chunk), weight) for chunk, weight in chunk_counts.items()]
    length = {byte: 1 for byte in range(256)}
    order = {byte: byte for byte in range(256)}
    if tie_break == "huggingface":
        order = {byte: place for place, byte in enumerate(gpt2_order())}
    merges = []
    while len(merges) < n_merges:
        counts = {pair: n for pair, n in pair_counts(words).items() if n >= max(min_frequency, 1)}
        if not counts:
            return merges, "min_frequency"
        if max_token_length is not None:
            counts = {(a, b): n for (a, b), n in counts.items() if length[a] + length[b] <= max_token_length}
            if not counts:
                return merges, "max_token_length"
        top = max(counts.values())
        tied = [pair for pair, n in counts.items() if n == top]  # in order of first occurrence
        best = tied[0] if tie_break == "first" else min(tied, key=lambda pair: (order[pair[0]], order[pair[1]]))
        new_id = 256 + len(merges)
        order[new_id], length[new_id] = new_id, length[best[0]] + length[best[1]]
        words = [(replace(ids, best, new_id), weight) for ids, weight in words]
        merges.append((*best, top, sum(len(ids) * weight for ids, weight in words)))
    return merges, "vocab_size"


def encode_chunk(chunk, merges):
    """Ids of one chunk by a merge list [(left, right), ..]: lowest rank first, then leftmost."""
    ranks = {(left, right): rank for rank, (left, right) in enumerate(merges)}
    ids = list(chunk)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(zip(ids, ids[1:], strict=False)) if pair in ranks]
        if not found:
            return ids
        rank, i = min(found)
        ids[i : i + 2] = [256 + rank]


def encode(text, merges, pattern):
    """Ids of a str: its chunks' ids one after the other."""
    return [i for chunk in split(text, pattern) for i in encode_chunk(chunk, merges)]


def token_bytes(merges):
    """{id: bytes} of the bytes and the merges."""
    tokens = {byte: bytes([byte]) for byte in range(256)}
    for k, (left, right) in enumerate(merges):
        tokens[256 + k] = tokens[left] + tokens[right]
    return tokens


def decode(ids, merges):
    """The bytes that the ids stand for."""
    tokens = token_bytes(merges)
    return b"".join(tokens[i] for i in ids)


def encode_chunk_by_ranks(chunk, ranks, whole_chunk_first=True):
    """Ids of one chunk by a rank table {bytes: id}: two tokens may merge when their joined bytes are a token, the
    lowest id first, then leftmost."""
    if whole_chunk_first and chunk in ranks:
        return [ranks[chunk]]
    tokens = [chunk[i : i + 1] for i in range(len(chunk))]
    while True:
        joined = [(ranks[a + b], i) for i, (a, b) in enumerate(zip(tokens, tokens[1:], strict=False)) if a + b in ranks]
        if not joined:
            return [ranks[token] for token in tokens]
        _, i = min(joined)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
