"""fastbpe inspect: what a tokenizer file holds."""

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from fastbpe.cli import options

if TYPE_CHECKING:
    from fastbpe.tokenizer import Tokenizer

BAR = 40
LONG = 32


def inspect(
    tokenizer: options.TokenizerFile,
    /,
    *,
    merges: Annotated[int, Parameter(help="How many of the first and of the last merges to list.")] = 10,
    longest: Annotated[int, Parameter(help="How many of the longest tokens to list.")] = 10,
    json: options.Json = False,
) -> None:
    """Describe a tokenizer: ids, special tokens, pattern, training, token lengths, longest tokens, merges."""
    from fastbpe.formats import load

    facts = described(load(tokenizer), max(0, merges), max(0, longest))
    print(json_module.dumps(facts, ensure_ascii=False) if json else told(str(tokenizer), facts))


def described(tokenizer: "Tokenizer", n_merges: int, n_longest: int) -> dict[str, Any]:
    """All that is printed, as plain values."""
    from fastbpe.alphabet import visible
    from fastbpe.weight import weighted

    model = tokenizer.model

    def count_of(rank: int) -> int | str | None:
        if model.counts is None:
            return None
        count = int(model.counts[rank])
        return count if model.denominator == 1 else weighted(count, model.denominator)

    lengths: dict[int, int] = {}
    for token in model.tokens:
        lengths[len(token)] = lengths.get(len(token), 0) + 1
    by_length = sorted(zip(model.tokens, model.ids.tolist(), strict=True), key=lambda item: (-len(item[0]), item[1]))
    by_id = dict(zip(model.ids.tolist(), model.tokens, strict=True))
    rows = [
        {
            "rank": rank,
            "id": product,
            "left": visible(by_id[left]),
            "right": visible(by_id[right]),
            "token": visible(by_id[product]),
            "count": count_of(rank),
        }
        for rank, (left, right, product) in enumerate(model.merges.tolist())
        if rank < n_merges or rank >= len(model.merges) - n_merges
    ]
    return {
        "vocab_size": tokenizer.vocab_size,
        "id_limit": tokenizer.id_limit,
        "merges": len(model.merges),
        "special_tokens": dict(tokenizer.special_tokens),
        "roles": model.roles,
        "pattern_name": tokenizer.pattern_name,
        "pattern": tokenizer.pattern,
        "unmatched": model.unmatched,
        "fingerprint": tokenizer.fingerprint,
        "record": tokenizer.record,
        "token_lengths": dict(sorted(lengths.items())),
        "longest_tokens": [
            {"id": id, "bytes": len(token), "token": visible(token)} for token, id in by_length[:n_longest]
        ],
        "listed_merges": rows,
    }


def told(name: str, facts: dict[str, Any]) -> str:
    """The facts for people."""
    pattern = "none: a document is one chunk" if facts["pattern"] is None else facts["pattern"]
    named = f" ({facts['pattern_name']})" if facts["pattern_name"] and facts["pattern"] else ""
    lines = [
        name,
        f"  ids          {facts['vocab_size']:,} (largest {facts['id_limit'] - 1:,}): "
        f"{facts['vocab_size'] - len(facts['special_tokens']) - facts['merges']:,} bytes, {facts['merges']:,} merges, "
        f"{len(facts['special_tokens']):,} special tokens",
        f"  pattern      {pattern}{named}",
        f"  fingerprint  {facts['fingerprint']}",
    ]
    roles = {token: role for role, token in facts["roles"].items()}
    for token, id in facts["special_tokens"].items():
        lines.append(f"  special      {id:>7,}  {token}" + (f"  ({roles[token]})" if token in roles else ""))
    lines += ["", "Training", *_record(facts["record"])]
    lines += ["", "Token lengths (bytes: tokens)", *_histogram(facts["token_lengths"])]
    if facts["longest_tokens"]:
        lines += ["", "Longest tokens (id, bytes)"]
        lines += [f"  {row['id']:>7,}  {row['bytes']:>4}  |{row['token']}|" for row in facts["longest_tokens"]]
    if facts["listed_merges"]:
        lines += ["", "Merges, first and last (rank, count)"]
        last = -1
        for row in facts["listed_merges"]:
            if row["rank"] > last + 1:
                lines.append("      ...")
            last = row["rank"]
            count = "" if row["count"] is None else _plain(row["count"])
            lines.append(f"  {last:>7,}  {count:>13}  |{row['left']}|{row['right']}|")
    return "\n".join(lines)


def _record(record: dict[str, Any] | None) -> list[str]:
    if not record:
        return ["  not trained by fastbpe, or not recorded"]
    lines = []
    for key, value in record.items():
        shown = value
        if isinstance(value, dict):
            shown = ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
        lines.append(f"  {key:<12} {_plain(shown)}")
    return lines


def _plain(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "none" if value is None or value == [] else str(value)


def _histogram(lengths: dict[int, int]) -> list[str]:
    """A bar for each length, and above LONG one for each doubling: long tokens are few, of many lengths."""
    bars: dict[str, int] = {}
    for length, n in lengths.items():
        name = str(length)
        if length > LONG:
            power = (length - 1).bit_length()
            name = f"{2 ** (power - 1) + 1}-{2**power}"
        bars[name] = bars.get(name, 0) + n
    most = max(bars.values())
    return [f"  {name:>7}: {n:>7,}  {'█' * max(1, round(BAR * n / most))}" for name, n in bars.items()]
