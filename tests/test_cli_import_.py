import json

import pytest
from exported import trained
from vocabularies import vocabulary

from fastbpe.cli.import_ import specials
from fastbpe.errors import ParameterError
from fastbpe.formats import export, load, tiktoken


def test_import_a_rank_file(fastbpe_command, tmp_path):
    (tmp_path / "g.tiktoken").write_bytes(tiktoken.dumps(vocabulary("gpt2").model.token_ids))
    outcome = fastbpe_command(
        "import", tmp_path / "g.tiktoken", "-o", tmp_path / "tok.json", "--pattern", "gpt2", "--special",
        "<|endoftext|>=50256", "--eos", "<|endoftext|>",
    )  # fmt: skip
    assert outcome.code == 0, outcome
    assert outcome.out == f"{tmp_path}/tok.json: 50,257 ids, 1 special token, pattern gpt2\n"
    loaded = load(tmp_path / "tok.json")
    assert loaded.eos_id == 50256 and loaded.encode("床 a") == vocabulary("gpt2").encode("床 a")
    fastbpe_command("import", tmp_path / "g.tiktoken", "-o", tmp_path / "x").failed(2, "pattern", "holds none")


def test_several_patterns_offset_and_normalizer(fastbpe_command, tmp_path):
    (tmp_path / "g.tiktoken").write_bytes(tiktoken.dumps({bytes([byte]): byte for byte in range(256)}))
    outcome = fastbpe_command(
        "import", tmp_path / "g.tiktoken", "-o", tmp_path / "tok.json", "--pattern", r"\p{N}|a", "--pattern", "gpt2",
        "--id-offset", "7", "--normalizer", "NFC", "--special", "<a>", "--special", "<b>", "--json",
    )  # fmt: skip
    facts = json.loads(outcome.out)
    assert facts["vocab_size"] == 258 and facts["pattern_name"] is None
    loaded = load(tmp_path / "tok.json")
    assert loaded.special_tokens == {"<a>": 263, "<b>": 264} and loaded.model.normalizer == "NFC"
    assert len(loaded.pattern) == 2


def test_directories_and_no_special_tokens(fastbpe_command, tmp_path):
    export(trained(), tmp_path / "hf", "huggingface", check=False)
    assert fastbpe_command("import", tmp_path / "hf", "-o", tmp_path / "tok.json").code == 0
    assert load(tmp_path / "tok.json") == trained()
    export(trained(), tmp_path / "g", "gpt2", check=False)
    assert fastbpe_command("import", tmp_path / "g", "-o", tmp_path / "tok.json", "--no-special").code == 0
    assert not load(tmp_path / "tok.json").special_tokens
    wrong = fastbpe_command("import", tmp_path / "g", "-o", tmp_path / "x", "--no-special", "--special", "a")
    wrong.failed(2, "one or the other")


def test_what_is_refused(fastbpe_command, tmp_path):
    (tmp_path / "x").write_bytes(b"\x80\x04.")
    fastbpe_command("import", tmp_path / "x", "-o", tmp_path / "tok.json").failed(3, "a pickle")
    fastbpe_command("import", tmp_path / "x", "-o", tmp_path / "x").failed(2, "written over")
    fastbpe_command("import", tmp_path / "y", "-o", tmp_path / "x2").failed(1, "y")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_special_tokens():
    assert specials(()) is None
    assert specials(("a=b=7", "<x>=10")) == {"a=b": 7, "<x>": 10}
    assert specials(("a", "b=c")) == ["a", "b=c"]
    with pytest.raises(ParameterError, match="with each"):
        specials(("a", "b=1"))
