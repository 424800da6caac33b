"""fastbpe characters: the file, what is said of it, and what is refused."""

import json
from pathlib import Path

from cli_runner import Shell

import fastbpe


def test_the_characters_of_text(tmp_path: Path, fastbpe_command: Shell) -> None:
    for name, text in (("a.txt", "月<s>月光"), ("b.txt", "ab")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    out = tmp_path / "char.json"
    arguments = ["--special", "<s>", "--bos", "<s>", "--special-placement", "first", "--progress", "none"]
    code, text, err = fastbpe_command("characters", tmp_path / "a.txt", tmp_path / "b.txt", "-o", out, *arguments)
    assert (code, text, err) == (0, f"{out}: 5 ids, 4 characters\n", "")
    tokenizer = fastbpe.load(out)
    assert isinstance(tokenizer, fastbpe.CharTokenizer)
    assert (tokenizer.characters, tokenizer.bos_id) == ("ab光月", 0)
    same = fastbpe.train_characters(
        ["月<s>月光", "ab"], special_tokens=["<s>"], special_placement="first", bos_token="<s>"
    )
    assert tokenizer == same


def test_as_json_and_with_a_least_frequency(tmp_path: Path, fastbpe_command: Shell) -> None:
    (tmp_path / "a.jsonl").write_text('{"poem": "aab"}\n{"poem": "bc"}\n{"poem": 1}\n')
    out = tmp_path / "char.json"
    arguments = ["--text-field", "poem", "--min-frequency", "2", "--json", "--progress", "none"]
    code, text, err = fastbpe_command("characters", tmp_path / "a.jsonl", "-o", out, *arguments)
    assert code == 0
    assert "1 skipped, 1 bad record among them" in err
    facts = json.loads(text)
    assert (facts["vocab_size"], facts["characters"]) == (2, 2)
    assert facts["fingerprint"] == fastbpe.load(out).fingerprint


def test_what_is_refused(tmp_path: Path, fastbpe_command: Shell) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "char.json"
    path.write_bytes(b"ab\xff")
    fastbpe_command("characters", path, "-o", out, "--progress", "none").failed(3, "a.txt", "0xff")
    fastbpe_command("characters", path, "-o", path).failed(2, "is one of the inputs")
    fastbpe_command("characters", "-o", out).failed(2, "no input")
    assert not out.exists()
    assert fastbpe_command("characters", path, "-o", out, "--errors", "replace", "--progress", "none").code == 0
    assert fastbpe.load(out).characters == "ab�"
