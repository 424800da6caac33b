"""The page: one HTML file that asks nobody for anything. Charts, styles, script and data are in it.

What comes from texts and file names goes through jinja2's escaping, the script writes it as text only, and the page's
content security policy lets no other script run and nothing be loaded.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fastbpe import __version__
from fastbpe.alphabet import show_token, visible
from fastbpe.pipeline.progress import amount
from fastbpe.report.charts import COLOURS, MOST_BARS, charts, short
from fastbpe.report.learning import parts_of_curve

TEMPLATES = Path(__file__).parent / "templates"
TABLE_SIZES = 12
"""Rows of the table of sizes."""


def render(figures: dict[str, Any]) -> str:
    """The page of the figures that `gather` found. Equal figures give equal pages."""
    figures = figures | {part: _named(figures[part]) for part in ("tokenizers", "sources")}
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":"), "sort_keys": True}
    environment.filters |= {
        "whole": whole,
        "decimals": decimals,
        "percent": percent,
        "short": short,
        "size": lambda n: amount(n, "bytes"),
    }
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return environment.get_template("report.html.jinja").render(
        figures=figures,
        charts={name: Markup(svg) for name, svg in charts(figures).items()},
        excerpts=[_pieces(figures, number) for number in range(len(figures["tokenizers"]))],
        curve_rows=_curve_rows(figures),
        curve_parts=[curve and list(parts_of_curve(curve)) for curve in figures["sizes"]],
        data={
            "samples": [{"tokens": sample["tokens"]} for sample in figures["samples"]],
            "vocabulary": figures["vocabulary"],
        },
        style=Markup(COLOURS.read_text(encoding="utf-8") + (TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        most_bars=MOST_BARS,
        version=__version__,
    )


def _named(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokenizers or sources with names that are fit to be seen."""
    return [{**entry, "name": visible(entry["name"].encode())} for entry in entries]


def whole(n: int | None) -> str:
    """A whole number with commas; a dash for none."""
    return "–" if n is None else f"{n:,}"


def decimals(value: float | None, n: int = 2) -> str:
    """A number with n decimals; a dash for none."""
    return "–" if value is None else f"{value:,.{n}f}"


def percent(share: float | None) -> str:
    """A share as a percentage, with more digits where it is small; a dash for none."""
    if share is None:
        return "–"
    return f"{100 * share:.1f} %" if share >= 0.01 or not share else f"{100 * share:.2f} %"


def _pieces(figures: dict[str, Any], number: int) -> list[list[list[dict[str, Any]]]]:
    """A tokenizer's tokens of each excerpt of each source: id, text to show, whether a line ends with it."""
    sample = figures["samples"][number]
    pieces = {}
    for id, token in sample["tokens"].items():
        data = bytes.fromhex(token["hex"])
        pieces[int(id)] = {
            "id": id,
            "text": visible(data),
            "ends": data.endswith(b"\n"),
            "fragment": token["kind"] == "fragments",
            "plain": show_token(data) == visible(data),
        }
    return [[[pieces[id] for id in excerpt] for excerpt in source] for source in sample["sources"]]


def _curve_rows(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table of the first tokenizer's sizes, from the largest down, each about half of the one before."""
    curve = figures["sizes"][0]
    if curve is None:
        return []
    rows: list[dict[str, Any]] = []
    last = None
    whole_size = curve["vocab_size"][-1]
    tokens = curve["all"]["tokens"]
    for at in range(len(tokens) - 1, -1, -1):
        size = curve["vocab_size"][at]
        if last is None or size <= last * 0.72 or at == 0:
            rows.append(
                {
                    "vocab_size": size,
                    "of_size": size / whole_size,
                    "tokens": tokens[at],
                    "more": tokens[at] / tokens[-1] - 1 if tokens[-1] else 0.0,
                    **{part: curve[part]["bytes_per_token"][at] for part in parts_of_curve(curve)},
                }
            )
            last = size
        if len(rows) == TABLE_SIZES:
            break
    return rows
