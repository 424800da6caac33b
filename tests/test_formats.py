import pytest

from fastbpe.errors import FormatError
from fastbpe.formats import load
from fastbpe.tokenizer import Tokenizer


def test_our_own_file_is_told_by_content(tmp_path):
    tok = Tokenizer.from_merges([(97, 98)], None, None)
    tok.save(tmp_path / "no extension")
    assert load(tmp_path / "no extension") == tok


def test_other_content_is_refused(tmp_path):
    (tmp_path / "tok.json").write_bytes(b"PK\3\4")
    with pytest.raises(FormatError, match=r"tok\.json"):
        load(tmp_path / "tok.json")
