"""What people ask of a vocabulary, answered in sentences out of the figures.

The rules behind the verdicts are said in docs/choosing.md. They judge by the given texts, and say so.
"""

from typing import Any

from fastbpe.alphabet import visible
from fastbpe.report.characters import INVALID_GROUP, group_names

LAST = 1000
NEARLY_NOTHING, LITTLE, MUCH = 0.015, 0.05, 0.1
"""Shares of tokens that half of a vocabulary costs: below the first it is too big, above the last it may grow."""
ENOUGH_TEXT = 20
"""Tokens of text for each id below which what is never used says little."""
RARE = 0.5
"""The share of the tokens that may occur fewer than 100 times, as often as a model needs to see one to learn it."""
SCRIPT_SHARE = 0.01
DEAR = 1.4
"""Times its share of the bytes that characters without a script of their own take of the tokens, to be named."""

_NO_SCRIPT = {"spaces", "digits", "punctuation", "symbols", "other shared", "combining marks", INVALID_GROUP}


def answers(figures: dict[str, Any]) -> list[dict[str, str]]:
    """Questions and answers; those that the figures do not answer are left out."""
    asked = [
        ("Is the vocabulary too big?", _size(figures)),
        ("Which script pays?", _script(figures)),
        (f"What did the last {_last(figures):,} merges buy?", _last_merges(figures)),
        ("Which tokens are junk?", _junk(figures)),
        ("Does it fit text it was not trained on?", _held_out(figures)),
        ("How does it compare?", _others(figures)),
    ]
    return [{"question": question, "answer": answer} for question, answer in asked if answer]


def at_size(curve: dict[str, Any], vocab_size: float) -> int:
    """Tokens of the texts at a size of the vocabulary, between two points of its curve on a straight line."""
    sizes, tokens = curve["vocab_size"], curve["all"]["tokens"]
    for at in range(1, len(sizes)):
        if sizes[at] >= vocab_size:
            part = (vocab_size - sizes[at - 1]) / (sizes[at] - sizes[at - 1])
            return round(tokens[at - 1] + part * (tokens[at] - tokens[at - 1]))
    return int(tokens[-1])


def _size(figures: dict[str, Any]) -> str:
    card, tokens = figures["tokenizers"][0], figures["efficiency"]["all"][0]["tokens"]
    unused = figures["unused"][0]
    short = tokens < ENOUGH_TEXT * card["vocab_size"]
    rare = unused["below_hundred"] / unused["tokens"] if unused["tokens"] else 0.0
    half, more = card["vocab_size"] // 2, _cost_of_half(figures)
    said = []
    if more is not None and more < NEARLY_NOTHING:
        said.append("Yes, for this text: half of it does nearly as well.")
    elif rare > RARE and not short:
        said.append("Yes, for a model that learns from this text alone: it meets most of the tokens too rarely.")
    elif more is not None and more < LITTLE:
        said.append("Perhaps: the second half buys little.")
    elif more is not None:
        said.append("No: the second half is of use" + (", and a bigger one may be, too." if more > MUCH else "."))
    if more is not None:
        said.append(f"With half of its ids ({half:,}) the text would take {_percent(more)} more tokens")
        if figures["cost"]:
            model = figures["cost"][0]
            saved = model["tokenizers"][0]["tied"] // 2
            said[-1] += f", and a model {model['width']:,} wide {_millions(saved)} parameters fewer"
        said[-1] += "."
    covering = figures["frequencies"][0]["covering"]["0.99"]
    said.append(
        f"{covering:,} of its {card['vocab_size']:,} tokens make up 99 % of the text; of those longer than a byte "
        f"{_percent(rare)} occur fewer than 100 times, {_percent(unused['of_tokens'])} never."
    )
    if short:
        said.append(f"But the text is short for such a judgement: {tokens:,} tokens.")
    return " ".join(said)


def _cost_of_half(figures: dict[str, Any]) -> float | None:
    """The share of tokens that half of the vocabulary would take more; None where that is not known."""
    curve, tokens = figures["sizes"][0], figures["efficiency"]["all"][0]["tokens"]
    half = figures["tokenizers"][0]["vocab_size"] // 2
    if curve is None or not tokens or half < curve["vocab_size"][0]:
        return None
    return at_size(curve, half) / tokens - 1


