import json

import pytest
from exported import trained

from fastbpe.errors import FormatError
from fastbpe.formats import config


def test_round_trip(tmp_path):
    for name, content in config.config_files(trained(), "GPT2Tokenizer", add_prefix_space=False).items():
        (tmp_path / name).write_bytes(content)
    told = config.beside(tmp_path / "vocab.json")
    assert told["special_tokens"] == dict(trained().special_tokens)
    assert told["roles"] == {"eos": "<|endoftext|>", "pad": "<|pad|>"}
    assert set(told["names"]) == set(trained().special_tokens)
    written = json.loads((tmp_path / config.CONFIG).read_text())
    assert written["tokenizer_class"] == "GPT2Tokenizer" and written["add_prefix_space"] is False
    assert written["bos_token"] is None and written["clean_up_tokenization_spaces"] is False


def test_nothing_beside(tmp_path):
    assert config.beside(tmp_path / "vocab.json") == {}


def test_older_files(tmp_path):
    (tmp_path / config.MAP).write_text(
        json.dumps({"bos_token": {"content": "<s>"}, "additional_special_tokens": ["<x>", 7]})
    )
    (tmp_path / config.ADDED).write_text(json.dumps({"<x>": 300}))
    told = config.beside(tmp_path / "x")
    assert told == {"special_tokens": {"<x>": 300}, "names": ["<s>", "<x>"], "roles": {"bos": "<s>"}}


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (config.CONFIG, "[]", "not an object"),
        (config.CONFIG, "{", "not JSON"),
        (config.ADDED, '{"<x>": -1}', "-1 is not a whole number"),
        (config.CONFIG, '{"added_tokens_decoder": {"4294967295": "<x>"}}', "4294967295"),
    ],
)
def test_wrong_files(tmp_path, name, content, place):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=place) as caught:
        config.beside(tmp_path / "x")
    assert name in str(caught.value)
