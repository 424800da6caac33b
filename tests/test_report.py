import pytest

from fastbpe.corpus.report import LISTED, Damaged, SourceReport, check_on_error
from fastbpe.errors import DataError, ParameterError


def test_counts_have_no_limit_and_examples_have():
    report = SourceReport("s")
    for number in range(LISTED + 5):
        report.reject(f"a, line {number}", "not valid JSON")
    report.skip("x", "hidden")
    report.filtered(3)
    report.filtered(0)
    assert report.skipped == {"not valid JSON": LISTED + 5, "hidden": 1, "left out by where": 3}
    assert report.rejected == LISTED + 5
    assert len(report.skipped_examples) == LISTED


def test_bad_records_are_listed_before_what_is_passed_over():
    report = SourceReport("s")
    report.skip("x", "hidden")
    for number in range(2):
        report.reject(f"a, line {number}", "not valid JSON")
    report.skip("y", "hidden")
    assert [what for what, _ in report.skipped_examples] == ["a, line 0", "a, line 1", "x", "y"]
    for number in range(LISTED):
        report.reject(f"b, line {number}", "not valid JSON")
    assert len(report.skipped_examples) == LISTED
    assert {why for _, why in report.skipped_examples} == {"not valid JSON"}


def test_stop():
    report = SourceReport("s", on_error="stop")
    report.skip("x", "hidden")
    with pytest.raises(DataError, match="a: a PNG image; leave it out"):
        report.reject("a", "a PNG image", "leave it out")
    with pytest.raises(Damaged, match="cut"):
        report.damage(Damaged("a: is cut"), "a")
    assert check_on_error("stop") == "stop"
    with pytest.raises(ParameterError, match="report or stop"):
        check_on_error("ignore")
