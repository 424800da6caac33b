import lzma
import re

import pytest
import tiktoken as library
from exported import code, trained
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import DATA, vocabulary

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import export, load, tiktoken


@pytest.fixture(scope="module")
def gpt2_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "gpt2.tiktoken"
    path.write_bytes(lzma.decompress((DATA / "vocabs" / "gpt2.tiktoken.xz").read_bytes()))
    return path


def test_published_ranks(gpt2_file):
    loaded = load(gpt2_file, pattern="gpt2", special_tokens={"<|endoftext|>": 50256})
    assert loaded == vocabulary("gpt2")
    assert load(gpt2_file, pattern="gpt2", special_tokens=["<|endoftext|>"]) == loaded
    assert load(gpt2_file, pattern="gpt2", id_offset=1000).encode("a") == [id + 1000 for id in loaded.encode("a")]
    assert load(gpt2_file, pattern="gpt2", normalizer="NFC").model.normalizer == "NFC"


def test_a_pattern_is_never_guessed(gpt2_file):
    with pytest.raises(ParameterError, match="pattern: a tiktoken file holds none"):
        load(gpt2_file)


def test_dumps_gives_the_published_file(gpt2_file):
    assert tiktoken.dumps(vocabulary("gpt2").model.token_ids) == gpt2_file.read_bytes()


def test_windows_line_ends_and_empty_lines():
    assert tiktoken.loads(b"YQ== 0\r\n\r\nYg== 7\r\n") == {b"a": 0, b"b": 7}


LINES = [
    "YQ== 0",
    "Yg== 7",
    "Yg== 07",
    "YQ==",
    "",
    "YQ== 0 ",
    " 0",
    "YQ== ",
    "YQ==\t1",
    "YR== 2",
    "YQ= 3",
    "YQ 4",
    "Y!Q== 5",
]
LINES += ["YQ== 5\r", "\r", "YQ== -1", "YQ== +1", "YQ== 1_0", "YQ== 4294967295", "YQ== 12345678901", "YWI= 9 YWM= 10"]


@given(st.lists(st.sampled_from([line.encode() for line in LINES]), max_size=4), st.sampled_from([b"\n", b"\r\n"]))
def test_all_lines_at_a_time_are_as_one_by_one(lines, end):
    content = end.join(lines)
    try:
        expected = tiktoken._line_by_line(content)
    except FormatError as error:
        with pytest.raises(FormatError, match=f"^{re.escape(str(error))}$"):
            tiktoken.loads(content)
    else:
        assert tiktoken.loads(content) == expected


def test_tiktoken_reads_it(tmp_path):
    export(trained("o200k"), tmp_path / "c.tiktoken", "tiktoken", check=False)
    beside = load(tmp_path / "c.tiktoken")
    encoding = library.Encoding(
        "c",
        pat_str=beside.pattern,
        mergeable_ranks=tiktoken.loads((tmp_path / "c.tiktoken").read_bytes()),
        special_tokens=dict(beside.special_tokens),
    )
    for text in (code()[:50_000], "<|endoftext|>a<|pad|>"):
        expected = trained("o200k").encode(text, allowed_special="all")
        assert encoding.encode(text, allowed_special="all") == expected
    given = load(tmp_path / "c.tiktoken", pattern="o200k")
    assert not given.special_tokens  # with a pattern given, nothing is taken from beside
    assert load(tmp_path / "c.tiktoken", special_tokens=["<x>"]).special_tokens == {"<x>": 697}


def test_a_wrong_file_beside(tmp_path, gpt2_file):
    (tmp_path / "x").write_bytes(gpt2_file.read_bytes())
    (tmp_path / "x.json").write_text('{"pat_str": 1}')
    with pytest.raises(FormatError, match=r"x\.json beside it"):
        load(tmp_path / "x")
    (tmp_path / "x.json").write_text('{"pat_str": "a|[^a]", "special_tokens": {"<x>": -1}}')
    with pytest.raises(FormatError, match="-1 is not a whole number"):
        load(tmp_path / "x")


def test_special_tokens_that_begin_alike_are_refused():
    from fastbpe.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens=["<s>", "<s>x"])
    with pytest.raises(ParameterError, match="where this tokenizer takes '<s>x'"):
        tiktoken.files(tokenizer, "x")
