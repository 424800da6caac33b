"""cli/options.py: what comes before any work."""

import os
from pathlib import Path

import pytest

from fastbpe.cli.options import check_inputs, check_output, check_outputs_apart, special_names, tell_invalid, unescape
from fastbpe.errors import ParameterError


def test_separators_may_be_escaped() -> None:
    assert unescape(None) is None
    assert unescape("\\n\\n--\\t\\0\\r") == "\n\n--\t\0\r"
    with pytest.raises(ParameterError, match="--separator is empty"):
        unescape("")


def test_special_names() -> None:
    assert special_names("all") == "all"
    assert special_names("none") == ()
    assert special_names("<a>,<b>") == ("<a>", "<b>")


def test_outputs_are_checked_first(tmp_path: Path) -> None:
    check_output(tmp_path / "new.json")
    with pytest.raises(ParameterError, match="is a directory"):
        check_output(tmp_path)
    with pytest.raises(ParameterError, match="missing is not a directory"):
        check_output(tmp_path / "missing" / "new.json")


def test_no_input_is_written_over(tmp_path: Path) -> None:
    read, free = tmp_path / "corpus" / "a.txt", tmp_path / "tok.json"
    read.parent.mkdir()
    for path in (read, free):
        path.write_text("text")
    link = tmp_path / "link"
    link.symlink_to(read)
    for words in ((str(read),), ("-", str(read.parent)), (str(tmp_path / "*" / "a*"),), (str(link),)):
        check_outputs_apart([free, tmp_path / "new.json"], words)
        with pytest.raises(ParameterError, match=r"a\.txt is one of the inputs"):
            check_outputs_apart([free, read], words)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_outputs_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        check_output(tmp_path / "new.json")


def test_inputs_are_named() -> None:
    check_inputs(("-",))
    with pytest.raises(ParameterError, match="no input"):
        check_inputs(())


def test_bytes_that_are_not_utf8_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    tell_invalid(0, None)
    tell_invalid(1, "a.txt, byte 7")
    tell_invalid(1234, "a.txt, byte 7")
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "fastbpe: 1 byte is not UTF-8, the first at a.txt, byte 7",
        "fastbpe: 1,234 bytes are not UTF-8, the first at a.txt, byte 7",
    ]
