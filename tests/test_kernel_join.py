import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.kernels.join import TextSources, Utf8, batch_stop, join_texts, total_length
from fastbpe.text import to_bytes

CHARACTERS = st.sampled_from("a\x7f\x80éÿĀ߿ࠀ日\uffff😀\U0010ffff\ud83d\ude00\udfff\ud800")
TEXTS = st.lists(
    st.text(CHARACTERS)
    | st.text("abé")
    | st.text("ab日", min_size=4)
    | st.text()
    | st.binary()
    | st.binary().map(bytearray)
)


@given(TEXTS, st.data())
def test_the_bytes_of_each_text(texts, data):
    start = data.draw(st.integers(0, len(texts)))
    stop = data.draw(st.integers(start, len(texts)))
    joined, ends = join_texts(texts, start, stop)
    expected = [to_bytes(text) for text in texts[start:stop]]
    assert type(joined) is bytes and joined == b"".join(expected)
    assert ends.dtype == np.int64 and ends.tolist() == np.cumsum([len(part) for part in expected]).tolist()


@given(TEXTS)
def test_one_text_as_a_buffer(texts):
    for text in texts:
        data = Utf8(text)
        view = memoryview(data)
        assert view.readonly and bytes(view) == to_bytes(text) and len(data) == len(view)


def test_a_buffer_outlives_its_text():
    array = np.frombuffer(Utf8("".join(["ab"] * 1000)), np.uint8)
    assert array.tobytes() == b"ab" * 1000


def test_lengths():
    assert total_length(["a日", b"bcd", bytearray(2), memoryview(b"x"), None]) == 8


@pytest.mark.parametrize(("kind", "value"), [(str, "a日"), (bytes, b"ab"), (bytearray, b"ab")])
def test_lengths_are_not_what_a_subclass_says(kind, value):
    class Lying(kind):
        def __len__(self):
            return 1 << 40

    assert total_length([Lying(value)]) == batch_stop([Lying(value)] * 2, 0, 4) == 2


@given(st.lists(st.integers(0, 30).map(lambda n: "x" * n), min_size=1), st.integers(1, 50))
def test_batches_are_as_short_as_they_may_be(texts, least):
    start = 0
    while start < len(texts):
        stop = batch_stop(texts, start, least)
        sizes = [len(text) for text in texts[start:stop]]
        assert stop > start and sum(sizes[:-1]) < least
        assert len(sizes) == 1 or max(sizes) < least
        assert stop == len(texts) or sum(sizes) >= least or len(texts[stop]) >= least
        start = stop


def test_what_is_no_text_or_no_range_is_refused():
    assert batch_stop(["a", 3, None], 0, 2) == 3
    with pytest.raises(ParameterError, match="int"):
        join_texts(["a", 3], 0, 2)
    for start, stop in [(1, 0), (0, 2), (-1, 1)]:
        with pytest.raises(IndexError):
            join_texts(["a"], start, stop)
        with pytest.raises(IndexError):
            TextSources(["a"], start, stop)
    with pytest.raises(ParameterError, match="int"):
        Utf8(3)
