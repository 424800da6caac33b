"""compat/tiktoken.py beside tiktoken itself: results and exceptions."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import ranks_of

from fastbpe.compat.tiktoken import Encoding
from fastbpe.pattern.named import NAMED
from fastbpe.tokenizer import Tokenizer

SPECIALS = {"<|endoftext|>": 50256, "<|a|>": 50300, "\u00e9<": 50301}
texts = st.lists(
    st.sampled_from(
        ["a", " the", "\n", "\u00e9", "\u65e5\u672c", "\U0001f600", "<", "\ud83d", "\ude00", "12345", *SPECIALS]
    ),
    max_size=12,
).map("".join) | st.text(max_size=20)
names = st.sets(st.sampled_from([*SPECIALS, "a", "no such"])) | st.just("all")
ids = st.lists(
    st.integers(0, 50310) | st.integers(-3, 2**33) | st.sampled_from([True, 1.0, "1", None, [1]]), max_size=6
)


@cache
def ours() -> Encoding:
    return Encoding("x", pat_str=NAMED["gpt2"], mergeable_ranks=ranks_of("gpt2"), special_tokens=SPECIALS)


@cache
def theirs():
    tiktoken = pytest.importorskip("tiktoken", reason="compares with tiktoken, which is not installed")
    return tiktoken.Encoding("x", pat_str=NAMED["gpt2"], mergeable_ranks=ranks_of("gpt2"), special_tokens=SPECIALS)


def outcome(call, *arguments, **options):
    """What a call gives, or the class of its error as callers catch it."""
    try:
        result = call(*arguments, **options)
    except Exception as error:
        known = (KeyError, OverflowError, UnicodeError, TypeError, ValueError, AssertionError)
        return next(kind for kind in known if isinstance(error, kind))
    return result.tolist() if isinstance(result, np.ndarray) else result


def same(name: str, *arguments, **options) -> None:
    expected = outcome(getattr(theirs(), name), *arguments, **options)
    assert outcome(getattr(ours(), name), *arguments, **options) == expected


@given(texts, names, st.none() | names)
def test_encoding(text, allowed, disallowed):
    options = {"allowed_special": allowed} | ({} if disallowed is None else {"disallowed_special": disallowed})
    same("encode", text)
    same("encode", text, **options)
    same("encode_ordinary", text)
    if not any("\ud800" <= character < "\ue000" for character in text):  # on those tiktoken's raises
        same("encode_to_numpy", text, **options)
        same("encode_single_token", text)
    same("encode_batch", [text, "a"], **options)
    same("encode_ordinary_batch", [text, "a"], num_threads=2)


@given(ids)
def test_decoding(ids):
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        same(name, ids)
    same("decode_batch", [ids, [1]])
    same("decode_bytes_batch", [ids, [1]])
    if ids:
        same("decode_single_token_bytes", ids[0])


@given(texts)
def test_offsets(text):
    same("decode_with_offsets", outcome(ours().encode, text, disallowed_special=()))


@pytest.mark.parametrize(
    "tokens", [(1, 2), range(3), np.array([1, 2]), np.array([1.0]), b"abc", "abc", {1}, 5, None, iter([1])]
)
def test_what_ids_may_be(tokens):
    same("decode_bytes", tokens)


@pytest.mark.parametrize("text", [b"x", 5, None, ["x"]])
def test_what_a_text_may_be(text):
    same("encode", text)
    same("encode_ordinary", text)
    same("encode_batch", ["a", text])


@pytest.mark.parametrize("token", [b"\xff", b"hello", "<|a|>", "hello there", 5])
def test_single_tokens(token):
    same("encode_single_token", token)


def test_what_it_is():
    for name in (
        "n_vocab",
        "max_token_value",
        "eot_token",
        "special_tokens_set",
        "_special_tokens",
        "_mergeable_ranks",
    ):
        assert getattr(ours(), name) == getattr(theirs(), name)
    same("token_byte_values")
    for token in (50300, 5, 50299, "a"):
        same("is_special_token", token)
    assert ours()._pat_str == NAMED["gpt2"] and repr(ours()) == "<Encoding 'x'>"


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"disallowed special token '<\|a\|>'.*allowed_special.*disallowed_special"):
        ours().encode("x<|a|>")
    with pytest.raises(TypeError, match="collection of names"):
        ours().encode("x", allowed_special="<|a|>")
    with pytest.raises(KeyError, match="50299"):
        ours().decode([1, 50299])
    with pytest.raises(ValueError, match="explicit_n_vocab"):
        Encoding("x", pat_str=NAMED["gpt2"], mergeable_ranks=ranks_of("gpt2"), special_tokens={}, explicit_n_vocab=5)
    with pytest.raises(NotImplementedError):
        ours().encode_with_unstable("x")


def test_a_disallowed_token_is_found_inside_an_allowed_one():
    tok = Tokenizer.from_merges([], pattern="gpt2", special_tokens=["<a>", "<a>b"])
    encoding = Encoding.from_tokenizer(tok)
    with pytest.raises(ValueError, match="'<a>'"):
        encoding.encode("<a>b", allowed_special={"<a>b"})
    assert encoding.encode("<a>b", allowed_special="all") == [257]


def test_views_of_our_own():
    tok = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=["<e>"], eos_token="<e>")
    encoding = Encoding.from_tokenizer(tok, "mine")
    assert encoding.eot_token == 257 and encoding.encode("ab<e>", allowed_special="all") == [256, 257]
    again = pickle.loads(pickle.dumps(encoding))
    assert again.name == "mine" and again.tokenizer == tok
    with pytest.raises(KeyError):
        _ = Encoding.from_tokenizer(Tokenizer.from_merges([])).eot_token
    rebuilt = Encoding(
        "y",
        pat_str=ours()._pat_str,
        mergeable_ranks=ours()._mergeable_ranks,
        special_tokens={**ours()._special_tokens, "<new>": 50400},
    )
    assert rebuilt.encode("hello<new>", allowed_special="all") == [31373, 50400]
