"""The split kernel against a plain walk over the same tables; the checks at its door."""

import random

import numpy as np
import pattern_strategies as nasty
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.split import SplitTable, split_ends, split_last_cut
from fastbpe.pattern.automaton import compile_pattern
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.parser import parse
from fastbpe.pattern.program import DEAD
from fastbpe.pattern.tables import kernel_tables

PATTERNS = [
    NAMED["gpt2"],
    NAMED["cl100k"],
    NAMED["llama3"],
    NAMED["o200k"],
    r"\w+",
    r"a+b|a|\p{Han}{2}",
    r"[^a]|a*b",
    r"\s+(?!\S)|\p{N}{3}",
]
AUTOMATA = {pattern: compile_pattern(parse(pattern)) for pattern in PATTERNS}
TABLES = {pattern: SplitTable(*kernel_tables(automaton)) for pattern, automaton in AUTOMATA.items()}


def units(data):
    """(text of the unit or None for an invalid byte, its length) as Python's decoder sees them."""
    for c in data.decode("utf-8", "surrogateescape"):
        yield (None, 1) if "\udc80" <= c <= "\udcff" else (c, len(c.encode()))


def class_of(automaton, unit):
    if unit is None:
        return automaton.invalid_class
    return int(automaton.leaves[automaton.pages[ord(unit) >> 6], ord(unit) & 63])


def naive_ends(automaton, data, text_end=None):
    """Scans from every boundary anew, and takes the last place where the scan accepts."""
    text = data if text_end is None else data[:text_end]
    classes, places = [], [0]
    for unit, length in units(text):
        classes.append(class_of(automaton, unit))
        places.append(places[-1] + length)
    classes.append(automaton.n_classes)
    ends, at, stretch = [], 0, False
    while at < len(classes) - 1:
        state, accept = 0, None
        for i in range(at, len(classes)):
            if automaton.accept[state, classes[i]] or automaton.fresh[state, classes[i]]:
                accept = i
            if automaton.fresh[state, classes[i]] or automaton.next[state, classes[i]] == DEAD:
                break
            state = automaton.next[state, classes[i]]
        if accept is None:
            at, stretch = at + 1, True
            continue
        if stretch:
            ends.append(places[at])
        ends.append(places[accept])
        at, stretch = accept, False
    return ends + [places[-1]] * stretch


@given(st.sampled_from(PATTERNS), nasty.raw_texts(30))
def test_same_ends_as_a_plain_walk(pattern, data):
    assert split_ends(data, None, TABLES[pattern]).tolist() == naive_ends(AUTOMATA[pattern], data)


@given(st.sampled_from(PATTERNS), st.binary(max_size=40) | st.lists(st.integers(0x80, 0xFF)).map(bytes))
def test_invalid_bytes_are_one_unit_each(pattern, data):
    assert split_ends(data, None, TABLES[pattern]).tolist() == naive_ends(AUTOMATA[pattern], data)


EDGES = """
    C080 C1BF C27F C280 DFBF E09F80 E0A080 ECBFBF ED9FBF EDA080 EDBFBF EE8080 EFBFBF EFBFBE F08F8080 F0908080 F3BFBFBF
    F48FBFBF F4908080 F5808080 E0 E0A0 F0 F090 F09080 FF 80 BF C2 EFB790 F09FBFBE
""".split()  # noqa: SIM905


@pytest.mark.parametrize("sequence", EDGES)
def test_the_edges_of_utf8(sequence):
    raw = bytes.fromhex(sequence)
    one_unit = SplitTable(*kernel_tables(compile_pattern(parse(r"[\s\S]"))))
    letters = AUTOMATA[NAMED["gpt2"]]
    for data in (raw, raw + b"a", b"a" + raw, raw + raw, "é".encode() + raw + "中".encode(), raw[:-1] + b" b"):
        lengths = [length for _, length in units(data)]
        assert split_ends(data, None, one_unit).tolist() == np.cumsum(lengths, dtype=np.int64).tolist()
        assert split_ends(data, None, TABLES[NAMED["gpt2"]]).tolist() == naive_ends(letters, data)


@given(st.sampled_from(PATTERNS), st.lists(nasty.raw_texts(6), max_size=5))
def test_spans_are_texts_of_their_own(pattern, texts):
    data, rows, expected = b"", [], []
    for number, text in enumerate(texts):
        start = len(data)
        data += text
        rows.append((start, len(data), len(data), -1))
        expected += [start + end for end in naive_ends(AUTOMATA[pattern], text)]
        data += b"<s>"
        rows.append((len(data) - 3, len(data), 0, number))
    spans = np.array(rows, np.int64).reshape(-1, 4)
    assert split_ends(data, spans, TABLES[pattern]).tolist() == expected
    whole = [stop for start, stop, _, number in rows if number < 0 and start < stop]
    assert split_ends(data, spans, None).tolist() == whole


