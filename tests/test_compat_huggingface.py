"""compat/huggingface.py beside the tokenizers library."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.alphabet import to_characters
from fastbpe.compat.huggingface import Tokenizer
from fastbpe.tokenizer import Tokenizer as Engine

MERGES = [(97, 98), (256, 99), (0xC3, 0xA9), (258, 97)]
SPECIALS = ["<s>", "</s>", "<pad>"]
ENGINE = Engine.from_merges(
    MERGES, pattern="gpt2", special_tokens=SPECIALS, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
)
texts = st.lists(st.sampled_from(["ab", "abc", "\u00e9a", " ", "x", "<s>", "\u65e5"]), max_size=8).map("".join)


def theirs(bos: bool, eos: bool):
    """The same tokenizer in the library."""
    tokenizers = pytest.importorskip("tokenizers", reason="compares with tokenizers, which is not installed")
    tokens = ENGINE.model.tokens
    vocab = {to_characters(token): id for id, token in enumerate(tokens)}
    merges = [(to_characters(tokens[a]), to_characters(tokens[b])) for a, b in MERGES]
    library = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(SPECIALS)
    template = ["<s>:0"] * bos + ["$A:0"] + ["</s>:0"] * eos
    marks = [("<s>", ENGINE.bos_id), ("</s>", ENGINE.eos_id)]
    library.post_processor = tokenizers.processors.TemplateProcessing(single=" ".join(template), special_tokens=marks)
    return library


@given(
    st.lists(texts, min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 2, 3, 5]),
    st.sampled_from([False, True, "max_length"]),
    st.sampled_from([None, 4]),
    st.sampled_from(["right", "left"]),
    st.sampled_from(["right", "left"]),
    st.booleans(),
)
def test_calls_give_what_the_library_gives(batch, bos, eos, limit, padding, multiple, pads, cuts, adds):
    view = Tokenizer(ENGINE, 6, padding_side=pads, truncation_side=cuts, add_bos=bos, add_eos=eos)
    library = theirs(bos, eos)
    if limit is not None:
        library.enable_truncation(limit, direction=cuts)
    if padding:
        length = (limit or 6) if padding == "max_length" else None
        library.enable_padding(
            direction=pads, pad_id=ENGINE.pad_id, pad_token="<pad>", length=length, pad_to_multiple_of=multiple
        )
    expected = library.encode_batch(batch, add_special_tokens=adds)
    options = {"padding": padding, "pad_to_multiple_of": multiple, "max_length": limit}
    found = view(batch, truncation=limit is not None, add_special_tokens=adds, **options)
    assert found["input_ids"] == [row.ids for row in expected]
    assert found.attention_mask == [row.attention_mask for row in expected]
    if padding == "max_length" and limit is not None:
        arrays = view(batch, truncation=True, add_special_tokens=adds, return_tensors="np", **options)
        assert arrays.input_ids.dtype == arrays.attention_mask.dtype == np.int64
        assert arrays.input_ids.tolist() == found.input_ids
    library.no_padding()
    library.no_truncation()
    whole = [row.ids for row in library.encode_batch(batch, add_special_tokens=adds)]
    assert view.encode_batch(batch, add_special_tokens=adds) == whole
    assert [view.encode(text, add_special_tokens=adds) for text in batch] == whole
    for skip in (False, True):
        decoded = [library.decode(row, skip_special_tokens=skip) for row in whole]
        assert view.batch_decode(whole, skip_special_tokens=skip) == decoded
    for row in whole:
        names = [library.id_to_token(id) for id in row]
        assert view.convert_ids_to_tokens(row) == names
        assert view.convert_tokens_to_ids(names) == row
        assert view.convert_tokens_to_string(names) == view.decode(row)


def test_one_text():
    view = Tokenizer(ENGINE)
    assert view("abc<s>") == {"input_ids": [257, 260], "attention_mask": [1, 1]}
    assert view("abc<s>", return_attention_mask=False) == {"input_ids": [257, 260]}
    assert Tokenizer(ENGINE, split_special_tokens=True).encode("<s>") == [*b"<s>"]
    arrays = view("abc", return_tensors="np")
    assert arrays.input_ids.shape == (1, 1) and arrays["attention_mask"].tolist() == [[1]]
    assert view([]) == {"input_ids": [], "attention_mask": []}
    assert view.tokenize("abc<s> ") == ["abc", "<s>", "\u0120"]
    with pytest.raises(AttributeError, match="offsets"):
        _ = arrays.offsets


def test_tensors():
    torch = pytest.importorskip("torch", reason="makes tensors of torch, which is not installed")
    found = Tokenizer(ENGINE)(["abc", "x x"], padding=True, return_tensors="pt")
    assert found.input_ids.dtype == torch.int64 and found.input_ids.shape == (2, 3)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"padding": "max_length"}, "max_length"),
        ({"truncation": True}, "max_length"),
        ({"padding": "long"}, "choose"),
        ({"return_tensors": "tf"}, "return_tensors"),
        ({"return_tensors": "np"}, "different lengths"),
        ({"truncation": True, "max_length": 1}, "no room"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer(ENGINE, add_bos=True, add_eos=True)(["abc", "x x"], **options)


def test_roles_are_needed():
    bare = Engine.from_merges(MERGES, pattern="gpt2")
    with pytest.raises(ValueError, match="pad_token"):
        Tokenizer(bare)(["a", "a a"], padding=True)
    assert Tokenizer(bare)(["a", "b"], padding=True).input_ids == [[97], [98]]
    with pytest.raises(ValueError, match="role bos"):
        Tokenizer(bare, add_bos=True)
    with pytest.raises(ValueError, match="padding_side"):
        Tokenizer(bare, padding_side="top")


def test_names_and_numbers():
    view = Tokenizer(ENGINE)
    assert view.vocab_size == len(view) == 263 and len(view.get_vocab()) == 263
    assert (view.bos_token, view.eos_token, view.pad_token) == ("<s>", "</s>", "<pad>")
    assert (view.bos_token_id, view.eos_token_id, view.pad_token_id) == (260, 261, 262)
    assert view.all_special_tokens == SPECIALS and view.all_special_ids == [260, 261, 262]
    assert view.convert_ids_to_tokens(257) == "abc" and view.convert_tokens_to_ids("abc") == 257
    assert view.convert_tokens_to_ids(["no", "\u65e5", "<pad>"]) == [None, None, 262]
    assert view.convert_ids_to_tokens([260, 97], skip_special_tokens=True) == ["a"]
    assert view.decode(97) == "a" and view.decode(np.array([97, 262]), skip_special_tokens=True) == "a"
    kept = Tokenizer(Engine(replace(ENGINE.model, kept_tokens=("</s>",))))
    assert kept.all_special_tokens == ["<s>", "<pad>"] and kept.all_special_ids == [260, 262]
    assert kept.convert_ids_to_tokens([260, 261], skip_special_tokens=True) == ["</s>"]
    assert kept.decode([260, 261], skip_special_tokens=True) == "</s>"
    assert pickle.loads(pickle.dumps(view))("abc") == view("abc")
