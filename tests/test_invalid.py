import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_stretches import Lines, blocks_of

from fastbpe.errors import DataError, ParameterError
from fastbpe.pipeline.invalid import InvalidBytes, check_errors, invalid_in, replaced
from fastbpe.pipeline.stretches import stretches

pieces = st.sampled_from(
    [b"a", b"\n", b"\xc3", b"\xa9", b"\xe4\xb8", b"\xad", b"\xf0\x9f\x98", b"\x80", b"\xff", "中".encode()]
)
documents = st.lists(st.lists(pieces, max_size=12).map(b"".join), min_size=1, max_size=5)
block_sizes = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def first_and_count(documents: list[bytes]) -> tuple[int | None, int]:
    first, count, base = None, 0, 0
    for document in documents:
        at = 0
        while at < len(document):
            try:
                document[at:].decode()
                break
            except UnicodeDecodeError as error:
                first = base + at + error.start if first is None else first
                count += error.end - error.start
                at += error.end
        base += len(document)
    return first, count


@given(documents, block_sizes)
def test_what_is_replaced_does_not_depend_on_the_blocks(documents: list[bytes], sizes: list[int]) -> None:
    found = InvalidBytes()
    blocks = list(replaced(blocks_of(documents, sizes), found))
    expected = [document.decode("utf-8", "replace").encode() for document in documents]
    assert b"".join(block.data.tobytes() for block in blocks) == b"".join(expected)
    ends = [block.position + end for block in blocks for end in block.ends.tolist()]
    assert ends == np.cumsum([len(document) for document in expected]).tolist()
    first, count = first_and_count(documents)
    assert found.count == count
    assert (found.first.offset if found.first else None) == first


@given(documents, block_sizes)
def test_stretches_find_what_is_invalid(documents: list[bytes], sizes: list[int]) -> None:
    found = InvalidBytes()
    for stretch in stretches(blocks_of(documents, sizes), Lines()):
        found.add(invalid_in(stretch, "keep"))
    first, count = first_and_count(documents)
    assert found.count == count
    assert (found.first.offset if found.first else None) == first


def test_strict_names_the_place() -> None:
    (stretch,) = stretches(blocks_of([b"good", b"b\xffd"], [100]), Lines())
    with pytest.raises(DataError, match="text, document 1, byte 5: the byte 0xff"):
        invalid_in(stretch, "strict")
    (stretch,) = stretches(blocks_of([b"good"], [100]), Lines())
    assert invalid_in(stretch, "strict") == InvalidBytes()


def test_other_words_are_refused() -> None:
    assert [check_errors(errors) for errors in ("keep", "strict", "replace")] == ["keep", "strict", "replace"]
    with pytest.raises(ParameterError, match="choose keep, strict or replace"):
        check_errors("ignore")
