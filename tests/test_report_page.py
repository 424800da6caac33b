"""report/page.py: the page as text, and in a browser where there is one."""

import html
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="the extra report is not installed")
pytest.importorskip("matplotlib", reason="the extra report is not installed")

from browser import PROGRAM, Browser
from report_maker import figures, gathered, tokenizers

import fastbpe
from fastbpe.alphabet import visible
from fastbpe.report.gather import gather
from fastbpe.report.page import decimals, percent, render, whole
from fastbpe.report.texts import Text

pytestmark = pytest.mark.skipif("FASTBPE_BUILD" in os.environ, reason="once, with the release build's tests")

HOSTILE = [
    b"</script><script>window.hurt = 1</script>",
    b"<img src=x onerror='window.hurt=2'>",
    b"]]><!-- --> &amp; &lt;b&gt; \"quotes\" 'and' `ticks` ${x}",
    "\u202eesrever \u2028 \ufeff ".encode() + b"\x00\x1b[2J\xff\xfe\xed\xa0\x80",
    b"$\\frac{a}{b}$ {{ 7 * 7 }} {% raw %} #{x}",
]
NAME = "<b onmouseover=alert(1)>&\"'$x^2$\u202e月" + "n" * 60


@pytest.fixture(scope="module")
def page() -> str:
    return render(figures())


@pytest.fixture(scope="module")
def hostile() -> str:
    """A page on texts, names and tokens that would break out if they could."""
    texts = [b"".join(HOSTILE) * 3, *HOSTILE]
    tokenizer = fastbpe.train(
        texts, 256 + 120, pattern="none", special_tokens=["</script><script>hurt=3</script>", "<|e|>"]
    )
    sources = [Text(texts, name=NAME), Text([b"x" + part for part in HOSTILE], True, NAME)]
    return render(gather(tokenizer, sources, {NAME: tokenizer}, NAME, allowed_special="all"))


