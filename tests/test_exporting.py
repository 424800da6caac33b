"""Every format, written and read back: the same ids, here and in the libraries that are installed."""

import json
from dataclasses import replace

import pytest
from exported import HARD_TEXTS, SPECIALS, code, hard, poems, trained
from vocabularies import vocabulary

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import FORMATS, checking, export, load
from fastbpe.model import Model
from fastbpe.pattern.named import NAMED
from fastbpe.tokenizer import Tokenizer

MANY = HARD_TEXTS + [code()[60_000:120_000].encode(), poems()[20_000:60_000].encode()]
PLACEMENTS = {"tekken": ["first"], "bpe-v1": ["last"], "minbpe": ["last"]}
PATTERNS = {"gpt2": ["gpt2"], "gguf": ["gpt2", "llama3", "qwen2"]}
CASES = [
    (to, pattern, placement)
    for to in FORMATS
    for pattern in PATTERNS.get(to, NAMED)
    for placement in PLACEMENTS.get(to, ["last", "first"])
]


def back(path, to, pattern, file="x.bin"):
    given = {"pattern": pattern or "none"} if to == "bpe-v1" else {}
    return load(path if (path.is_dir()) else path.with_name(file), **given)


@pytest.mark.parametrize(("to", "pattern", "placement"), CASES)
def test_round_trips_with_every_pattern(tmp_path, to, pattern, placement) -> None:
    tokenizer = trained(pattern, placement)
    report = export(tokenizer, tmp_path / "x.bin", to, sample=[code()[:20_000], poems()[:5_000]])
    assert report.checks[0].engine == "fastbpe" and report.checks[0].texts > 200
    again = back(tmp_path / "x.bin", to, pattern)
    assert again.special_tokens == tokenizer.special_tokens
    for text in MANY:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")
        assert again.encode(text) == tokenizer.encode(text)
    assert again.model.tokens == tokenizer.model.tokens
    assert again.pattern == tokenizer.pattern
    if to in ("huggingface", "gpt2"):
        assert again == tokenizer
    if to not in ("minbpe", "bpe-v1", "tekken"):
        assert again.model.roles == tokenizer.model.roles


@pytest.mark.parametrize("to", [to for to in FORMATS if to not in ("gpt2", "gguf")])
def test_tokens_that_are_hard_to_write_survive(tmp_path, to) -> None:
    tokenizer = hard(PLACEMENTS.get(to, ["last"])[0])
    export(tokenizer, tmp_path / "x.bin", to, sample=HARD_TEXTS)
    again = back(tmp_path / "x.bin", to, None)
    assert again.model.tokens == tokenizer.model.tokens
    for text in HARD_TEXTS:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")


def test_hard_tokens_in_gpt2_and_gguf(tmp_path) -> None:
    for to in ("gpt2", "gguf"):
        export(hard(pattern="gpt2"), tmp_path / to, to, sample=HARD_TEXTS)
        again = load(tmp_path / to)
        assert again.model.tokens == hard(pattern="gpt2").model.tokens


def test_added_tokens_that_are_text(tmp_path) -> None:
    """They are kept where special tokens are skipped, and so they are in the formats that can say it."""
    tokenizer = Tokenizer(replace(trained().model, kept_tokens=("<s>", "<|pad|>")))
    ids = tokenizer.encode("<|endoftext|>a<s>b<|pad|>", allowed_special="all")
    assert tokenizer.decode(ids, skip_special_tokens=True) == "a<s>b<|pad|>"
    for to in ("huggingface", "gpt2", "gguf", "tiktoken", "minbpe"):
        report = export(tokenizer, tmp_path / to, to)
        again = load(tmp_path / to)
        told = [one for one in report.left_out if "<s>, <|pad|> are text" in one]
        assert bool(told) == (again.model.kept_tokens == ()) == (to in ("tiktoken", "minbpe"))
        assert again.decode(ids, skip_special_tokens=True) == ("ab" if told else "a<s>b<|pad|>")


