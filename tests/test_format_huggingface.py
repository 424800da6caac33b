"""formats/huggingface.py: what is computed is computed as the library does it, all else is refused by its name."""

import json
import re

import numpy as np
import pytest
from exported import code, poems, trained
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.alphabet import BYTE_CHARACTERS
from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import checking, huggingface, load
from fastbpe.model import Model
from fastbpe.pattern.named import NAMED
from fastbpe.tokenizer import Tokenizer

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXTS = [text for text in checking.AWKWARD if isinstance(text, str)]


def token(id, content, **flags):
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **plain, **flags}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*rows):
    return {"type": "Sequence", "pretokenizers": [*rows, BYTE_LEVEL]}


def root_of(**changes):
    """A file with the merges ab, abc, Ġa, and two added tokens."""
    vocab = {character: id for id, character in enumerate(sorted(BYTE_CHARACTERS))}
    vocab |= {"ab": 256, "abc": 257, "Ġa": 258}
    root = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [token(259, "<s>"), token(260, "</s>")],
        "normalizer": None,
        "pre_tokenizer": {**BYTE_LEVEL, "use_regex": True},
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b", "ab c", "Ġ a"]},
    }
    for key, value in changes.items():
        part = root
        *path, last = key.split("__")
        for name in path:
            part = part[name]
        part[last] = value
    return root


def loaded(tmp_path, root, **given):
    (tmp_path / "tokenizer.json").write_text(json.dumps(root))
    return load(tmp_path / "tokenizer.json", **given)


def same_as_the_library(tmp_path, root, texts=()):
    tokenizers = pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    ours = loaded(tmp_path, root)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in (*TEXTS, *texts):
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False).ids, text
    return ours


