from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.special import SpecialTrie
from fastbpe.pattern.splitter import Splitter
from fastbpe.pieces import Batch, batches
from fastbpe.specials import Specials
from fastbpe.text import to_bytes

SPLITTERS = [Splitter("cl100k"), Splitter("gpt2"), Splitter(None), Splitter(r"\w\w+?\b|.|\s")]
SPECIALS = Specials(SpecialTrie([(b"<e>", 7), (b"<f>", 8)]), {}, bos=9, eos=7)
NORMALIZING = replace(SPECIALS, normalizer="NFKC")
CHARACTERS = "ab 1'\n é日😀\u0301\u0323ﬁ\uff1ce\uff1e\ud83d\ude00<ef>"
TEXTS = st.lists(
    st.text("ab 1'\n é日<ef>", max_size=60)
    | st.text(CHARACTERS, max_size=200)
    | st.lists(st.sampled_from(["<e>", "<f>", "<e", "a"])).map("".join)
    | st.binary(max_size=20),
    max_size=12,
)


def pieces(texts, specials, splitter, *more):
    """All pieces, as threads get them."""
    return [
        work.piece(specials) if isinstance(work, Batch) else work for work in batches(texts, specials, splitter, *more)
    ]


def chunks_of(data, spans, splitter):
    """[(bytes, id)] of what a kernel would work on."""
    found = []
    data = bytes(data)
    ends = splitter.span_ends(data, spans)
    given = iter([] if ends is None else ends.tolist())
    for start, stop, text_end, id in spans.tolist():
        if id >= 0:
            found.append((data[start:stop], id))
            continue
        if ends is None:
            cuts = (splitter.ends(data[start:text_end]) + start).tolist()
            cuts = [cut for cut in cuts if cut <= stop]
        else:
            cuts = []
            while not cuts or cuts[-1] < stop:
                cuts.append(next(given))
        assert cuts[-1] == stop
        found += [(data[a:b], -1) for a, b in zip([start, *cuts], cuts, strict=False)]
    return found


@given(TEXTS, st.sampled_from(SPLITTERS), st.integers(1, 40), st.sampled_from([Specials(), SPECIALS, NORMALIZING]))
def test_pieces_hold_the_same_chunks_as_the_texts(texts, splitter, piece_bytes, specials):
    expected, found, current = [], [], []
    for text in texts:
        data = to_bytes(text)
        expected.append(chunks_of(*specials.spans(data, np.array([len(data)]))[:2], splitter))
    for piece in pieces(texts, specials, splitter, piece_bytes):
        at = 0
        for end in piece.text_ends.tolist():
            found.append(current + chunks_of(piece.data, piece.spans[at:end], splitter))
            current, at = [], end
        current += chunks_of(piece.data, piece.spans[at:], splitter)
    assert found == expected and current == []


def test_sizes():
    splitter = Splitter("cl100k")
    sizes = [len(piece.data) for piece in pieces(["ab "] * 1000, Specials(), splitter, 100)]
    assert set(sizes[:-1]) == {102} and sum(sizes) == 3000
    parts = list(pieces(["ab " * 1000], Specials(), splitter, 100))
    places = [piece.data.ctypes.data for piece in parts]
    assert places == sorted(places) and places[-1] - places[0] < 3000  # where the text lies
    assert all(len(piece.data) <= 110 and (piece.spans[:, 1] - piece.spans[:, 0]).sum() <= 103 for piece in parts)
    assert [len(piece.text_ends) for piece in parts] == [0] * (len(parts) - 1) + [1]
    generated = pieces((text for text in ["ab "] * 1000), Specials(), splitter, 100)
    assert [len(piece.data) for piece in generated] == sizes
    (whole,) = pieces(["a" * 3000], Specials(), splitter, 100)
    assert whole.spans.tolist() == [[0, 3000, 3000, -1]] and whole.text_ends.tolist() == [1]
    assert list(pieces([], Specials(), splitter)) == []


@pytest.mark.parametrize("text", ["日本 " * 1000, "né " * 1000, "<e>" * 2000, "日<e>" * 1000])
def test_wide_texts_become_utf8_in_parts(text):
    for specials in (SPECIALS, NORMALIZING):
        parts = list(pieces([text], specials, Splitter("cl100k"), 100))
        assert len(parts) > 20 and max(len(piece.data) for piece in parts) < 300
    whole = list(pieces(["日" * 1000], Specials(), Splitter(None), 100))
    assert [len(piece.data) for piece in whole] == [3000]


def test_refused_tokens_say_where_they_stand():
    specials = Specials(SpecialTrie([(b"<e>", 7)]), {7: "<e>"}, bos=7)
    splitter = Splitter("cl100k")
    for texts, message in [
        (["a", "b<e>"], "byte 1 of text 1 and"),
        (["a", "b" * 50 + "<e>"], "byte 50 of text 1 and"),
        (["a", "日 " * 500 + "<e>" * 500], "byte 2000 of text 1 and"),
        (["a " * 50 + "<e", "b<e>"], "byte 1 of text 1 and"),
    ]:
        with pytest.raises(DataError, match=message):
            list(pieces(texts, specials, splitter, 20))
    with pytest.raises(DataError, match="byte 0 and"):
        specials.spans(b"<e>", np.array([3]))


def test_what_is_no_text_is_refused():
    with pytest.raises(ParameterError):
        list(pieces(["a", 3], Specials(), Splitter(None)))
