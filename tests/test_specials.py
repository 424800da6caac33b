import pytest

from fastbpe import specials as specials_module
from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.special import SpecialTrie
from fastbpe.specials import chosen_names, special_id
from fastbpe.tokenizer import Tokenizer

ABC = [(97, 98), (256, 99)]
SPECIALS = ["<|a|>", "<|a|><|b|>", "<e>"]


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.from_merges(ABC, None, None, SPECIALS, bos_token="<|a|>", eos_token="<e>")


def test_special_tokens_are_text_unless_allowed(tok):
    text = "ab<|a|><|b|><e>"
    assert tok.special_tokens == {"<|a|>": 258, "<|a|><|b|>": 259, "<e>": 260}
    assert tok.encode(text) == tok.encode_ordinary(text) == [256, *b"<|", *b"a|><|b|><e>"]
    assert tok.encode(text, allowed_special="all") == [256, 259, 260]
    assert tok.encode(text, ["<|a|>"]) == [256, 258, *b"<|b|><e>"]
    assert tok.encode("ab", add_bos=True, add_eos=True) == [258, 256, 260]
    assert tok.encode("", add_bos=True, add_eos=True) == [258, 260]
    assert tok.encode_to_numpy(text, {"<e>"}).tolist()[-1] == 260
    assert (tok.bos_id, tok.eos_id, tok.pad_id) == (258, 260, None)


def test_disallowed_special_tokens_raise_and_say_where(tok):
    with pytest.raises(DataError, match=r"'<\|a\|>' stands at byte 3 and"):
        tok.encode("é <|a|>", disallowed_special="all")
    with pytest.raises(DataError, match="'<e>' stands at byte 1 of text 2 and"):
        tok.encode_batch(["", "<|a|>", "a<e>"], ["<|a|>"], "all")
    assert tok.encode("<|a|>", ["<|a|>"], "all") == [258]
    assert tok.encode("<|a|>", disallowed_special=["<e>"]) == list(b"<|a|>")
    # The longest token at a place is the one that stands there.
    assert tok.encode("<|a|><|b|>", ["<|a|><|b|>"], ["<|a|>"]) == [259]
    with pytest.raises(DataError):
        tok.encode("<|a|>", "all", ["<|a|>"])
    # An added bos is no special token in the text.
    assert tok.encode("ab", disallowed_special="all", add_bos=True) == [258, 256]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_special": ["<x>"]}, r"allowed_special: '<x>' is not .*; it has <\|a\|>, <\|a\|><\|b\|>, <e>$"),
        ({"disallowed_special": ["<x>"]}, "disallowed_special: '<x>' is not"),
        ({"allowed_special": "<e>"}, r"allowed_special takes 'all' or a list of names: \['<e>'\]"),
        ({"allowed_special": ["<e>", "<e>"]}, "allowed_special: '<e>' is given twice"),
        ({"allowed_special": ["<e>"], "disallowed_special": ["<e>"]}, "both"),
    ],
)
def test_bad_options_are_refused(tok, options, message):
    with pytest.raises(ParameterError, match=message):
        tok.encode("ab", **options)


def test_a_choice_of_special_tokens_is_made_ready_once(monkeypatch):
    names = [f"<{i}>" for i in range(500)]
    tok = Tokenizer.from_merges([], pattern="none", special_tokens=names)
    made = []
    monkeypatch.setattr(specials_module, "SpecialTrie", lambda tokens: made.append(1) or SpecialTrie(tokens))
    for _ in range(3):
        for allowed in ("all", names, set(names[:7]), frozenset(names[:7]), iter(names)):
            assert tok.encode("a<3>", allowed_special=allowed) == [97, 259]
        with pytest.raises(DataError, match=r"<3>.*byte 1"):
            tok.encode("a<3>", disallowed_special="all")
    assert len(made) <= 5
    with pytest.raises(ParameterError, match="not a name"):
        tok.encode("a", allowed_special=[["<3>"]])


def test_names_and_their_ids():
    specials = {"<a>": 7, "<b>": 9}
    assert chosen_names(specials, "all", "p") == chosen_names(specials, iter(["<b>", "<a>"]), "p") == {"<a>", "<b>"}
    assert chosen_names(specials, (), "p") == set()
    assert special_id(specials, "<b>", "p") == 9
    with pytest.raises(ParameterError, match=r"^p: '<c>' is not a special token of this tokenizer; it has <a>, <b>$"):
        special_id(specials, "<c>", "p")
    with pytest.raises(ParameterError, match=r"it has none$"):
        chosen_names({}, ["<a>"], "p")
    with pytest.raises(ParameterError, match=r"<19> and 480 more$"):
        special_id({f"<{i}>": i for i in range(500)}, "<a>", "p")


def test_roles_are_never_guessed():
    tok = Tokenizer.from_merges([], None, None, ["<s>", "</s>"])
    for option in ("add_bos", "add_eos"):
        with pytest.raises(ParameterError, match=option):
            tok.encode("a", **{option: True})
    with pytest.raises(DataError, match="bos_token"):
        Tokenizer.from_merges([], None, None, bos_token="<s>")