def test_a_file(tmp_path):
    tokenizer = same_as_the_library(tmp_path, root_of(), ["abc ab<s>a</s><s>"])
    assert tokenizer.pattern_name == "gpt2" and tokenizer.special_tokens == {"<s>": 259, "</s>": 260}
    assert tokenizer.encode("abc<s> a", allowed_special="all") == [257, 259, 258]
    assert not tokenizer.model.roles
    old = root_of()
    del old["model"]["type"], old["version"]
    assert loaded(tmp_path, old) == tokenizer


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": BYTE_LEVEL},
        {"pre_tokenizer": sequence()},
        {"pre_tokenizer": sequence(split(NAMED["llama3"]))},
        {"pre_tokenizer": sequence(split(NAMED["llama3"], invert=True))},
        {"pre_tokenizer": sequence(split(NAMED["llama3"], "Removed", True))},
        {"pre_tokenizer": sequence(split(r"\p{L}+"))},
        {"pre_tokenizer": sequence(split(r"\p{N}"), split(r"[一-龥]+"), split(NAMED["gpt2"]))},
        {"pre_tokenizer": sequence({**split(""), "pattern": {"String": "a.b"}})},
        {"pre_tokenizer": sequence({**split(""), "pattern": {"String": "-]}^\\"}})},
        {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": True})},
        {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": False})},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, {**BYTE_LEVEL, "use_regex": True}]}},
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]}},
        {"normalizer": {"type": "Sequence", "normalizers": []}},
        {"model__ignore_merges": True},
        {"model__merges": [["ab", "c"], ["Ġ", "a"], ["a", "b"]]},
        {"model__merges": ["Ġ a"]},
        {"model__merges": [], "model__ignore_merges": True},
        {"model__unk_token": "<s>", "model__byte_fallback": True, "model__fuse_unk": True},
        {"model__continuing_subword_prefix": "", "model__end_of_word_suffix": "", "model__dropout": 0.0},
        {"added_tokens": [token(259, "<s>"), token(260, "think", special=False), token(261, "  ", normalized=True)]},
        {"added_tokens": [token(259, "<s>"), token(260, "<s><s>"), token(261, "s>a")]},
        {"added_tokens": []},
        {"decoder": {"type": "Sequence", "decoders": [BYTE_LEVEL]}},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_computed(tmp_path, change):
    texts = ["abc ab aabc<s><s>s>a think  <s>", "a.b-]}^\\c", "x12 3", "".join(TEXTS), code()[:3000], poems()[:500]]
    same_as_the_library(tmp_path, root_of(**change), texts)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"model__type": "Unigram"}, "model.type: Unigram"),
        ({"model__type": "WordPiece"}, "model.type: WordPiece"),
        ({"model__dropout": 0.1}, "model.dropout"),
        ({"model__continuing_subword_prefix": "##"}, "model.continuing_subword_prefix: '##'"),
        ({"model__end_of_word_suffix": "</w>"}, "model.end_of_word_suffix"),
        ({"model__new_thing": 1}, "model.new_thing"),
        ({"new_thing": 1}, "new_thing"),
        ({"version": "2.0"}, "version: '2.0'"),
        ({"truncation": {"max_length": 5}}, "truncation"),
        ({"padding": {}}, "padding"),
        ({"normalizer": {"type": "Lowercase"}}, "normalizer: 'Lowercase'"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]}}, "NFC and NFKC"),
        ({"normalizer": 7}, "normalizer: 7"),
        ({"pre_tokenizer": None}, "pre_tokenizer: None"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer: 'Metaspace'"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}, "pre_tokenizer.add_prefix_space"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": []}}, "'nothing'"),
        ({"pre_tokenizer": sequence({"type": "Whitespace"})}, "pre_tokenizer: 'Whitespace'"),
        ({"pre_tokenizer": sequence(split("a", "Removed"))}, "behavior: 'Removed'"),
        ({"pre_tokenizer": sequence(split("a", "Removed", True))}, "behavior: 'Removed'"),
        ({"pre_tokenizer": sequence(split("a", "MergedWithNext"))}, "behavior: 'MergedWithNext'"),
        ({"pre_tokenizer": sequence(split("a{1,3}+"))}, "Oniguruma reads otherwise"),
        ({"pre_tokenizer": sequence(split("(?i:st)"))}, "pattern: .*st"),
        ({"pre_tokenizer": sequence(split("(?<=a)b"))}, "pattern: .*look-behind"),
        ({"pre_tokenizer": sequence(split("a*"))}, "pattern"),
        ({"pre_tokenizer": sequence(split("(a"))}, "pattern: this"),
        ({"pre_tokenizer": sequence({"type": "Split", "pattern": "a"})}, "not an object with one of Regex"),
        ({"post_processor": {"type": "BertProcessing"}}, "post_processor: 'BertProcessing'"),
        ({"decoder": None}, "decoder: none"),
        ({"decoder": {"type": "Metaspace"}}, "decoder: 'Metaspace'"),
        ({"added_tokens": [token(259, "<s>", lstrip=True)]}, r"added_tokens\[0\].lstrip"),
        ({"added_tokens": [token(259, "<s>", rstrip=True)]}, r"added_tokens\[0\].rstrip"),
        ({"added_tokens": [token(259, "<s>", single_word=True)]}, r"added_tokens\[0\].single_word"),
        ({"added_tokens": [token(259, "<s>", normalized=True)], "normalizer": {"type": "NFC"}}, "normalized"),
        ({"added_tokens": [token(259, "<s>"), token(260, "s><", normalized=True)]}, "overlap"),
        ({"added_tokens": [token(259, "<s>"), token(260, "a<s>b", normalized=True)]}, "overlap"),
        ({"added_tokens": [token(259, "a" * 4000), token(260, "b" * 4000, normalized=True)]}, "too many to see"),
        ({"added_tokens": [token(260, "<s>")]}, "Hugging Face gives it 259"),
        ({"added_tokens": [token(259, "<s>"), token(259, "<t>")]}, "gives it 260"),
        ({"added_tokens": [token(259, "<s>"), token(260, "<s>")]}, r"added_tokens\[1\].content"),
        ({"added_tokens": [token(259, "\ud800")]}, "lone surrogate"),
        ({"added_tokens": [token(256, "ab")]}, r"model.merges\[0\]: the added token 'ab'"),
        ({"added_tokens": {}}, None),
        ({"added_tokens": 7}, "added_tokens: not a list"),
        ({"model__vocab__zz top": 300, "added_tokens": []}, "model.vocab: 'zz top'"),
        ({"model__vocab__zz": 256, "added_tokens": []}, "given twice"),
        ({"model__vocab__zz": 2**32, "added_tokens": []}, "4294967296"),
        ({"model__vocab__zz": "1", "added_tokens": []}, "'1' is not a whole number"),
        ({"model__vocab": []}, "model.vocab"),
        ({"model__merges": {}}, "model.merges: not a list"),
        ({"model__merges": ["a b", "a b"]}, "merged before"),
        ({"model__merges": ["a b c"]}, r"model.merges\[0\]"),
        ({"model__merges": [["a", 5]]}, r"model.merges\[0\]"),
        ({"model__merges": ["a zz"]}, r"model.merges\[0\]: 'zz' is not in model.vocab"),
        ({"model__merges": ["b a"]}, r"model.merges\[0\]: 'ba' is not in model.vocab"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path, change, name):
    if name is None:
        assert not loaded(tmp_path, root_of(**change)).special_tokens
        return
    with pytest.raises(FormatError, match=name) as caught:
        loaded(tmp_path, root_of(**change))
    assert "tokenizer.json" in str(caught.value)


