import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import token_bytes
from test_kernel_encode import invented, trained

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.tokens import TokenBytes, first_wrong_merge, tokens_of_merges


def arrays_of(tokens):
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    return np.frombuffer(b"".join(tokens), np.uint8), starts


def tokens_of(data, starts):
    return [data[start:stop].tobytes() for start, stop in zip(starts, starts[1:], strict=False)]


@given(trained() | invented())
def test_tokens_of_merges(merges):
    data, starts = tokens_of_merges(np.array(merges, np.int64).reshape(-1, 2))
    assert tokens_of(data, starts) == list(token_bytes(merges).values())


@pytest.mark.parametrize("pair", [(256, 97), (97, 256), (-1, 97), (97, 2**40)])
def test_a_merge_of_what_is_not_there_yet(pair):
    with pytest.raises(DataError, match=r"merges\[0\]"):
        tokens_of_merges(np.array([pair], np.int64))


def test_tokens_that_double_without_end():
    with pytest.raises(DataError, match=r"merges\[\d+\]: the tokens are longer"):
        tokens_of_merges(np.array([(97, 97)] + [(256 + k, 256 + k) for k in range(200)], np.int64))


@given(st.lists(st.text("ab", max_size=3).map(str.encode), min_size=1, max_size=8), st.data())
def test_first_wrong_merge(tokens, data):
    row = st.integers(0, len(tokens) - 1)
    rows = data.draw(st.lists(st.tuples(row, row, row), max_size=10))
    wrong = [k for k, (a, b, c) in enumerate(rows) if tokens[a] + tokens[b] != tokens[c]]
    found = first_wrong_merge(np.array(rows, np.int64).reshape(-1, 3), *arrays_of(tokens))
    assert found == (wrong[0] if wrong else -1)


def test_merges_of_nothing_make_nothing():
    assert first_wrong_merge(np.zeros((1, 3), np.int64), *arrays_of([b""])) == -1
    assert TokenBytes(np.zeros(1, np.int32), *arrays_of([b""])).join(np.zeros(2, np.uint32)) == b""


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20), st.data())
def test_join(tokens, data):
    ids = data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=30))
    skipped = data.draw(st.sets(st.sampled_from(range(len(tokens)))))
    index = np.array([-2 if row in skipped else row for row in range(len(tokens))], np.int32)
    joined = TokenBytes(index, *arrays_of(tokens)).join(np.array(ids, np.uint32))
    assert joined == b"".join(tokens[id] for id in ids if id not in skipped)


@pytest.mark.parametrize("unknown", [1, 2, 2**32 - 1])
def test_unknown_ids_are_named(unknown):
    with pytest.raises(DataError, match=f"id {unknown} at position 1"):
        TokenBytes(np.array([0, -1], np.int32), *arrays_of([b"a", b"b"])).join(np.array([0, unknown], np.uint32))


def test_bad_tables_are_refused():
    data = np.frombuffer(b"ab", np.uint8)
    for starts in ([0, 1], [1, 2], [0, 2, 1, 2], []):
        with pytest.raises(ParameterError):
            TokenBytes(np.array([0], np.int32), data, np.array(starts, np.int64))
    for row in (-3, 1):
        with pytest.raises(ParameterError):
            TokenBytes(np.array([row], np.int32), data, np.array([0, 2], np.int64))
        with pytest.raises(ParameterError):
            first_wrong_merge(np.array([[0, 0, row]], np.int64), data, np.array([0, 2], np.int64))
    with pytest.raises(ParameterError):
        first_wrong_merge(np.array([[0, 0]], np.int64), data, np.array([0, 2], np.int64))
    with pytest.raises(ParameterError):
        tokens_of_merges(np.array([[0, 0, 0]], np.int64))