class Names(HTMLParser):
    """What elements and attributes a page has, and the contents of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._script = False


def test_it_asks_for_nothing(page: str) -> None:
    names = Names(page)
    for tag, attributes in names.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base", "video", "audio")
        assert not attributes.get("src")
        for name in ("href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))
    assert (
        "@import" not in page
        and "url(http" not in page
        and "//" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S).replace("http://www.w3.org", "")
    )
    (policy,) = [a["content"] for tag, a in names.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'; ") and "script-src 'sha256-" in policy


def test_charts_are_in_it_and_ids_are_unique(page: str) -> None:
    for name in ("sources", "scripts", "sizes", "gains", "frequencies", "lengths", "completeness"):
        assert f'id="chart-{name}"' in page
    ids = [attributes["id"] for _, attributes in Names(page).elements if attributes.get("id")]
    assert len(set(ids)) == len(ids)
    for target in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page):
        assert next(filter(None, target)) in ids


def test_equal_figures_give_equal_pages(page: str) -> None:
    assert render(json.loads(json.dumps(gathered(threads=1)))) == page


def test_every_section_is_filled(page: str) -> None:
    for text in (
        "In short",
        "Run card",
        "held out",
        "Gini",
        "Punctuation alone",
        "768 wide",
        "Tokens saved here",
        "Samples",
    ):
        assert text in page
    assert page.count('class="sample"') == 2 * 3  # each text is short enough to be shown whole


def test_many_sources_are_listed_and_the_first_are_shown() -> None:
    texts = [Text([f"text {number}"], name=f"source {number}") for number in range(20)]
    page = render(gather(tokenizers()[1], texts))
    assert page.count('class="sample"') == 16 and "The first 16 sources are shown." in page
    assert "by source, the first 16" in page and ">source 19<" in page


def test_a_tokenizer_without_merges() -> None:
    tokenizer = fastbpe.CharTokenizer.from_characters("月明ab ")
    page = render(gather(tokenizer, [Text(["明月 ab"])], {"bytes": fastbpe.Tokenizer.from_merges([], pattern=None)}))
    assert "This tokenizer has no merges." in page and 'id="chart-sizes"' not in page
    assert "nothing is known of smaller sizes" in page


def test_nothing_breaks_out(hostile: str) -> None:
    names = Names(hostile)
    assert len(names.scripts) == 2
    data = json.loads(names.scripts[0])
    assert "</script><script>hurt=3</script>" in data["vocabulary"]["bytes"]
    assert not any(tag in ("b", "img") for tag, _ in names.elements)
    assert not any(name.startswith("on") for _, attributes in names.elements for name in attributes)
    # What turns the direction of writing is shown by its number.
    shown = re.sub(r"<script.*</script>", "", hostile, flags=re.S)
    shown = html.unescape(re.sub(r"<[^>]*>", "", shown))
    assert "\\u202e" in shown and "\u202e" not in shown
    assert "{% raw %}" in shown and "{{ 7 * 7 }}" in shown


def test_filters() -> None:
    assert [whole(None), whole(1234567)] == ["–", "1,234,567"]
    assert [decimals(None), decimals(1.005, 1)] == ["–", "1.0"]
    assert [percent(share) for share in (None, 0.0, 0.004, 0.5, 1.0)] == ["–", "0.0 %", "0.40 %", "50.0 %", "100.0 %"]


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


def opened(browser: Browser, page: str, path: Path, **window: Any) -> Browser:
    path.write_text(page, encoding="utf-8")
    browser.errors.clear()
    browser.requests.clear()
    browser.open(path, **window)
    return browser


class TestInABrowser:
    pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium here")

    def test_no_error_no_request_charts_drawn(self, browser: Browser, page: str, tmp_path: Path) -> None:
        opened(browser, page, tmp_path / "page.html")
        assert browser.errors == []
        assert [request for request in browser.requests if not request.startswith("data:")] == [
            (tmp_path / "page.html").as_uri()
        ]
        drawn = browser.run(
            "[...document.querySelectorAll('.chart svg')].map(svg => svg.getBoundingClientRect().height)"
        )
        assert len(drawn) == 7 and min(drawn) > 60
        assert browser.run("getComputedStyle(document.querySelector('#chart-sizes text')).fill") == "rgb(28, 30, 33)"

    def test_token_details(self, browser: Browser, page: str, tmp_path: Path) -> None:
        opened(browser, page, tmp_path / "page.html")
        detail = "document.querySelector('#detail').hidden ? '' : document.querySelector('#detail').textContent"
        browser.point(".sample .t:nth-of-type(2)")
        token = browser.run("document.querySelector('.sample .t:nth-of-type(2)').dataset.id")
        shown = browser.run(detail)
        bytes_of = tokenizers()[0].token_bytes(int(token)).hex(" ")
        assert f"id{int(token):,} " in shown and bytes_of in shown and "times" in shown
        assert browser.run("document.querySelectorAll('.on').length") == 1
        browser.point("h1")
        assert browser.run(detail) == ""
        browser.point(".sample .t:nth-of-type(3)", click=True)
        kept = browser.run(detail)
        browser.point(".sample .t:nth-of-type(5)")
        assert browser.run(detail) == kept != ""
        browser.press("Escape")
        assert browser.run(detail) == ""

    def test_keyboard(self, browser: Browser, page: str, tmp_path: Path) -> None:
        opened(browser, page, tmp_path / "page.html")
        place = "[...document.activeElement.parentElement.querySelectorAll('.t')].indexOf(document.activeElement)"
        browser.run("document.querySelector('.sample .t').focus()")
        browser.press("ArrowRight")
        browser.press("ArrowRight")
        browser.press("ArrowLeft")
        assert browser.run(place) == 1
        assert not browser.run("document.querySelector('#detail').hidden")
        browser.press("End")
        assert browser.run(place) == browser.run("document.querySelector('.sample').querySelectorAll('.t').length") - 1
        assert browser.run("document.querySelector('.sample').querySelectorAll('[tabindex=\"0\"]').length") == 1
        browser.press("Enter")
        browser.run("document.activeElement.blur()")
        assert not browser.run("document.querySelector('#detail').hidden")
        browser.press("Escape")
        assert browser.run("document.querySelector('#detail').hidden")

    def test_filter(self, browser: Browser, page: str, tmp_path: Path) -> None:
        opened(browser, page, tmp_path / "page.html")
        rows = "[...document.querySelectorAll('#vocabulary tbody tr')].map(row => row.children[1].textContent)"
        found = "document.querySelector('#filter-found').textContent"
        n = tokenizers()[0].vocab_size
        assert browser.run(found) == f"{n} of {n} tokens, the first 200 are listed"
        fill = "(() => {{ const box = document.querySelector('#{}'); box.value = {!r};"
        fill += " box.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        browser.run(fill.format("filter-text", "明"))
        assert browser.run(rows) and all("明" in row for row in browser.run(rows))
        browser.run(fill.format("filter-text", ""))
        browser.run(fill.format("filter-kind", "3"))
        assert browser.run(rows) == ["<|e|>"]
        browser.run(fill.format("filter-kind", ""))
        browser.run(fill.format("filter-script", "Han"))
        browser.run(fill.format("filter-order", "long"))
        assert browser.run(rows)[0] == "望明月"

    def test_choices(self, browser: Browser, page: str, tmp_path: Path) -> None:
        opened(browser, page, tmp_path / "page.html")
        shown = "[...document.querySelectorAll('.by')].filter(block => !block.hidden).map(block => block.dataset.by)"
        assert browser.run(shown) == ["0"]
        browser.point("#sample-choice label:nth-of-type(2) input", click=True)
        assert browser.run(shown) == ["1"]
        scripts = "new Set([...document.querySelectorAll('#scripts tbody tr')].filter(row => !row.hidden)"
        scripts = f"[...{scripts}.map(row => row.children[0].textContent))]"
        assert browser.run(scripts) == ["all"]
        browser.run(
            "(() => { const box = document.querySelector('#script-source'); box.value = '1';"
            " box.dispatchEvent(new Event('change')); })()"
        )
        assert browser.run(scripts) == ["code"]

    @pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, False), (390, True)])
    def test_it_fits_the_window(self, browser: Browser, page: str, tmp_path: Path, width: int, dark: bool) -> None:
        opened(browser, page, tmp_path / "page.html", width=width, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") == width
        paper = "rgb(21, 23, 26)" if dark else "rgb(255, 255, 255)"
        assert browser.run("getComputedStyle(document.body).backgroundColor") == paper
        assert browser.screenshot().startswith(b"\x89PNG")

    def test_hostile_texts_and_names(self, browser: Browser, hostile: str, tmp_path: Path) -> None:
        opened(browser, hostile, tmp_path / "page.html")
        assert browser.errors == []
        assert browser.run("typeof hurt") == "undefined"
        assert browser.run("document.querySelector('h1').textContent").strip() == visible(NAME.encode())
        browser.point(".sample .t:nth-of-type(2)", click=True)
        browser.run(
            "(() => { const box = document.querySelector('#filter-text'); box.value = '<';"
            " box.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        assert browser.run("document.querySelectorAll('#vocabulary tbody tr').length") > 0
        assert browser.run("typeof hurt") == "undefined" and browser.errors == []
        assert browser.run("document.documentElement.scrollWidth") == 1200
