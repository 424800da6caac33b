"""fastbpe verify, where no source is given. What it finds changed is in test_cli_encode.py."""

import json
from pathlib import Path

from cli_runner import Shell

from fastbpe.tokenizer import Tokenizer


def test_against_the_manifest_alone(fastbpe_command: Shell, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("abab")
    tokenizer, shards = tmp_path / "tok.json", tmp_path / "shards"
    Tokenizer.from_merges([(97, 98)], pattern=None).save(tokenizer)
    assert fastbpe_command("encode", tokenizer, tmp_path / "text.txt", "-o", shards, "--progress", "none").code == 0
    code, out, _ = fastbpe_command("verify", shards, "--tokenizer", tokenizer, "--progress", "none")
    assert code == 0
    assert out == f"{shards}: 1 shard, 2 tokens and 1 document are as they were written\n"
    facts = json.loads(fastbpe_command("verify", shards, "--progress", "none", "--json").out)
    assert facts == {
        "shards_directory": str(shards),
        "shards": 1,
        "tokens": 2,
        "documents": 1,
        "bytes": None,
        "normalizer": None,
    }


def test_source_without_a_name_is_no_check_without_it(fastbpe_command: Shell, tmp_path: Path) -> None:
    code, out, err = fastbpe_command("verify", tmp_path, "--source")
    assert (code, out) == (2, "")
    assert "--source is missing its value" in err
