import re
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cuts import texts as texts_of_cuts

from fastbpe import cuts as cuts_module
from fastbpe.corpus.blocks import Block, Place
from fastbpe.kernels.special import SpecialTrie
from fastbpe.pattern.splitter import Splitter
from fastbpe.pipeline import stretches as module
from fastbpe.pipeline.policy import Policy
from fastbpe.pipeline.room import Room
from fastbpe.pipeline.stretches import Stretch, stretches
from fastbpe.tokenizer import Tokenizer

BOS, EOS, MARK, LONG_MARK = 1, 2, 3, 4
MARKS = [(b"<s>", MARK), (b"<s> <s>", LONG_MARK)]


class Lines:
    """A splitter whose chunks are lines, safe to cut after each newline that a byte follows."""

    cut_window = 1

    def last_cut(self, data, start: int, stop: int) -> int:
        found = bytes(data[start:stop]).rfind(b"\n", 0, stop - start - 1)
        return -1 if found < 0 else start + found + 1

    @staticmethod
    def chunks(text: bytes) -> list[bytes]:
        return re.findall(rb"[^\n]*\n|[^\n]+", text)


class Whole:
    """No pattern: nowhere is it safe to cut."""

    cut_window = 0

    def last_cut(self, data, start: int, stop: int) -> int:
        return -1

    @staticmethod
    def chunks(text: bytes) -> list[bytes]:
        return [text] if text else []


class Compiled(Splitter):
    def chunks(self, text: bytes) -> list[bytes]:
        ends = self.ends(text).tolist()
        return [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]


SPLITTERS = {"lines": Lines(), "whole": Whole(), "gpt2": Compiled("gpt2"), "cl100k": Compiled("cl100k")}


def blocks_of(documents: list[bytes], sizes: list[int]) -> Iterator[Block]:
    """Blocks of the given sizes, over and over; a document may go on through many of them."""
    data = np.frombuffer(b"".join(documents), np.uint8)
    ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
    at = done = turn = 0
    while done < len(ends):
        stop = min(len(data), at + sizes[turn % len(sizes)])
        # An end at a block's edge stands in this block or, with no byte of its own, in the next one.
        side = "right" if turn % 3 or stop == len(data) else "left"
        upto = max(done, int(np.searchsorted(ends, stop, side=side)))
        inside = ends[done:upto] - at
        n = len(inside) + (stop - at > (inside[-1] if len(inside) else 0))
        starts = np.array([max(at, int(ends[k - 1]) if k else 0) for k in range(done, done + n)], np.int64)
        yield Block(data[at:stop], inside, at, [Place(0, "text", done, starts)])
        at, done, turn = stop, upto, turn + 1


def naive(documents: list[bytes], splitter, marks, bos: int, eos: int) -> list[list[bytes | int]]:
    """For each document its chunks, and ids where something special stands."""
    found: list[list[bytes | int]] = []
    for document in documents:
        items: list[bytes | int] = [bos] if bos >= 0 else []
        pattern = b"(" + b"|".join(re.escape(mark) for mark, _ in reversed(marks)) + b")"
        for k, part in enumerate(re.split(pattern, document) if marks else [document]):
            items += [dict(marks)[part]] if k % 2 else splitter.chunks(part)
        found.append(items + ([eos] if eos >= 0 else []))
    return found


def collected(found: list[Stretch], splitter) -> list[list[bytes | int]]:
    """The same from stretches, whose spans must stand within their text."""
    documents: list[list[bytes | int]] = [[]]
    for stretch in found:
        data = stretch.data.tobytes()
        row = 0
        for upto in [*stretch.document_spans.tolist(), len(stretch.spans)]:
            for start, stop, text_end, id in stretch.spans[row:upto].tolist():
                assert 0 <= start <= stop <= stretch.stop
                if id >= 0:
                    documents[-1].append(id)
                    continue
                assert stop <= text_end <= len(data)
                chunks = splitter.chunks(data[start:text_end])
                sizes = np.cumsum([len(chunk) for chunk in chunks]).tolist()
                documents[-1] += chunks[: sizes.index(stop - start) + 1]
            row = upto
            documents.append([])
        documents.pop()
    assert documents.pop() == []
    return documents


letters = st.sampled_from(["a", "b", " ", "\n", "<s>", "<s> <s>", "<", "é", "。", "1", "'s", "  ", "\n\n", "aaaaaaaaa"])
texts = st.lists(letters, max_size=25).map(lambda parts: "".join(parts).encode())
documents = st.lists(texts, min_size=1, max_size=6)
block_sizes = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@pytest.mark.parametrize("name", SPLITTERS)
@given(documents, block_sizes, st.booleans(), st.sampled_from([(-1, -1), (BOS, -1), (-1, EOS), (BOS, EOS)]), st.data())
def test_stretches_hold_what_the_documents_hold(name, documents, sizes, special, around, data) -> None:
    splitter = SPLITTERS[name]
    marks = MARKS if special else []
    trie = SpecialTrie(marks) if special else None
    with patch.object(module, "HEAD_BYTES", data.draw(st.sampled_from([1, 3, 4096]))):
        found = list(stretches(blocks_of(documents, sizes), splitter, trie, *around))
    assert collected(found, splitter) == naive(documents, splitter, marks, *around)
    assert b"".join(stretch.data[: stretch.stop].tobytes() for stretch in found) == b"".join(documents)
    positions = np.cumsum([0] + [stretch.stop for stretch in found])[:-1]
    assert [stretch.position for stretch in found] == positions.tolist()
    ends = [stretch.position + end for stretch in found for end in stretch.ends.tolist()]
    assert ends == np.cumsum([len(document) for document in documents]).tolist()


