"""How the examples and recipes print: a title, then what was computed, in columns."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Sections = Mapping[str, Callable[[], Any]]


def show(sections: Sections) -> None:
    """Runs each section and prints the first line of its docstring above what it gives."""
    for name, section in sections.items():
        print(f"\n{name}  {(section.__doc__ or '').splitlines()[0]}")
        print("\n".join(lines(section())))


def lines(value: Any, indent: str = "    ") -> list[str]:
    """A dict as one entry a line, a list of rows as a table, a text of several lines as these, else one line."""
    if isinstance(value, dict):
        shown = []
        for key, entry in value.items():
            name = f"{indent}{cell(key)}"
            if isinstance(entry, dict) or is_table(entry) or is_long(entry):
                shown += [name, *lines(entry, indent + "    ")]
            else:
                shown.append(f"{name:<{len(indent) + max(map(len, map(cell, value)))}}  {cell(entry)}")
        return shown
    if is_table(value):
        return table(value, indent)
    if is_long(value):
        return [indent + line for line in value.splitlines()]
    return [f"{indent}{cell(value)}"]


def is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, list) for row in value)


def is_long(value: Any) -> bool:
    return isinstance(value, str) and value.count("\n") > 1


def table(rows: Sequence[Sequence[Any]], indent: str = "    ") -> list[str]:
    """Rows in columns, those with numbers to the right. Rows of ids or of tokens are not lined up."""
    cells = [[cell(value) for value in row] for row in rows]
    if len(set(map(len, cells))) > 1 or all(isinstance(value, str) for row in rows for value in row):
        return [indent + cell(list(row)) for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    numbers = [any(isinstance(value, int | float) for value in column) for column in zip(*rows, strict=True)]
    shown = []
    for row in cells:
        spaces = [" " * (most - width(text)) for text, most in zip(row, widths, strict=True)]
        columns = zip(row, spaces, numbers, strict=True)
        shown.append(indent + "  ".join(space + text if right else text + space for text, space, right in columns))
    return [line.rstrip() for line in shown]


def cell(value: Any) -> str:
    """Tokens and chunks stand between bars, so that their spaces show."""
    if isinstance(value, str):
        return value if value.isprintable() and value == value.strip() else repr(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}"
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "│" + "│".join(repr(item)[1:-1] if "\n" in item else item for item in value) + "│"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return str(value)


def width(text: str) -> int:
    """Places on a terminal: Chinese characters take two."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
