"""cli/options.py: what comes before any work."""

import os
from pathlib import Path

import pytest

from fastbpe.cli.options import check_inputs, check_output, special_names, told_invalid, unescape
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_outputs_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        check_output(tmp_path / "new.json")


def test_inputs_are_named() -> None:
    check_inputs(("-",))
    with pytest.raises(ParameterError, match="no input"):
        check_inputs(())


def test_invalid_bytes_are_told() -> None:
    assert told_invalid(1234, "a.txt, byte 7") == "1,234 bytes are not UTF-8, the first at a.txt, byte 7"
