import json

from exported import trained

from fastbpe.cli.export import SAMPLE_BYTES, start_of
from fastbpe.formats import load


def test_export(fastbpe_command, tmp_path):
    trained("cl100k").save(tmp_path / "tok.json")
    (tmp_path / "sample.txt").write_text("some text of mine")
    outcome = fastbpe_command(
        "export",
        tmp_path / "tok.json",
        "-o",
        tmp_path / "hf",
        "--to",
        "huggingface",
        "--sample",
        tmp_path / "sample.txt",
    )
    assert outcome.code == 0, outcome
    assert outcome.out.startswith(f"{tmp_path}/hf/tokenizer.json\n") and "fastbpe: the same ids on " in outcome.out
    assert load(tmp_path / "hf").encode("床 a") == trained("cl100k").encode("床 a")


def test_json_and_no_check(fastbpe_command, tmp_path):
    trained().save(tmp_path / "tok.json")
    outcome = fastbpe_command(
        "export", tmp_path / "tok.json", "-o", tmp_path / "x.gguf", "--to", "gguf", "--no-check", "--json"
    )
    assert json.loads(outcome.out) == {"format": "gguf", "files": [f"{tmp_path}/x.gguf"], "checks": [], "left_out": []}
    outcome = fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "x.bpe", "--to", "bpe-v1", "--json")
    assert json.loads(outcome.out)["checks"][0]["engine"] == "fastbpe"


def test_what_is_refused(fastbpe_command, tmp_path):
    trained().save(tmp_path / "tok.json")
    fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "x", "--to", "tekken").failed(2, "tekken.json")
    fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "tok.json", "--to", "gguf").failed(
        2, "written over"
    )
    fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "tok.json", "--to", "gpt2").failed(
        2, "a directory"
    )
    fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "a" / "b", "--to", "gpt2").failed(
        2, "a directory"
    )
    fastbpe_command("export", tmp_path / "no.json", "-o", tmp_path / "x", "--to", "gguf").failed(1, "no.json")
    fastbpe_command("export", tmp_path / "tok.json", "-o", tmp_path / "x", "--to", "bogus").failed(2, "bogus")
    assert [path.name for path in tmp_path.iterdir()] == ["tok.json"]


def test_the_start_of_a_file(tmp_path):
    path = tmp_path / "x"
    for content, expected in (
        (b"ab\ncd", b"ab\ncd"),
        (b"a" * SAMPLE_BYTES + b"b", b"a" * SAMPLE_BYTES),
        (b"a\n" * SAMPLE_BYTES, b"a\n" * (SAMPLE_BYTES // 2)),
        (b"a\n" + b"b" * SAMPLE_BYTES, b"a\n"),
    ):
        path.write_bytes(content)
        assert start_of(path) == expected
