import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import ParameterError
from fastbpe.kernels.join import TextSources, Utf8Windows, batch_stop, join_texts, total_length
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


@given(TEXTS, st.data())
def test_windows_show_the_same_bytes(texts, data):
    for text in texts:
        expected, windows, position = to_bytes(text), Utf8Windows(text), 0
        window, ended = np.empty(0, np.uint8), False
        while not ended:
            kept = data.draw(st.integers(0, len(window)))
            more = data.draw(st.integers(1, 100) | st.just(1 << 62))
            position += len(window) - kept
            window, ended = windows.next(window[len(window) - kept :], more)
            assert window.dtype == np.uint8 and window.tobytes() == expected[position : position + len(window)]
            assert ended == (position + len(window) == len(expected))
            assert kept + more <= len(window) < kept + more + 64 or ended
        assert windows.next(window, 1)[0].tobytes() == window.tobytes()


def test_windows_lie_in_the_text_when_it_is_utf8():
    text = b"ab" * 1000
    windows = Utf8Windows(text)
    first, _ = windows.next(np.empty(0, np.uint8), 500)
    second, ended = windows.next(first[400:], 5000)
    assert np.shares_memory(second, np.frombuffer(text, np.uint8)) and ended and len(second) == 1600
    with pytest.raises(ValueError, match="read-only"):
        second[0] = 1
    array = Utf8Windows("".join(["ab"] * 1000)).next(np.empty(0, np.uint8), 5000)[0]
    assert array.tobytes() == text  # it outlives its text


def test_windows_refuse_what_they_cannot_show():
    windows = Utf8Windows("ab")
    with pytest.raises(ValueError, match="kept"):
        windows.next(np.empty(1, np.uint8), 1)
    with pytest.raises(ValueError, match="one byte"):
        windows.next(np.empty(0, np.uint8), 0)
    with pytest.raises(BufferError):
        memoryview(Utf8Windows("\u65e5"))
    with pytest.raises(ParameterError, match="int"):
        Utf8Windows(3)


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