@given(st.sampled_from(PATTERNS), nasty.raw_texts(20), st.data())
def test_a_span_may_stop_at_a_boundary_before_the_text_ends(pattern, data, drawn):
    ends = naive_ends(AUTOMATA[pattern], data)
    stop = drawn.draw(st.sampled_from([0, *ends]))
    spans = np.array([[0, stop, len(data), -1]], np.int64)
    assert split_ends(data, spans, TABLES[pattern]).tolist() == [end for end in ends if end <= stop]


@given(st.sampled_from(PATTERNS), nasty.raw_texts(), nasty.raw_texts(), nasty.raw_texts())
def test_last_cut_holds_in_every_context(pattern, before, data, after):
    table = TABLES[pattern]
    cut = split_last_cut(before + data + after, len(before), len(before) + len(data), table)
    assert cut == -1 or len(before) < cut < len(before) + len(data)
    if cut >= 0:
        assert cut in naive_ends(AUTOMATA[pattern], before + data + after)
        assert cut - len(before) in naive_ends(AUTOMATA[pattern], data)


@pytest.mark.parametrize(
    ("text", "cut"),
    [("", -1), ("a", -1), ("a b", 1), ("some words here", 10), ("x = 1\n", 5), ("好，好", 6), (" ", -1), ("abéc", -1)],
)
def test_last_cut_by_hand(text, cut):
    data = text.encode()
    assert split_last_cut(data, 0, len(data), TABLES[NAMED["gpt2"]]) == cut


def test_last_cut_distrusts_what_is_cut_off():
    table = TABLES[NAMED["gpt2"]]
    data = b"ab " + "é".encode()
    assert split_last_cut(data, 0, 4, table) == 2
    assert split_last_cut(data, 2, 4, table) == -1
    assert split_last_cut(b"a\xff \xff", 0, 4, table) == -1


def test_long_texts_with_every_pattern():
    rng = random.Random(7)
    for pattern in PATTERNS:
        data = b"".join(nasty.raw_text(rng, 60) for _ in range(60))
        assert split_ends(data, None, TABLES[pattern]).tolist() == naive_ends(AUTOMATA[pattern], data)


def arguments(**changes):
    names = ("transitions", "ascii", "pages", "leaves", "invalid_class", "end_class", "cuts")
    return {**dict(zip(names, kernel_tables(AUTOMATA[NAMED["gpt2"]]), strict=True)), **changes}


def test_tables_are_checked():
    good = arguments()
    SplitTable(**good)
    stride = good["transitions"].shape[1]
    crooked, far, high = good["transitions"].copy(), good["transitions"].copy(), good["ascii"].copy()
    crooked[1, 0] = 1
    far[1, 0] = far.size
    high[5] = stride
    for changes in (
        {"transitions": good["transitions"].astype(np.int64)},
        {"transitions": good["transitions"].tolist()},
        {"transitions": good["transitions"][:1]},
        {"transitions": crooked},
        {"transitions": far},
        {"ascii": high},
        {"ascii": good["ascii"][:100]},
        {"pages": good["pages"][:-1]},
        {"pages": good["pages"] + len(good["leaves"])},
        {"leaves": good["leaves"][:, :32]},
        {"invalid_class": stride},
        {"invalid_class": -1},
        {"end_class": stride},
        {"end_class": 0},
        {"cuts": good["cuts"][1:]},
        {"cuts": good["cuts"].reshape(-1)},
        {"cuts": good["cuts"].astype(np.int8)},
    ):
        with pytest.raises(ValueError, match="split tables"):
            SplitTable(**arguments(**changes))


def test_tables_are_copies():
    mine = arguments()
    table = SplitTable(**mine)
    mine["transitions"][:] = 0
    assert split_ends(b"a b", None, table).tolist() == [1, 3]
    with pytest.raises(ValueError, match="read-only"):
        table.ascii[0] = 1


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 4, 4, -1]],
        [[-1, 2, 2, -1]],
        [[2, 1, 2, -1]],
        [[0, 2, 1, -1]],
        [[0, 2, 4, -1]],
        [[0, 2, 2, -1], [1, 3, 3, -1]],
        [[2, 3, 3, 5], [0, 1, 1, -1]],
    ],
)
def test_spans_are_checked(rows):
    with pytest.raises(ValueError, match="spans: row"):
        split_ends(b"abc", np.array(rows, np.int64), None)


def test_the_rest_of_the_door():
    assert split_ends(b"", None, None).tolist() == []
    assert split_ends(b"abc", None, None).tolist() == [3]
    assert split_ends(np.frombuffer(b"a b", np.uint8), None, TABLES[NAMED["gpt2"]]).dtype == np.int64
    for start, stop in ((-1, 2), (0, 4), (2, 1)):
        with pytest.raises(ValueError, match="last cut"):
            split_last_cut(b"abc", start, stop, TABLES[NAMED["gpt2"]])
    with pytest.raises(TypeError):
        split_last_cut(b"abc", 0, 3, None)
    with pytest.raises((TypeError, ValueError)):
        split_ends("abc", None, None)