def _script(figures: dict[str, Any]) -> str:
    rows = [row for row in figures["scripts"] if row["source"] is None and (row["of_bytes"] or 0) >= SCRIPT_SHARE]
    own = [row for row in rows if row["script"] in group_names() and row["script"] not in _NO_SCRIPT]
    if not own:
        return ""

    def price(row: dict[str, Any]) -> float:
        return row["tokenizers"][0]["tokens_per_character"] or 0.0

    dearest = max(own, key=price)
    first = dearest["tokenizers"][0]
    said = [
        f"{dearest['script']} takes {first['tokens_per_character']:.2f} tokens a character: "
        f"{_percent(first['of_tokens'])} of the tokens for {_percent(dearest['of_bytes'])} of the bytes."
    ]
    if len(own) > 1:
        cheapest = min(own, key=price)
        times = price(dearest) / price(cheapest) if price(cheapest) else 0
        said.append(
            f"{cheapest['script']} is the cheapest with {price(cheapest):.2f}"
            + (f", {times:.1f} times less." if times >= 1.05 else ".")
        )
    dear = [
        f"{row['script']}, {_percent(row['tokenizers'][0]['of_tokens'])} for {_percent(row['of_bytes'])}"
        for row in rows
        if row["script"] in _NO_SCRIPT and row["tokenizers"][0]["of_tokens"] > DEAR * row["of_bytes"]
    ]
    if dear:
        said.append(f"Dear beside the scripts: {'; '.join(dear)}.")
    for card, its in zip(figures["tokenizers"][1:], dearest["tokenizers"][1:], strict=True):
        said.append(f"With {_name(card)}, {dearest['script']} takes {its['tokens_per_character']:.2f}.")
    return " ".join(said)


def _last(figures: dict[str, Any]) -> int:
    return min(LAST, max(1, figures["tokenizers"][0]["merges"] // 2))


def _last_merges(figures: dict[str, Any]) -> str:
    card, bought = figures["tokenizers"][0], figures["last"]
    if bought is None:
        return ""
    said = f"{bought['saved']:,} tokens, {_percent(bought['of_tokens'])} of what the text would take without them"
    if bought["per_merge"] is not None:
        said += f": {bought['per_merge']:,.1f} for each merge, where the first {bought['merges']:,} saved "
        said += f"{bought['first_per_merge']:,.0f}"
    said += f". {bought['never_used']:,} of the tokens they made never stand in it."
    best = ", ".join(f"|{_clipped(row['token'])}|" for row in bought["best"][:6])
    return said + (f" Most of use: {best}." if best and card["merges"] else "")


def _junk(figures: dict[str, Any]) -> str:
    unused, card = figures["unused"][0], figures["tokenizers"][0]
    said = [
        f"{unused['never_used']:,} tokens never stand in the text; {unused['steps']:,} of them are steps towards "
        f"tokens that do, {unused['idle']:,} are idle: without them nothing would change."
    ]
    examples = ", ".join(f"|{_clipped(row['token'])}|" for row in unused["longest_idle"][:6])
    if examples:
        said.append(f"The longest idle ones: {examples}.")
    said.append(f"{unused['below_ten']:,} more stand in it fewer than ten times: a model hardly learns them.")
    divided = figures["completeness"][0]
    fragments, all_of_it = divided["texts"]["fragments"], sum(divided["texts"].values())
    if all_of_it:
        said.append(
            f"{divided['vocabulary']['fragments']:,} tokens are fragments of characters, "
            f"{_percent(fragments / all_of_it)} of the tokens in the text."
        )
    if card["unbuildable"]["tokens"]:
        said.append(f"{card['unbuildable']['tokens']:,} tokens no merge can build.")
    return " ".join(said)


def _held_out(figures: dict[str, Any]) -> str:
    rows = figures["efficiency"]
    if rows["held_out"] is None:
        return ""
    seen, unseen = rows["training"][0]["bytes_per_token"], rows["held_out"][0]["bytes_per_token"]
    if not seen or not unseen:
        return ""
    worse = 1 - unseen / seen
    return (
        f"Held-out text has {unseen:.2f} bytes per token, the other text {seen:.2f}: "
        f"{_percent(abs(worse))} {'less' if worse > 0 else 'more'}."
    )


def _others(figures: dict[str, Any]) -> str:
    first = figures["efficiency"]["all"][0]
    said = []
    for card, row in zip(figures["tokenizers"][1:], figures["efficiency"]["all"][1:], strict=True):
        if not row["tokens"]:
            continue
        more = first["tokens"] / row["tokens"] - 1
        times = figures["tokenizers"][0]["vocab_size"] / card["vocab_size"]
        said.append(
            f"It takes {_percent(abs(more))} {'more' if more > 0 else 'fewer'} tokens than {_name(card)}, with "
            f"{times:.2f} times its ids."
        )
    return " ".join(said)


def _name(card: dict[str, Any]) -> str:
    return visible(card["name"].encode())


def _clipped(token: str) -> str:
    return token if len(token) <= 24 else f"{token[:24]}…"


def _percent(share: float | None) -> str:
    if share is None:
        return "none"
    return f"{100 * share:.2f} %" if share < 0.01 else f"{100 * share:.1f} %"


def _millions(n: int) -> str:
    return f"{n / 1e6:,.1f} M"
