import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.kernels.utf8 import count_invalid, replace_invalid

# Bytes at the edges of what the decoder distinguishes, and runs of ASCII longer than a step.
edges = st.sampled_from(b"\x00\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff")
pieces = st.one_of(
    st.lists(edges, max_size=6).map(bytes),
    st.text(max_size=5).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.integers(1, 40).map(lambda n: b"a" * n),
    st.binary(max_size=6),
)
documents = st.lists(st.lists(pieces, max_size=8).map(b"".join), min_size=1, max_size=5)


def invalid(document: bytes, base: int) -> list[int]:
    """Positions of the bytes that the decoder refuses."""
    found, at = [], 0
    while at < len(document):
        try:
            document[at:].decode()
            break
        except UnicodeDecodeError as error:
            found.extend(range(base + at + error.start, base + at + error.end))
            at += error.end
    return found


def ends_of(texts: list[bytes]) -> np.ndarray:
    return np.cumsum([len(text) for text in texts], dtype=np.int64)


@given(documents)
def test_counts_what_python_refuses(texts: list[bytes]) -> None:
    ends = ends_of(texts)
    found = [at for text, end in zip(texts, ends, strict=True) for at in invalid(text, int(end) - len(text))]
    assert count_invalid(b"".join(texts), ends) == (len(found), found[0] if found else -1)


@given(documents)
def test_replaces_as_python_does(texts: list[bytes]) -> None:
    expected = [text.decode("utf-8", "replace").encode() for text in texts]
    data, ends = replace_invalid(b"".join(texts), ends_of(texts))
    assert data.tobytes() == b"".join(expected)
    assert ends.tolist() == ends_of(expected).tolist()


def test_every_sequence_of_two_bytes_and_a_tail() -> None:
    for first in range(256):
        for second in b"\x00\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xff":
            for tail in (b"", b"\x80", b"\x80\x80", b"\xbfa"):
                text = bytes((first, second)) + tail
                ends = np.array([len(text)])
                assert replace_invalid(text, ends)[0].tobytes() == text.decode("utf-8", "replace").encode()
                assert count_invalid(text, ends)[0] == len(invalid(text, 0))


def test_no_documents() -> None:
    assert count_invalid(b"", np.empty(0, np.int64)) == (0, -1)
    data, ends = replace_invalid(b"", np.array([0, 0]))
    assert data.tobytes() == b"" and ends.tolist() == [0, 0]


@pytest.mark.parametrize("ends", [[], [1], [3], [2, 1, 2], [-1, 2]])
@pytest.mark.parametrize("function", [count_invalid, replace_invalid])
def test_ends_that_do_not_fill_the_data_are_refused(function, ends: list[int]) -> None:
    with pytest.raises(ValueError, match="ends"):
        function(b"ab", np.array(ends, np.int64))
