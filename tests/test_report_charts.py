"""report/charts.py: SVG that is the same each time, in the page's colours, with nothing of the machine in it."""

import copy
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("matplotlib", reason="the extra report is not installed")

import matplotlib
from report_maker import figures

from fastbpe.report.charts import charts, label, short, sizes

pytestmark = pytest.mark.skipif("FASTBPE_BUILD" in os.environ, reason="once, with the release build's tests")

NAMES = ["sources", "scripts", "sizes", "gains", "frequencies", "lengths", "completeness"]


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return charts(figures())


def test_all_are_drawn_and_well_formed(drawn: dict[str, str]) -> None:
    assert list(drawn) == NAMES
    for svg in drawn.values():
        root = ElementTree.fromstring(svg)
        assert root.tag == "svg" and root.attrib["viewBox"].startswith("0 0 360 ")
        assert "metadata" not in svg and "font-family" not in svg and "http" not in svg


def test_they_are_the_same_each_time(drawn: dict[str, str]) -> None:
    with matplotlib.rc_context({"svg.hashsalt": None, "font.size": 30, "axes.grid": False}):
        assert charts(figures()) == drawn


def test_settings_are_left_alone() -> None:
    before = dict(matplotlib.rcParams)
    charts(figures())
    assert dict(matplotlib.rcParams) == before


def test_colours_are_variables(drawn: dict[str, str]) -> None:
    for name, svg in drawn.items():
        assert "#01020" not in svg and "#01030" not in svg
        assert {"var(--ink)", "var(--c1)"} <= set(re.findall(r"var\(--\w+\)", svg)), name
    assert "var(--c2)" in drawn["sizes"] and "stroke-dasharray" in drawn["sizes"]


def test_figures_stand_on_bars(drawn: dict[str, str]) -> None:
    for rows in figures()["efficiency"]["sources"]:
        for row in rows:
            assert f">{row['bytes_per_token']:.2f}<" in drawn["sources"]


def test_names_are_made_safe() -> None:
    found = copy.deepcopy(figures())
    found["sources"][0]["name"] = "<b>&$x^2$\u202e\x00"
    found["sources"][1]["name"] = "明月/" + "long" * 20 + "/end.txt"
    svg = charts(found)["sources"]
    ElementTree.fromstring(svg)
    assert "&lt;b&gt;&amp;$x^2$??" in svg and "end.txt" in svg


def test_charts_without_figures_are_left_out() -> None:
    found = copy.deepcopy(figures())
    found["sizes"], found["gains"] = [None, None], None
    assert list(charts(found)) == [name for name in NAMES if name not in ("sizes", "gains")]


def test_a_point_stands_where_there_is_no_curve(drawn: dict[str, str]) -> None:
    found = copy.deepcopy(figures())
    found["sizes"][1] = None
    svg = sizes(found)
    assert svg is not None and svg.count("<use") < drawn["sizes"].count("<use") and "var(--c2)" in svg


def test_labels_and_numbers() -> None:
    assert label("short.txt") == "short.txt" and len(label("x" * 99)) == 22
    assert label("a/b/c/d/e/f/g/h/i/j/k/name.txt").endswith("k/name.txt")
    assert [short(value) for value in (0, 0.5, 999, 1000, 8192, 2_500_000, 7e9)] == [
        "0", "0.5", "999", "1k", "8.19k", "2.5M", "7G",
    ]  # fmt: skip