def test_what_is_left_out_is_told(tmp_path) -> None:
    roles = ["eos <|endoftext|>", "pad <|pad|>"]
    for to in FORMATS:
        report = export(trained("gpt2", PLACEMENTS.get(to, ["last"])[0]), tmp_path / to, to, False)
        expected = {"bpe-v1": ["pattern gpt2", *roles], "minbpe": roles, "tekken": roles}
        assert report.left_out == expected.get(to, [])


def test_without_special_tokens(tmp_path) -> None:
    tokenizer = trained("gpt2", specials=False, size=400)
    for to in FORMATS:
        export(tokenizer, tmp_path / to, to)
        again = back(tmp_path / to, to, "gpt2", to)
        assert again.encode(code()) == tokenizer.encode(code())
        assert not again.special_tokens and not again.model.roles


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "tekken_240718"])
def test_published_rank_tables(tmp_path, name) -> None:
    tokenizer = vocabulary(name)
    to = "tekken" if name.startswith("tekken") else "huggingface"
    report = export(tokenizer, tmp_path / "x", to, sample=[poems()[:20_000], code()[:50_000]])
    assert not [check for check in report.checks if not check.texts and not check.skipped]
    again = load(tmp_path / "x")
    for text in (poems()[:50_000], code()):
        assert again.encode(text) == tokenizer.encode(text)


def test_the_same_bytes_every_time(tmp_path) -> None:
    for to in FORMATS:
        for name in ("a", "b"):
            placement = PLACEMENTS.get(to, ["last"])[0]
            export(trained("gpt2", placement), tmp_path / f"{to}-{name}", to, False)
        a, b = tmp_path / f"{to}-a", tmp_path / f"{to}-b"
        if a.is_dir():
            assert {p.name: p.read_bytes() for p in a.iterdir()} == {p.name: p.read_bytes() for p in b.iterdir()}
        else:
            assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize(
    ("to", "pattern", "placement", "why"),
    [
        ("gpt2", "cl100k", "last", "has no pattern"),
        ("gguf", "o200k", "last", "takes no pattern"),
        ("tekken", "gpt2", "last", "special tokens first"),
        ("minbpe", "gpt2", "first", "bytes, merges, special tokens"),
        ("bpe-v1", "gpt2", "first", "bytes, merges, special tokens"),
    ],
)
def test_what_a_format_cannot_hold(tmp_path, to, pattern, placement, why) -> None:
    with pytest.raises(ParameterError, match=why):
        export(trained(pattern, placement), tmp_path / "x", to)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", FORMATS)
def test_normalizers(tmp_path, to) -> None:
    tokenizer = Tokenizer.from_merges([(101, 0xCC)], pattern="gpt2", normalizer="NFC")
    if to != "huggingface":
        with pytest.raises(ParameterError, match="no normalizer"):
            export(tokenizer, tmp_path / "x", to)
        return
    export(tokenizer, tmp_path / "x", to, sample=["e\u0301 é"])
    assert load(tmp_path / "x") == tokenizer


@pytest.mark.parametrize("to", ["tiktoken", "minbpe", "tekken"])
def test_unmatched_text(tmp_path, to) -> None:
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern=r"\p{L}+", unmatched="isolate")
    with pytest.raises(ParameterError, match="drops the text"):
        export(tokenizer, tmp_path / "x", to)
    export(tokenizer, tmp_path / "y", "huggingface")
    assert load(tmp_path / "y") == tokenizer


def test_several_patterns_in_a_row(tmp_path) -> None:
    from fastbpe.formats.gguf import DEEPSEEK_V3

    tokenizer = Tokenizer.from_merges(trained("gpt2", specials=False).merges, pattern=DEEPSEEK_V3)
    for to in ("huggingface", "gguf"):
        export(tokenizer, tmp_path / to, to, sample=[code()[:20_000], poems()[:5_000], "12345床前 a1"])
        assert load(tmp_path / to) == tokenizer
    tokenizer.save(tmp_path / "own.json")
    assert load(tmp_path / "own.json") == tokenizer
    with pytest.raises(ParameterError, match="3 in a row"):
        export(tokenizer, tmp_path / "x", "tiktoken")


