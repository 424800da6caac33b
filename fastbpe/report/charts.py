"""Charts as SVG texts, drawn by matplotlib; equal figures give equal texts.

Colours are the page's: each is drawn as a stand-in that is replaced by a CSS variable, so that one drawing serves light
and dark. Letters stay letters, in the page's font. Only our own words and numbers, and the names that `label` has made
safe, are drawn.
"""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from fastbpe.report.learning import parts_of_curve

INK, GRID = "#010203", "#010204"
SERIES = tuple(f"#01030{number}" for number in range(1, 9))
_VARIABLES = {INK: "--ink", GRID: "--grid"} | {colour: f"--c{n}" for n, colour in enumerate(SERIES, 1)}
_WIDTH = 5.0
LABEL_LENGTH = 22
MOST_BARS = 16
COLOURS = Path(__file__).parent / "templates" / "colours.css"
"""What the variables stand for, in light and dark."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fastbpe",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "lines.linewidth": 1.8,
    "text.parse_math": False,
    "axes.unicode_minus": False,
}


def charts(figures: dict[str, Any]) -> dict[str, str]:
    """The charts of a report by name, each an <svg> element; those without figures are left out."""
    drawings: dict[str, Callable[[dict[str, Any]], str | None]] = {
        "sources": sources,
        "scripts": scripts,
        "sizes": sizes,
        "gains": gains,
        "frequencies": frequencies,
        "lengths": lengths,
        "completeness": completeness,
    }
    drawn = {name: draw(figures) for name, draw in drawings.items()}
    return {name: _renamed(svg, name) for name, svg in drawn.items() if svg is not None}


def standalone(svg: str) -> str:
    """A chart as a file of its own, light or dark as whoever shows it is."""
    style = COLOURS.read_text(encoding="utf-8").replace(":root", "svg") + "text { font-family: sans-serif; }\n"
    _, _, rest = svg.partition(">")
    return f"{_opened(svg)}\n<style>\n{style}</style>{rest}\n"


def sources(figures: dict[str, Any]) -> str | None:
    """Bytes per token of each source, a bar for each tokenizer."""
    rows = figures["efficiency"]["sources"][:MOST_BARS]
    names = [label(source["name"]) for source in figures["sources"]]
    values = [[row["bytes_per_token"] for row in source] for source in rows]
    return _drawn(partial(_bars, names=names[: len(rows)], values=values, axis="bytes per token"), _bars_height(values))


def scripts(figures: dict[str, Any]) -> str | None:
    """Tokens per character of the scripts of all sources."""
    rows = [row for row in figures["scripts"] if row["source"] is None][:MOST_BARS]
    values = [[its["tokens_per_character"] for its in row["tokenizers"]] for row in rows]
    names = [row["script"] for row in rows]
    return _drawn(partial(_bars, names=names, values=values, axis="tokens per character"), _bars_height(values))


def sizes(figures: dict[str, Any]) -> str | None:
    """Bytes per token at each size of the vocabularies."""
    curves = figures["sizes"]
    if not any(curves):
        return None

    def draw(axes: Axes) -> None:
        for number, curve in enumerate(curves):
            colour = _colour(number)
            if curve is None:
                row = figures["efficiency"]["all"][number]
                size = figures["tokenizers"][number]["vocab_size"]
                axes.plot([size], [row["bytes_per_token"]], "o", color=colour, markersize=5)
                continue
            for part, style in parts_of_curve(curve).items():
                axes.plot(curve["vocab_size"], curve[part]["bytes_per_token"], style, color=colour)
                axes.plot(curve["vocab_size"][-1], curve[part]["bytes_per_token"][-1], "o", color=colour, markersize=4)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=10))
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value / 1024:g}k" if value >= 1024 else f"{value:g}")
        )
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("ids in the vocabulary")
        axes.set_ylabel("bytes per token")

    return _drawn(draw)


def gains(figures: dict[str, Any]) -> str | None:
    """What share of the tokens each stretch of merges saves."""
    rows = (figures["gains"] or [])[1:]  # the first stretch would leave nothing to see of the others
    if not rows:
        return None

    def draw(axes: Axes) -> None:
        shares = [100 * row["of_tokens"] if row["of_tokens"] else float("nan") for row in rows]
        axes.plot(range(len(rows)), shares, "o-", color=SERIES[0], markersize=4)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        step = max(1, -(-len(rows) // 5))
        shown = range(len(rows) - 1, -1, -step)
        axes.set_xticks(list(shown), [f"{rows[at]['stop']:,}" for at in shown])
        axes.set_xlabel(f"merges, {rows[-1]['stop'] - rows[-1]['first']:,} a point")
        axes.set_ylabel("tokens saved, %")
        axes.grid(visible=False, axis="x")

    return _drawn(draw)


def frequencies(figures: dict[str, Any]) -> str | None:
    """Counts of the tokens by rank."""

    def draw(axes: Axes) -> None:
        for number, its in enumerate(figures["frequencies"]):
            if its["points"]:
                axes.plot(*zip(*its["points"], strict=True), color=_colour(number))
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("tokens by how often they occur")
        axes.set_ylabel("occurrences")

    return _drawn(draw)


def lengths(figures: dict[str, Any]) -> str | None:
    """The first tokenizer's tokens by length: of the vocabulary, and as they stand in the texts."""
    most = 24

    def draw(axes: Axes) -> None:
        for at, (part, colour) in enumerate((("vocabulary", SERIES[0]), ("texts", SERIES[1]))):
            counts = {int(length): n for length, n in figures["lengths"][0][part].items()}
            whole = sum(counts.values())
            shares = [100 * counts.get(length, 0) / max(1, whole) for length in range(1, most)]
            shares.append(100 * sum(n for length, n in counts.items() if length >= most) / max(1, whole))
            axes.bar([length + 0.4 * at - 0.2 for length in range(1, most + 1)], shares, width=0.4, color=colour)
        axes.set_xticks([1, *range(4, most, 4), most], ["1", *map(str, range(4, most, 4)), f"{most}+"])
        axes.set_xlabel("bytes in a token")
        axes.set_ylabel("tokens, %")
        axes.grid(visible=False, axis="x")

    return _drawn(draw)


