import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.shards.packing import RowPacker, RowState, document_starts, padding_mask

PAD = 0
lengths_of_documents = st.lists(st.integers(0, 9), max_size=12)


def naive(lengths, row):
    """Tokens in rows, where each document lies, and how many are longer than a row; tokens of document i are i + 1."""
    tokens, places, longer = [], [], 0
    for number, length in enumerate(lengths, 1):
        room = -len(tokens) % row
        if length > room and room:
            tokens += [PAD] * room
        longer += length > row
        places.append((len(tokens), len(tokens) + length))
        tokens += [number] * length
    return tokens + [PAD] * (-len(tokens) % row), places, longer


def packed(lengths, row, cuts):
    """The same by a RowPacker, the tokens cut anywhere, each cut with a new packer that takes over the state."""
    tokens = np.repeat(np.arange(1, len(lengths) + 1, dtype=np.uint16), lengths)
    ends = np.cumsum([0, *lengths])[1:]
    packer = RowPacker(row, PAD)
    made, found, base, used = [], [], 0, 0
    bounds = sorted({0, *(min(cut, len(tokens)) for cut in cuts), len(tokens)})
    for start, stop in zip(bounds, bounds[1:] or [0], strict=False):
        upto = len(ends) if stop == len(tokens) else int(np.searchsorted(ends, stop, side="right"))
        part, part_ends = packer.take(tokens[start:stop], ends[used:upto] - start)
        made += part.tolist()
        found += (part_ends + base).tolist()
        base, used = base + len(part), upto
        after = RowPacker(row, PAD)
        state = json.loads(json.dumps(packer.state().as_json()))
        after.restore(RowState.from_json(state), np.dtype(np.uint16))
        packer = after
    rest = packer.rest(np.dtype(np.uint16))
    assert rest.dtype == np.uint16
    return made + rest.tolist(), found, packer


@given(lengths_of_documents, st.integers(1, 8), st.lists(st.integers(0, 60), max_size=5))
def test_rows_of_whole_documents(lengths, row, cuts):
    tokens, places, longer = naive(lengths, row)
    made, ends, packer = packed(lengths, row, cuts)
    assert (made, ends) == (tokens, [end for _, end in places])
    assert (packer.padding, packer.longer) == (tokens.count(PAD), longer)
    for start, end in places:
        assert end - start > row or start // row == max(start, end - 1) // row, "a document that fits crosses no row"
        assert end - start <= row or start % row == 0


@given(lengths_of_documents, st.integers(1, 8), st.integers(0, 40), st.integers(0, 40))
def test_ends_tell_where_documents_start(lengths, row, at, n):
    tokens, places, _ = naive(lengths, row)
    starts, ends = (np.array(column, np.int64) for column in ([a for a, _ in places], [b for _, b in places]))
    assert document_starts(ends, 0, row).tolist() == starts.tolist()
    n = max(0, min(n, len(tokens) - at))
    assert padding_mask(starts, ends, at, n).tolist() == [token == PAD for token in tokens[at : at + n]]
    assert document_starts(ends, 5, None).tolist() == [5, *ends[:-1].tolist()][: len(ends)]


@pytest.mark.parametrize(("lengths", "expected"), [([3, 3], 8), ([5], 8), ([9, 3], 12), ([4, 0, 4], 8), ([], 0)])
def test_how_many_rows(lengths, expected):
    assert len(packed(lengths, 4, [])[0]) == expected