def test_ids_with_gaps(tmp_path) -> None:
    ranks = {bytes([byte]): 2 * byte for byte in range(256)} | {b"ab": 600, b"abc": 5000}
    tokenizer = Tokenizer.from_ranks(ranks, "gpt2", {"<x>": 1, "<y>": 700, "<z>": 9000})
    for to in ("huggingface", "tiktoken", "gpt2", "gguf"):
        export(tokenizer, tmp_path / to, to, sample=["ab abc<x><y><z> abcabc"])
        again = load(tmp_path / to)
        assert again.special_tokens == tokenizer.special_tokens and again.model.token_ids == tokenizer.model.token_ids


def test_a_check_that_fails_writes_nothing(tmp_path, monkeypatch) -> None:
    other = Tokenizer.from_merges([(104, 101)], pattern="gpt2", special_tokens=SPECIALS)
    monkeypatch.setattr(checking, "_read_back", lambda *_: other)
    with pytest.raises(FormatError, match="check: fastbpe gives other ids"):
        export(trained(), tmp_path / "x", "gguf")
    assert not list(tmp_path.iterdir())
    assert export(trained(), tmp_path / "x", "gguf", check=False).checks == []


def test_unknown_formats_are_refused(tmp_path) -> None:
    with pytest.raises(ParameterError, match="none of huggingface"):
        export(trained(), tmp_path / "x", "sentencepiece")


def test_ids_that_do_not_follow_merges(tmp_path) -> None:
    model = Tokenizer.from_merges([(97, 98), (98, 99)], pattern="gpt2").model
    fields = {name: getattr(model, name) for name in Model.__dataclass_fields__}
    swapped = model.merges[::-1].copy()
    tokenizer = Tokenizer(Model(**{**fields, "merges": swapped}))
    with pytest.raises(ParameterError, match="do not follow its merges"):
        export(tokenizer, tmp_path / "x", "tiktoken")
    with pytest.raises(ParameterError, match="in the order bytes, merges"):
        export(tokenizer, tmp_path / "x", "minbpe")
    for to in ("huggingface", "gpt2", "gguf"):
        export(tokenizer, tmp_path / to, to, sample=["abc abcabc"])
        assert load(tmp_path / to).encode("abc") == tokenizer.encode("abc") == [97, 257]


def test_whole_chunks_first(tmp_path) -> None:
    """A token that no merges build: only formats that take whole chunks first can hold it."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256}
    whole = Tokenizer.from_ranks(ranks, "llama3")
    for to in ("huggingface", "tiktoken", "tekken", "gguf"):
        export(whole, tmp_path / to, to, sample=["abc abc"])
        assert load(tmp_path / to).encode("abc") == [256]
    for to in ("minbpe", "bpe-v1"):
        with pytest.raises(ParameterError, match="is built by no merges"):
            export(whole, tmp_path / "x", to)
    merged = Tokenizer.from_ranks(ranks, "llama3", whole_chunk_first=False)
    for to in ("tiktoken", "gguf"):
        with pytest.raises(ParameterError, match="whole"):
            export(merged, tmp_path / "x", to)
    export(merged, tmp_path / "merged", "huggingface")
    assert load(tmp_path / "merged").encode("abc") == [97, 98, 99]


def test_the_encoding_beside_ranks(tmp_path) -> None:
    report = export(trained("cl100k"), tmp_path / "code.tiktoken", "tiktoken")
    assert [path.rpartition("/")[2] for path in report.files] == ["code.tiktoken", "code.tiktoken.json"]
    told = json.loads((tmp_path / "code.tiktoken.json").read_text())
    assert told["name"] == "code" and told["special_tokens"] == dict(trained("cl100k").special_tokens)
