"""report/texts.py: batches hold all documents, a bound takes a part and says which."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe.report.texts import Text, excerpts


def read(text: Text, max_bytes: int = 10**9, batch_bytes: int = 1 << 20) -> list[bytes]:
    return [document for batch in text.batches(max_bytes, batch_bytes) for document in batch]


def test_all_of_it_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("明月\nab\n".encode() * 1000)
    text = Text(fastbpe.files(path, lines=True))
    batches = list(text.batches(10**9, 64))
    assert len(batches) > 50
    assert b"".join(b"".join(batch) for batch in batches) == path.read_bytes()
    assert sum(map(len, batches)) == 2000
    assert (text.part, text.name, text.held_out) == (None, str(path), False)
    assert Text(path).expected(10**9) == path.stat().st_size
    assert Text(path).expected(5) == 5


def test_documents_over_several_blocks(tmp_path: Path) -> None:
    big, small = tmp_path / "a.txt", tmp_path / "b.txt"
    big.write_bytes(b"x" * (3 << 20) + b"end")
    small.write_bytes(b"small")
    assert read(Text(fastbpe.files(tmp_path))) == [big.read_bytes(), b"small"]


def test_of_one_long_document_the_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("明月".encode() * (1 << 19))
    text = Text(path)
    (document,) = read(text, 1000)
    assert document == ("明月".encode() * 200)[:999]
    assert text.part == "the first 1,000 bytes" and text.of_bytes == path.stat().st_size


def test_of_many_documents_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(5000)))
    text = Text(fastbpe.files(path, lines=True))
    taken = read(text, 4000)
    assert 2500 < sum(map(len, taken)) <= 4000
    numbers = [int(line.split()[1]) for line in taken]
    assert numbers == sorted(numbers) and numbers[-1] > 4000
    assert text.part == "a sample of its documents (seed 0) of at most 4,000 bytes"
    assert read(Text(fastbpe.files(path, lines=True)), 4000) == taken


def test_documents_too_big_for_a_sample(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name * 900)
    text = Text(fastbpe.files(tmp_path))
    assert read(text, 500) == [b"a" * 500]
    assert text.part == "the first 500 bytes" and text.of_bytes == 2700 and text.name == str(tmp_path)
    text = Text(fastbpe.files(tmp_path))
    taken = read(text, 2000)
    assert taken and {len(document) for document in taken} == {900}
    assert text.part == "a sample of its documents (seed 0) of at most 2,000 bytes"


def test_what_is_read_once_is_read_from_the_front() -> None:
    text = Text(iter(["abc", "de", "f"]))
    assert read(text, 4) == [b"abc", b"d"]
    assert text.part == "the first 4 bytes" and text.of_bytes is None
    assert text.expected(4) is None


def test_nothing() -> None:
    assert read(Text([])) == [] and read(Text([""])) == [b""]


@given(st.lists(st.text("ab\n月", max_size=300).map(str.encode), max_size=4), st.integers(1, 4), st.integers(8, 60))
def test_excerpts_are_parts_of_the_text(documents: list[bytes], n: int, size: int) -> None:
    joined = b"\n".join(document.rstrip(b"\n") for document in documents if document.strip())
    found = excerpts(documents, n, size)
    assert len(found) <= n
    for excerpt in found:
        assert excerpt and excerpt in joined
        assert len(excerpt) <= size or found == [joined]
        excerpt.decode()  # no character is cut
    if joined:
        assert found


def test_excerpts_begin_with_a_line() -> None:
    text = b"".join(b"this is line %d\n" % number for number in range(1000))
    found = excerpts([text], 3, 100)
    assert len(found) == 3
    assert all(excerpt.startswith(b"this is line") for excerpt in found)
    assert pytest.approx([0, len(text) / 3, len(text) * 2 / 3], abs=120) == [text.index(excerpt) for excerpt in found]