# With special tokens inside words, and texts that would become special tokens.
raw_texts = st.one_of(texts_of_cuts, st.binary(max_size=20), texts)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "poetry", None])
@given(
    st.lists(raw_texts, min_size=1, max_size=4),
    block_sizes,
    st.sampled_from(["NFC", "NFKC"]),
    st.sampled_from([1, 8, 512]),
    st.sampled_from([(), ("<s>",), "all"]),
)
def test_normalized_stretches_encode_as_whole_documents(name, documents, sizes, form, look, allowed) -> None:
    merges = [(0xC3, 0xA9), (101, 256), (0xE6, 0x97), (258, 0xA5), (115, 62), (60, 260)]
    tokenizer = Tokenizer.from_merges(merges, pattern=name, special_tokens=["<s>", "\u212b<"], normalizer=form)
    policy = Policy.of(tokenizer, None, "append", None, allowed)
    with patch.object(module, "HEAD_BYTES", look), patch.object(cuts_module, "NORMALIZED_BYTES", look):
        found = list(
            stretches(
                blocks_of(documents, sizes), tokenizer.splitter, policy.allowed, uncut=policy.every, normalizer=form
            )
        )
    encoded: list[list[int]] = [[]]
    for stretch in found:
        ids, offsets = tokenizer.encode_spans(*stretch.normalized(form))
        bounds = offsets[stretch.document_spans].tolist()
        for start, stop in zip([0, *bounds], [*bounds, len(ids)], strict=False):
            encoded[-1] += ids[start:stop].tolist()
            encoded.append([])
        encoded.pop()
    assert encoded.pop() == []
    assert encoded == [tokenizer.encode(document, allowed) for document in documents]


def test_normalized_units_are_small() -> None:
    lines = [
        "caf\u00e9 au lait and more words\n",
        "\u767d\u65e5\u4f9d\u5c71\u76e1\uff0c\u9ec3\u6cb3\u5165\u6d77\u6d41\u3002\n",
        "e\u0301te\u0301\n",
        "plain\n",
    ]
    for line in lines:
        documents = [line.encode() * 20_000]
        for form in ("NFC", "NFKC"):
            found = list(stretches(blocks_of(documents, [1 << 16]), SPLITTERS["cl100k"], normalizer=form))
            assert max(len(stretch.data) for stretch in found) <= (1 << 16)
            assert sum(len(stretch.data) for stretch in found) < 1.1 * len(documents[0])


def test_most_of_a_block_is_not_copied() -> None:
    documents = [b"some words\n" * 100_000]
    blocks = list(blocks_of(documents, [1 << 16]))
    found = list(stretches(blocks, Lines()))
    assert (
        sum(any(np.shares_memory(stretch.data, block.data) for block in blocks) for stretch in found) >= len(blocks) - 1
    )
    copied = [stretch for stretch in found if not any(np.shares_memory(stretch.data, block.data) for block in blocks)]
    assert max(len(stretch.data) for stretch in copied) < 10_000


@pytest.mark.parametrize("document", [b"some words\n", b"a" * (module.LONG * 2 // 3)])
def test_texts_that_full_blocks_cut_need_no_room(document: bytes) -> None:
    documents = [document] * (4 * module.LONG // len(document))
    found = list(stretches(blocks_of(documents, [module.LONG]), Whole(), room=Room(0)))
    assert collected(found, Whole()) == naive(documents, Whole(), [], -1, -1)


def test_a_document_without_a_safe_place_is_one_unit() -> None:
    documents = [b"a" * 3_000_000, b"b\n" * 10]
    for splitter in (Lines(), SPLITTERS["cl100k"]):
        found = list(stretches(blocks_of(documents, [100_000]), splitter))
        assert found[0].stop == 3_000_000
        assert collected(found, splitter) == naive(documents, splitter, [], -1, -1)


@pytest.mark.parametrize("name", ["whole", "gpt2", "cl100k"])
@pytest.mark.parametrize("form", [None, "NFC"])
def test_a_document_is_cut_behind_special_tokens(name, form) -> None:
    document = "\u65e5".encode() * 9 + b"a<s>" * 200
    found = list(stretches(blocks_of([document], [64]), SPLITTERS[name], SpecialTrie(MARKS), normalizer=form))
    assert len(found) > 10 and max(stretch.stop for stretch in found) < 200
    if form is None:
        assert collected(found, SPLITTERS[name]) == naive([document], SPLITTERS[name], MARKS, -1, -1)


def test_no_document_is_cut_behind_a_special_token_that_stays_text() -> None:
    blocks = blocks_of([b"a<s>" * 200], [64])
    found = list(stretches(blocks, SPLITTERS["whole"], None, uncut=SpecialTrie(MARKS)))
    assert [stretch.stop for stretch in found] == [800]


def test_a_document_open_at_the_end_ends_there() -> None:
    block = Block(np.frombuffer(b"one\ntwo", np.uint8), np.array([1]), 0, [Place(0, "x", 0, np.array([0, 1]))])
    found = list(stretches([block], Lines()))
    assert collected(found, Lines()) == [[b"o"], [b"ne\n", b"two"]]


def test_addresses_lead_back_to_the_documents() -> None:
    documents = [b"one line\n" * 3, b"", b"another\n" * 50, b"x"]
    starts = np.cumsum([0] + [len(document) for document in documents])
    for sizes in ([7], [1], [100], [1000], [3, 50]):
        with patch.object(module, "HEAD_BYTES", 2):
            for stretch in stretches(blocks_of(documents, sizes), Lines()):
                for offset in range(stretch.stop):
                    position = stretch.position + offset
                    number = int(np.searchsorted(starts, position, side="right")) - 1
                    assert stretch.address(offset)[:3] == ("text", number, position)