def completeness(figures: dict[str, Any]) -> str | None:
    """Whole characters, several, fragments: shares of the vocabulary and of the texts, for each tokenizer."""
    rows = []
    for number, its in enumerate(figures["completeness"], 1):
        rows += [(f"{number}: vocabulary", its["vocabulary"]), (f"{number}: texts", its["texts"])]

    def draw(axes: Axes) -> None:
        for at, (_, parts) in enumerate(reversed(rows)):
            left = 0.0
            for colour, n in zip(SERIES, parts.values(), strict=False):
                share = 100 * n / max(1, sum(parts.values()))
                axes.barh(at, share, left=left, color=colour, height=0.7)
                left += share
        axes.set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the tokens, %")
        axes.grid(visible=False, axis="y")

    return _drawn(draw, 0.9 + 0.28 * len(rows))


def label(name: str) -> str:
    """A name for a chart: its end, where file names differ, and nothing that is no letter to look at."""
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return shown if len(shown) <= LABEL_LENGTH else f"...{shown[3 - LABEL_LENGTH :]}"


def short(value: float) -> str:
    """A number in few letters: 512, 8k, 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.4g}"


def _bars(axes: Axes, names: Sequence[str], values: Sequence[Sequence[float | None]], axis: str) -> None:
    """Groups of horizontal bars, the first group on top."""
    n = len(values[0]) if values else 1
    for at, group in enumerate(values):
        for number, value in enumerate(group):
            place = at + (number - (n - 1) / 2) * 0.8 / n
            axes.barh(place, value or 0, height=0.8 / n, color=_colour(number))
            axes.annotate(
                f"{value or 0:.2f}", (value or 0, place), (3, 0), textcoords="offset points", va="center", fontsize=8
            )
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(axis)
    axes.margins(x=0.1)
    axes.grid(visible=False, axis="y")


def _bars_height(values: Sequence[Sequence[Any]]) -> float:
    n = len(values[0]) if values else 1
    return 0.8 + len(values) * (0.16 + 0.15 * n)


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def _drawn(draw: Callable[[Axes], None], height: float = 2.9) -> str:
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that matplotlib's own font lacks: the page's font draws them
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        target = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(target, format="svg", metadata=nothing)
    return _for_a_page(target.getvalue())


def _for_a_page(svg: str) -> str:
    """The <svg> element alone, its width and colours the page's, without names that other charts have too."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', svg, count=1)
    used = {name for pair in re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', svg) for name in pair if name}
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg.strip()


def _opened(svg: str) -> str:
    """The tag that begins a file."""
    box = re.match(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert box is not None
    size = f'width="{float(box[1]) * 1.5:g}" height="{float(box[2]) * 1.5:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {box[1]} {box[2]}" {size}>'


def _renamed(svg: str, chart: str) -> str:
    """With ids that no other chart on the page has."""
    return re.sub(r'(\bid="|url\(#|\bhref="#)', rf"\g<1>{chart}-", svg)
