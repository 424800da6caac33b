"""fastbpe inspect: what a tokenizer file holds."""

import json as json_module
import os
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from fastbpe.cli import options
from fastbpe.errors import ParameterError
from fastbpe.text import counted

if TYPE_CHECKING:
    from fastbpe.report.vocabulary import Vocabulary
    from fastbpe.tokenizer import Tokenizer

BAR = 40
LONG = 32
LISTED = 12


def inspect(
    tokenizer: options.TokenizerFile,
    /,
    *,
    token: Annotated[
        str | None,
        Parameter(help="Show how merges build this token, given as text.", allow_leading_hyphen=True),
    ] = None,
    token_id: Annotated[int | None, Parameter(help="Show how merges build the token with this id.")] = None,
    merges: Annotated[int, Parameter(help="How many of the first and of the last merges to list.")] = 10,
    longest: Annotated[int, Parameter(help="How many of the longest tokens to list.")] = 10,
    json: options.Json = False,
) -> None:
    """Describe a tokenizer: ids, special tokens, pattern, training, what its tokens are, its merges."""
    from fastbpe.formats import load

    if token is not None and token_id is not None:
        raise ParameterError("--token and --token-id: one or the other")
    loaded = load(tokenizer)
    if token is not None or token_id is not None:
        id = token_id if token_id is not None else loaded.token_to_id(os.fsencode(token or ""))
        nodes = derivation(loaded, id)
        print(json_module.dumps(nodes, ensure_ascii=False) if json else drawn(nodes))
        return
    facts = described(loaded, max(0, merges), max(0, longest))
    print(json_module.dumps(facts, ensure_ascii=False) if json else told(str(tokenizer), facts))


def described(tokenizer: "Tokenizer", n_merges: int, n_longest: int) -> dict[str, Any]:
    """All that is printed, as plain values."""
    from fastbpe.alphabet import visible
    from fastbpe.report.vocabulary import KINDS, length_histogram, scripts, shares, unbuildable, vocabulary_of

    model = tokenizer.model
    vocabulary = vocabulary_of(tokenizer)
    by_length = sorted(zip(model.tokens, model.ids.tolist(), strict=True), key=lambda item: (-len(item[0]), item[1]))
    rows = [
        {
            "rank": rank,
            "id": int(vocabulary.ids[product]),
            "left": visible(vocabulary.tokens[left]),
            "right": visible(vocabulary.tokens[right]),
            "token": visible(vocabulary.tokens[product]),
            "count": count_of(vocabulary, rank),
        }
        for rank, (left, right, product) in enumerate(vocabulary.merges.tolist())
        if rank < n_merges or rank >= len(vocabulary.merges) - n_merges
    ]
    unbuilt = unbuildable(tokenizer)
    kinds = shares(vocabulary)
    return {
        "vocab_size": tokenizer.vocab_size,
        "id_limit": tokenizer.id_limit,
        "kind": model.priority,
        "merges": len(vocabulary.merges),
        "merged_tokens": int((vocabulary.ranks >= 0).sum()),
        "special_tokens": dict(tokenizer.special_tokens),
        "roles": model.roles,
        "pattern_name": tokenizer.pattern_name,
        "pattern": tokenizer.pattern,
        "unmatched": model.unmatched,
        "normalizer": model.normalizer,
        "fingerprint": tokenizer.fingerprint,
        "record": tokenizer.record,
        "token_lengths": length_histogram(vocabulary),
        "longest_tokens": [
            {"id": id, "bytes": len(token), "token": visible(token)} for token, id in by_length[:n_longest]
        ],
        "completeness": {name: kinds[name] for name in KINDS[:-1]},
        "scripts": scripts(vocabulary),
        "unbuildable": [{"id": id, "token": visible(tokenizer.token_bytes(id))} for id in unbuilt],
        "listed_merges": rows,
    }


def count_of(vocabulary: "Vocabulary", rank: int) -> int | str | None:
    """What a merge's pair counted in training, None when that is not known."""
    from fastbpe.weight import weighted

    if vocabulary.counts is None:
        return None
    count = int(vocabulary.counts[rank])
    return count if vocabulary.denominator == 1 else weighted(count, vocabulary.denominator)


