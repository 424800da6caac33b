"""The named split patterns. The text of each stands here and nowhere else.

Two spellings of the GPT-4 family are in use and cut some texts differently: ``cl100k`` is tiktoken's (its ``\\s++$``
takes all white space at the end of the text, line ends included, as one chunk), ``llama3`` is the one of Llama 3's
tokenizer.json, which early tiktoken had too.
"""

import re

from ..errors import PatternError

_CONTRACTIONS = r"'s|'t|'re|'ve|'m|'ll|'d"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_LINES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

# AL-1's published text is ``'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+`` for Python's ``re``,
# where \w is str.isalnum() or "_" (letters and all numbers, no marks), \d is Nd, and \s has U+001C..1F as well. Each
# Python brings its own Unicode; 3.11's, Unicode 14, is taken, so a letter that came later is punctuation here.
_AL1_SPACE = r"\s\x1C-\x1F"
_AL1_KNOWN = r"(?=\p{Age=14.0})"

NAMED: dict[str, str | None] = {
    "gpt2": _CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k": (
        rf"{_LEAD}{_UPPER}*{_LOWER}+(?i:{_CONTRACTIONS})?|{_LEAD}{_UPPER}+{_LOWER}*(?i:{_CONTRACTIONS})?"
        rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES}"
    ),
    "llama3": (rf"(?i:{_CONTRACTIONS})|{_LEAD}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES}"),
    "qwen2": rf"(?i:{_CONTRACTIONS})|{_LEAD}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES}",
    "tekken": (
        rf"{_LEAD}{_UPPER}*{_LOWER}+|{_LEAD}{_UPPER}+{_LOWER}*"
        rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES}"
    ),
    "poetry": (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+(?:[，。！？；])?| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    "al1": (
        rf"{_CONTRACTIONS}| ?(?:{_AL1_KNOWN}[\p{{L}}\p{{Nl}}\p{{No}}_])+| ?(?:{_AL1_KNOWN}\p{{Nd}})+"
        rf"| ?(?:\P{{Age=14.0}}|[^{_AL1_SPACE}\p{{L}}\p{{N}}_])+"
        rf"|[{_AL1_SPACE}]+(?![^{_AL1_SPACE}])|[{_AL1_SPACE}]+"
    ),
    "none": None,
}
"""Name -> pattern text; ``none`` has none: the whole document is one chunk."""


def name_of(text: str | tuple[str, ...] | None) -> str | None:
    """The name of a pattern's text, None when it has none."""
    return next((name for name, named in NAMED.items() if named == text), None)


def resolve(pattern: object) -> tuple[str | None, str | tuple[str, ...] | None]:
    """(name, text) of what a user gives as pattern; several in a row have no name and a tuple of texts.

    Raises PatternError for what is neither a name nor a text.
    """
    if isinstance(pattern, list | tuple):
        return None, tuple(text for one in pattern if (text := _resolved(one)[1]) is not None)
    return _resolved(pattern)


def _resolved(pattern: object) -> tuple[str | None, str | None]:
    if pattern is None:
        return "none", None
    if not isinstance(pattern, str):
        raise PatternError(
            "a pattern is a name or the text of a regular expression, or several in a list, "
            f"not {type(pattern).__name__}"
        )
    if pattern in NAMED:
        return pattern, NAMED[pattern]
    if re.fullmatch(r"[A-Za-z0-9_-]{0,100}", pattern):
        raise PatternError(
            f"no pattern is called {pattern!r}; the names are {', '.join(NAMED)} "
            "(to have it read as a regular expression, put it into a group)"
        )
    return name_of(pattern), pattern