def test_a_missing_byte(tmp_path):
    root = root_of()
    del root["model"]["vocab"]["q"]
    root["added_tokens"] = []
    with pytest.raises(FormatError, match="no token for byte 113"):
        loaded(tmp_path, root)


def test_roles(tmp_path):
    template = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    both = [*template, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    for single, roles in ((template, {"bos": "<s>"}), (both, {"bos": "<s>", "eos": "</s>"}), (both[:1] + both, {})):
        processor = {"type": "TemplateProcessing", "single": single}
        nested = {"type": "Sequence", "processors": [BYTE_LEVEL, processor]}
        for post_processor in (processor, nested):
            found = loaded(tmp_path, root_of(post_processor=post_processor)).model.roles
            assert found == ({"eos": "</s>"} if len(single) == 4 else roles)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": None, "eos_token": {"content": "</s>"}, "pad_token": "<lost>"})
    )
    assert loaded(tmp_path, root_of()).model.roles == {"eos": "</s>"}
    assert loaded(tmp_path, root_of(), bos_token="<s>", eos_token="<s>").model.roles == {"bos": "<s>", "eos": "<s>"}
    with pytest.raises(ParameterError, match="has its own"):
        loaded(tmp_path, root_of(), special_tokens=["<x>"])


def test_added_tokens_that_are_not_special_are_kept_as_there(tmp_path):
    library = pytest.importorskip("tokenizers", reason="the library tokenizers is not installed")
    ours = loaded(tmp_path, root_of(added_tokens=[token(259, "<s>"), token(260, "<think>", special=False)]))
    theirs = library.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert ours.model.kept_tokens == ("<think>",)
    for skip in (True, False):
        assert ours.decode([259, 97, 260], skip) == theirs.decode([259, 97, 260], skip_special_tokens=skip)
    root = json.loads(huggingface.files(ours, "")["tokenizer.json"])
    assert [row["special"] for row in root["added_tokens"]] == [True, False]


def test_special_tokens_with_low_ids_stand_in_the_vocabulary():
    root = json.loads(huggingface.files(trained("gpt2", "first"), "")["tokenizer.json"])
    assert [root["model"]["vocab"][name] for name in trained().special_tokens] == [0, 1, 2]
    root = json.loads(huggingface.files(trained("gpt2", "last"), "")["tokenizer.json"])
    assert not trained().special_tokens.keys() & root["model"]["vocab"].keys()


def test_names_that_are_taken_for_tokens():
    for names, whole, why in ((["ab"], False, "'ab', which is also"), (["Ġ"], False, "' '"), (["Ġx"], True, "' x'")):
        model = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens=names).model
        fields = {name: getattr(model, name) for name in Model.__dataclass_fields__}
        with pytest.raises(ParameterError, match=why):
            huggingface.files(Tokenizer(Model(**{**fields, "whole_chunk_first": whole})), "")


ROWS = ["a b", "ab c", "a  b", "ab", "a b c", " a", "a <s>", "b a", ["a", "b"], ["ab", "c"], ["a"], ["a", 1], 3, None]
ROWS += [["a", "<s>"], [["a"], ["b"]], {"a": 1, "b": 2}, ["a", "b", "c"]]


@given(st.lists(st.sampled_from(ROWS), max_size=4))
def test_all_merges_at_a_time_are_as_row_by_row(rows):
    vocabulary, specials = {"a": 1, "b": 2, "c": 3, "ab": 4, "abc": 5, "<s>": 6, "a<s>": 7, "": 8}, {"<s>": 6}
    try:
        expected = huggingface._row_by_row(rows, vocabulary, specials)
    except FormatError as error:
        with pytest.raises(FormatError, match=f"^{re.escape(str(error))}$"):
            huggingface._merges(rows, vocabulary, specials)
    else:
        found = huggingface._merges(rows, vocabulary, specials)
        assert found.dtype == np.int64 and found.shape == (len(rows), 3) and found.tolist() == expected.tolist()