def derivation(tokenizer: "Tokenizer", id: int) -> list[dict[str, Any]]:
    """The tree of merges that builds a token, each token before its parts: depth, id, token, rank, count.

    Raises DataError for an unknown id. A token that no merge builds is a tree of its own.
    """
    from fastbpe.alphabet import visible
    from fastbpe.report.vocabulary import vocabulary_of

    tokenizer.decode_bytes([id])
    vocabulary = vocabulary_of(tokenizer)
    nodes = []
    waiting = [(0, int(vocabulary.rows(np.array([id]))[0]))]
    while waiting:
        depth, row = waiting.pop()
        rank = int(vocabulary.ranks[row])
        nodes.append(
            {
                "depth": depth,
                "id": int(vocabulary.ids[row]),
                "token": visible(vocabulary.tokens[row]),
                "rank": None if rank < 0 else rank,
                "count": None if rank < 0 else count_of(vocabulary, rank),
            }
        )
        if rank >= 0:
            left, right, _ = vocabulary.merges[rank].tolist()
            waiting += [(depth + 1, right), (depth + 1, left)]
    return nodes


def drawn(nodes: list[dict[str, Any]]) -> str:
    """The tree for people."""
    lines = []
    to_come: list[bool] = []  # by depth, whether another part follows the one that is being drawn
    last = 0
    for node in nodes:
        depth = node["depth"]
        if depth:
            del to_come[depth - 1 :]
            to_come.append(depth > last)  # a first part stands right after its token
        branch = "".join("│  " if more else "   " for more in to_come[: depth - 1])
        branch += ("├─ " if to_come[-1] else "└─ ") if depth else ""
        merge = "" if node["rank"] is None else f"  merge {node['rank']:,}"
        count = "" if node["count"] is None else f", count {_plain(node['count'])}"
        lines.append(f"{branch}{node['id']} |{node['token']}|{merge}{count}")
        last = depth
    return "\n".join(lines)


def told(name: str, facts: dict[str, Any]) -> str:
    """The facts for people."""
    pattern = "none: a document is one chunk" if facts["pattern"] is None else facts["pattern"]
    named = f" ({facts['pattern_name']})" if facts["pattern_name"] and facts["pattern"] else ""
    lines = [
        name,
        f"  ids          {facts['vocab_size']:,} (largest {facts['id_limit'] - 1:,}): "
        f"{_made_of(facts)}, {counted(len(facts['special_tokens']), 'special token')}",
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
    lines += ["", "Tokens by script (whole characters, several, fragments)", *_scripts(facts)]
    if facts["unbuildable"]:
        lines += ["", f"No merge can build {len(facts['unbuildable']):,} tokens (found only as whole chunks, or never)"]
        lines += [f"  {row['id']:>7,}  |{row['token']}|" for row in facts["unbuildable"][:LISTED]]
        if len(facts["unbuildable"]) > LISTED:
            lines.append("      ... (--json lists all)")
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


def _made_of(facts: dict[str, Any]) -> str:
    ordinary = facts["vocab_size"] - len(facts["special_tokens"])
    if facts["kind"] == "characters":
        return f"{ordinary:,} characters"
    made = f" that make {facts['merged_tokens']:,} tokens" if facts["merged_tokens"] != facts["merges"] else ""
    others = ordinary - 256 - facts["merged_tokens"]
    rest = f", {others:,} tokens that none makes" if others else ""
    return f"256 bytes, {facts['merges']:,} merges{made}{rest}"


def _scripts(facts: dict[str, Any]) -> list[str]:
    rows = [("all", facts["completeness"]), *facts["scripts"].items()]
    width = max(len(name) for name, _ in rows[: LISTED + 1])
    lines = [f"  {name:<{width}} " + "".join(f" {n:>8,}" for n in kinds.values()) for name, kinds in rows[: LISTED + 1]]
    return lines + (["  ... (--json lists all)"] if len(rows) > LISTED + 1 else [])


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
