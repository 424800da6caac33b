"""fastbpe decode: bytes as they were read, whatever they are."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import process

from fastbpe.tokenizer import Tokenizer


@pytest.mark.parametrize("options", [[], ["--lines"], ["--separator", "\\n\\n"]], ids=lambda o: o[0] if o else "files")
def test_raw_documents_are_the_sources_bytes(tmp_path: Path, options: list[str]) -> None:
    text = b"one\n\ntwo \xff\xfe\nthree\n\n\n\nfour"
    (tmp_path / "text.txt").write_bytes(text)
    Tokenizer.from_merges([(111, 110)], pattern="cl100k", special_tokens=["<e>"]).save(tmp_path / "tok.json")
    encoded = process("encode", "tok.json", "text.txt", "-o", "shards", "--eos", "<e>", *options, cwd=tmp_path)
    assert encoded.code == 0, encoded
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "fastbpe", "decode", str(tmp_path / "tok.json"), str(tmp_path / "shards")]
    assert subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout == text
