"""Training a character tokenizer, and what pipelines do with one."""

import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cli_runner import Shell
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe.corpus.sources import files
from fastbpe.errors import DataError, ParameterError
from fastbpe.formats import own
from fastbpe.pipeline.verify import verify_dataset

TEXTS = ["床前明月光，\n", "", "a月é🚀" * 50]


@given(st.lists(st.text(), min_size=1), st.integers(1, 3))
def test_the_characters_that_occur(texts: list[str], min_frequency: int) -> None:
    # Lone surrogates are no text; st.text() gives none.
    counts = Counter("".join(texts))
    expected = sorted(character for character, n in counts.items() if n >= min_frequency)
    if not expected:
        with pytest.raises(DataError, match=f"no character that occurs {min_frequency} times"):
            fastbpe.train_characters(texts, min_frequency=min_frequency)
        return
    tok = fastbpe.train_characters(texts, min_frequency=min_frequency)
    assert tok.characters == "".join(expected)
    assert tok.record is not None
    assert tok.record["parameters"] == {"min_frequency": min_frequency}
    assert tok.record["corpus"]["documents"] == len(texts)


def test_order_and_threads_change_nothing_in_the_file() -> None:
    files = {own.dumps(fastbpe.train_characters(texts, threads=n)) for texts in (TEXTS, TEXTS[::-1]) for n in (1, 2)}
    assert len(files) == 1


def test_special_tokens_are_cut_out_of_the_text() -> None:
    tok = fastbpe.train_characters(
        ["<|x|>ab"], special_tokens=["<|x|>"], special_placement="first", bos_token="<|x|>", eos_token=None
    )
    assert (tok.characters, tok.bos_id) == ("ab", 0)
    assert tok.encode("ba", add_bos=True) == [0, 2, 1]


def test_a_normalizer_is_kept() -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    tok = fastbpe.train_characters([decomposed], normalizer="NFC")
    assert tok.characters == "é"
    assert tok.decode(tok.encode(decomposed)) == "é"


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab\xffc")
    with pytest.raises(DataError, match=r"a\.txt.*0xff"):
        fastbpe.train_characters(path)
    assert fastbpe.train_characters(path, errors="replace").characters == "abc�"
    with pytest.raises(ParameterError, match="keep"):
        fastbpe.train_characters(path, errors="keep")
    with pytest.raises(ParameterError, match="min_frequency=0"):
        fastbpe.train_characters(path, min_frequency=0)


def test_shards_of_characters(tmp_path: Path) -> None:
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text, encoding="utf-8", newline="")
    source = files(str(tmp_path / "*.txt"))
    tok = fastbpe.train_characters(source, special_tokens=["<eos>"], eos_token="<eos>")
    fastbpe.encode_dataset(tok, source, tmp_path / "shards", eos_token="<eos>")
    shards = fastbpe.TokenShards(tmp_path / "shards")
    assert type(shards.tokenizer) is type(tok)
    ids = np.concatenate([tok.encode_to_numpy(text, add_eos=True) for text in TEXTS])
    assert np.array_equal(np.concatenate([np.load(path) for path in sorted((tmp_path / "shards").glob("*.npy"))]), ids)
    assert verify_dataset(tmp_path / "shards", source=source).documents == len(TEXTS)


@pytest.mark.parametrize("normalizer", [None, "NFC"])
def test_shards_name_the_file_of_an_unknown_character(tmp_path: Path, normalizer: str | None) -> None:
    (tmp_path / "a.txt").write_text("ab" * 20, encoding="utf-8")
    (tmp_path / "b.txt").write_text("ab月", encoding="utf-8")
    tok = fastbpe.train_characters(["ab"], normalizer=normalizer)
    with pytest.raises(DataError, match=rf"b\.txt, document 0, byte {0 if normalizer else 2}: '月' \(U\+6708\)"):
        fastbpe.encode_dataset(tok, files(str(tmp_path / "*.txt")), tmp_path / "shards")


def test_the_commands_take_its_file(tmp_path: Path, fastbpe_command: Shell) -> None:
    path = tmp_path / "char.json"
    fastbpe.train_characters(TEXTS).save(path)
    code, out, err = fastbpe_command("show", str(path), "月光", "--color", "never")
    assert (code, err) == (0, "")
    assert "2 tokens" in out
    code, _, err = fastbpe_command("show", str(path), "月?")
    assert (code, "character 1" in err) == (3, True)
    code, out, _ = fastbpe_command("inspect", str(path))
    assert code == 0
    assert "(?s:.)" in out
