import json

import pytest

from fastbpe.corpus.blocks import Address
from fastbpe.corpus.readers import ReaderOptions
from fastbpe.corpus.report import Damaged, SourceReport
from fastbpe.pipeline.entries import address_entry, reader_entry, reader_options, source_entry


@pytest.mark.parametrize(
    "options",
    [
        ReaderOptions(),
        ReaderOptions(lines=True),
        ReaderOptions("。".encode()),
        ReaderOptions(b"\xff\n"),
        ReaderOptions(text_field="a.b", where=(("l", "x"),), members="*.py"),
    ],
)
def test_reader_options_come_back(options):
    assert reader_options(json.loads(json.dumps(reader_entry(options, "keep")))) == options


def test_names_do_not_depend_on_the_machine():
    for name, shown in (("/a/b/c", "c"), ("/a/b/*.txt", "b/*.txt"), ("b/*.txt", "b/*.txt"), ("../x", "../x")):
        report = SourceReport(name)
        assert source_entry(report)["name"] == shown
        address = Address(name.replace("*", "z"), 3, 5)
        assert address_entry(address, [SourceReport("/other/a.txt"), report]).split(",")[0] == shown.replace("*", "z")


def test_skipped():
    report = SourceReport("/a/b")
    for path in ("/a/b/.x", "/a/b/c/.y"):
        report.skip(path, "hidden")
    report.skip("/a/b/link", "a link")
    entry = source_entry(report)
    assert entry["skipped"] == {"a link": 1, "hidden": 2}
    assert entry["skipped_examples"] == [["b/.x", "hidden"], ["b/c/.y", "hidden"], ["b/link", "a link"]]
    assert "documents_per_file" not in entry
    report.reject("/a/b/c.jsonl, line 3", "not valid JSON")
    report.damage(Damaged("/a/b/d.gz: is cut short"), "/a/b/d.gz")
    entry = source_entry(report)
    assert entry["rejected"] == 1
    assert entry["skipped_examples"][0] == ["b/c.jsonl, line 3", "not valid JSON"]
    assert entry["damaged"] == [["b/d.gz", "is cut short"]]
