import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.corpus.blocks import Piece, SourcePiece, pack
from fastbpe.corpus.weights import Weights
from fastbpe.errors import ParameterError


@pytest.mark.parametrize(
    ("glob", "matches", "others"),
    [
        ("zh/*", ["zh/a.txt", "data/zh/a.txt", "/mnt/data/zh/x/a.txt", "s3://b/zh/a"], ["zh.txt", "xzh/a.txt", "zh"]),
        ("*.txt", ["a.txt", "zh/a.txt", "x.txt/member"], ["a.txt.gz"]),
        ("./zh", ["zh", "./zh/a.txt", "data/zh/x/a.txt"], ["zh2"]),
        ("/data/*.txt", ["/data/a.txt"], ["data/a.txt", "/mnt/data/a.txt"]),
        ("data/**/*.py", ["data/a.py", "data/x/y/a.py", "my/data/a.py"], ["data/a.txt"]),
        ("s3://bucket/zh*", ["s3://bucket/zh1/a.txt"], ["s3://other/zh1/a.txt"]),
        ("a[0-9].txt", ["a1.txt"], ["ab.txt"]),
        ("*", ["documents given", "standard input", "a/b"], []),
    ],
)
def test_a_glob_matches_from_any_directory_on(glob: str, matches: list[str], others: list[str]) -> None:
    weights = Weights({glob: 3})
    assert [weights.multiplier(name) for name in matches] == [3] * len(matches)
    assert [weights.multiplier(name) for name in others] == [1] * len(others)


def test_the_first_match_counts_and_the_denominator_is_common() -> None:
    weights = Weights([("a/b", "0.5"), ("a", "1/3"), ("c", 2)])
    assert weights.denominator == 6
    assert [weights.multiplier(name) for name in ("a/b", "a/c", "c", "d")] == [3, 2, 12, 6]
    assert weights.weight("a/b") * 2 == 1
    assert weights.described() == (("a/b", "1/2"), ("a", "1/3"), ("c", "2"))
    assert not Weights() and not Weights({}) and Weights().denominator == 1


def test_a_glob_without_a_match_is_told() -> None:
    weights = Weights({"a": 2, "b": 3})
    weights.expect(["a", "b/c"])
    weights.check()
    with pytest.raises(ParameterError, match="'b' is that of no source"):
        Weights({"a": 2, "b": 3}).expect(["a"])
    with pytest.raises(ParameterError, match=r"'a/b' is that of no source.*earlier"):
        Weights([("a", 2), ("a/b", 3)]).expect(["a/b"])
    late = Weights({"inside": 2})
    late.expect(["x.tar.gz"])
    with pytest.raises(ParameterError, match="'inside'"):
        late.check()
    late.multiplier("x.tar.gz/inside")
    late.check()


@pytest.mark.parametrize("given", [{"": 1}, {"a": "x"}, {"a": 0}, [(1, 2)], {"a": "1/99991", "b": "1/99989"}])
def test_what_is_refused(given: object) -> None:
    with pytest.raises(ParameterError):
        Weights(given)  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.binary(max_size=6), max_size=4)), max_size=8),
    st.integers(1, 30),
    st.integers(1, 9),
)
def test_cut_blocks_hold_the_same_documents(
    files: list[tuple[str, list[bytes]]], block_bytes: int, piece_bytes: int
) -> None:
    pieces = []
    for name, documents in files:
        data = b"".join(documents)
        ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(ends) else ends
        # A document may go on in the next piece: cut what is long, ends at the cut belong to the piece before it.
        for at in range(0, max(1, len(data)), piece_bytes):
            stop = at + piece_bytes
            inside = ends[(ends > at) | ((at == 0) & (ends == 0))]
            inside = inside[inside <= stop] - at
            part = data[at:stop]
            n_open = int(len(part) > (inside[-1] if len(inside) else 0))
            if len(part) or len(inside):
                zeros = np.zeros(len(inside) + n_open, np.int64)
                pieces.append(SourcePiece(Piece(part, inside, zeros), name, 0))
        del starts
    whole = list(pack(pieces, block_bytes))
    weights = Weights({"a": 2, "b": "1/2"})
    cut = list(weights.cut(whole))
    assert b"".join(block.data.tobytes() for block in cut) == b"".join(block.data.tobytes() for block in whole)

    def ends_of(blocks: list) -> list[int]:
        return [int(end) + block.position for block in blocks for end in block.ends]

    assert ends_of(cut) == ends_of(whole)
    for block in cut:
        assert len({weights.multiplier(place.source) for place in block.places}) == 1
        assert block.places[0].first == 0
    for blocks in (cut, whole):
        assert all(block.position == sum(len(b.data) for b in blocks[:k]) for k, block in enumerate(blocks))
