import json

import pytest
from exported import trained
from vocabularies import vocabulary

from fastbpe.errors import FormatError, ParameterError
from fastbpe.formats import load, tekken
from fastbpe.tokenizer import Tokenizer


def written(tokenizer):
    return json.loads(tekken.files(tokenizer, "t.json")["t.json"])


def loaded(tmp_path, root, **given):
    (tmp_path / "t.json").write_text(json.dumps(root))
    return load(tmp_path / "t.json", **given)


def test_a_published_vocabulary(tmp_path):
    root = written(vocabulary("tekken_240718"))
    assert root["config"]["default_vocab_size"] == 131_072 and root["config"]["default_num_special_tokens"] == 1000
    assert root["vocab"][256]["rank"] == 256
    assert loaded(tmp_path, root) == vocabulary("tekken_240718")


def test_older_files_name_no_special_tokens_and_hold_unused_ones(tmp_path):
    root = written(vocabulary("tekken_240718"))
    del root["special_tokens"]
    root["vocab"].append({"rank": 130_072, "token_bytes": "!", "token_str": None})
    named = loaded(tmp_path, root, special_tokens={"<s>": 1, "</s>": 2}, bos_token="<s>")
    assert named.bos_id == 1 and named.encode("a") == vocabulary("tekken_240718").encode("a")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda root: root["config"].pop("pattern"), "config.pattern"),
        (lambda root: root["config"].update(pattern="(a"), "pattern"),
        (lambda root: root["config"].update(pattern="(?<=a)b|c"), "config.pattern"),
        (lambda root: root["config"].update(default_vocab_size=10**9), "vocab: 697 entries"),
        (lambda root: root["config"].update(default_num_special_tokens=-1), "default_num_special_tokens"),
        (lambda root: root["vocab"][3].update(rank=4), r"vocab\[3\].rank"),
        (lambda root: root["vocab"][3].update(token_bytes="AA="), r"vocab\[3\].token_bytes"),
        (lambda root: root["vocab"].insert(300, root["vocab"][299]), r"vocab\[300\]"),
        (lambda root: root["special_tokens"][1].update(token_str="<|endoftext|>"), r"special_tokens\[1\].token_str"),
        (lambda root: root["special_tokens"][1].update(rank=3), r"special_tokens\[1\].rank"),
        (lambda root: root["special_tokens"][1].update(rank=0), "share the id 0"),
        (lambda root: root.update(special_tokens=7), "special_tokens: not a list"),
    ],
)
def test_wrong_files(tmp_path, change, place):
    root = written(trained("tekken", "first"))
    change(root)
    with pytest.raises(FormatError, match=place):
        loaded(tmp_path, root)


def test_special_tokens_of_the_file_are_not_replaced(tmp_path):
    with pytest.raises(ParameterError, match=r"special_tokens: tekken\.json has its own"):
        loaded(tmp_path, written(trained("tekken", "first")), special_tokens=["<x>"])


def test_bytes_out_of_order_are_refused():
    ranks = {bytes([byte]): 255 - byte for byte in range(256)}
    with pytest.raises(ParameterError, match="bytes in order"):
        tekken.files(Tokenizer.from_ranks(ranks, "tekken"), "t.json")
