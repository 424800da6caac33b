"""What writers of tokenizer files share: whether a format can hold a model so that its ids stay the same.

Two facts are used throughout. While a token is built out of its bytes, what happens within its span is what happens
when its bytes stand alone: merges go lowest rank first, then leftmost, and none may cross its borders before it is
there. So of all the pairs that would give a token only one ever merges, the one that merges last when the token stands
alone, and a rank table encodes as the merge list of these pairs does (`Model.last_merges`); a merge list encodes as a
rank table does when both have the same such pairs in the same order.
"""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import ParameterError
from fastbpe.formats.reading import shown
from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.ranktable import last_pairs
from fastbpe.model import Model, model_of_ranks
from fastbpe.pattern.named import NAMED
from fastbpe.pattern.spelling import Spelling


def built(model: Model) -> NDArray[np.bool_]:
    """Which of the ordinary tokens the merges build out of their bytes; the bytes are built."""
    return np.isin(model.ids, model.byte_ids) | np.isin(model.ids, _reached(model)[:, 2])


def merges_in(model: Model, what: str) -> NDArray[np.int64]:
    """(n, 3): left, right and product of merges that alone give the model's ids.

    Raises ParameterError when the model takes a chunk that is a token whole and the merges would not build it.
    """
    if model.whole_chunk_first and not (there := built(model)).all():
        row = int(np.argmin(there))
        raise ParameterError(
            f"{what} merges only: the token {shown(model.tokens[row])} (id {model.ids[row]}) is built by no merges, "
            f"it is only taken when a chunk is exactly that ({int((~there).sum())} tokens are of this kind)"
        )
    return model.last_merges


def ranks_in(model: Model, what: str) -> dict[bytes, int]:
    """{bytes: id} of the ordinary tokens, for a format in which ids are ranks and whole chunks come first.

    Raises ParameterError when such a rank table would encode otherwise than the model.
    """
    if not model.whole_chunk_first and not (there := built(model)).all():
        row = int(np.argmin(there))
        raise ParameterError(
            f"{what} takes a chunk that is a token whole, but no merges build the token {shown(model.tokens[row])} "
            f"(id {model.ids[row]}), so that this tokenizer never gives it"
        )
    if model.priority == "merge list":
        ours = _reached(model)
        theirs = model_of_ranks(model.token_ids).last_merges
        if not np.array_equal(ours, theirs):
            n = min(len(ours), len(theirs))
            at = int(np.argmax((ours[:n] != theirs[:n]).any(1))) if (ours[:n] != theirs[:n]).any() else n
            token = model.tokens[int(np.searchsorted(model.ids, (ours if at < len(ours) else theirs)[at, 2]))]
            raise ParameterError(
                f"{what} has a token's id for its rank, and would merge to {shown(token)} in another order than "
                "this tokenizer: its ids do not follow its merges"
            )
    return model.token_ids


def trained_pairs(model: Model, what: str) -> NDArray[np.int64]:
    """(n, 2): the merges, for a format in which the 256 bytes are the ids 0 .. 255 and merge k is 256 + k."""
    merges = merges_in(model, what)
    if not (
        np.array_equal(model.ids, np.arange(len(model.ids)))
        and np.array_equal(model.byte_ids, np.arange(256))
        and np.array_equal(merges[:, 2], np.arange(256, len(model.ids)))
    ):
        raise ParameterError(f"{what} holds only ids in the order bytes, merges, special tokens: these would change")
    return merges[:, :2]


def one_pattern(model: Model, what: str) -> str | None:
    """The model's pattern. Raises ParameterError for several in a row, or one that keeps unmatched text."""
    if isinstance(model.pattern, tuple):
        raise ParameterError(f"{what} has one pattern, this tokenizer splits by {len(model.pattern)} in a row")
    if model.unmatched != "refuse":
        raise ParameterError(f"{what} drops the text that its pattern leaves unmatched, this tokenizer keeps it")
    return model.pattern


def no_normalizer(model: Model, what: str) -> None:
    """Raises ParameterError when the model normalizes text."""
    if model.normalizer is not None:
        raise ParameterError(f"{what} has no normalizer, this tokenizer has {model.normalizer}")


def spelled(spelling: Spelling, engine: str) -> str:
    """The spelling's text. Raises ParameterError with the reason when there is none."""
    if spelling.text is None:
        raise ParameterError(f"the pattern cannot be written for {engine}: {spelling.reason}")
    return spelling.text


@cache
def named_spellings(spell: Callable[[str], Spelling]) -> dict[str | None, str]:
    """Texts of the named patterns by how `spell` writes them: who reads a spelling there means the named pattern."""
    return {spell(text).text: text for text in NAMED.values() if text is not None}


def no_beginning_of_another(names: Iterable[str], what: str) -> None:
    """Raises ParameterError when one name begins another: of the two the format's readers may take the shorter."""
    last = None
    for name in sorted(names):
        if last is not None and name.startswith(last):
            raise ParameterError(f"{what} may take the special token {last!r} where this tokenizer takes {name!r}")
        last = name


def overlap(first: Iterable[str], second: Iterable[str], inside: bool = True) -> tuple[str, str] | None:
    """A name of the one and another name of the other of which one ends with what the other begins with.

    `inside`: or of which one holds the other. None when there are no such two.
    """
    sides = list(first), list(second)
    for some, others in (sides, sides[::-1]):
        begins: dict[str, list[str]] = {}
        for name in some:
            for end in range(1, len(name) + 1):
                alike = begins.setdefault(name[:end], [])
                if len(alike) < 3:  # one that is neither the name that is looked at nor its end is among them
                    alike.append(name)
        names = set(some)
        for name in others:
            for start in range(len(name)):
                rest = name[start:]
                for other in begins.get(rest, ()) if start else ():
                    if other not in (name, rest):
                        return other, name
                for end in range(start + 1, len(name) + 1) if inside else ():
                    part = name[start:end]
                    if part not in begins:
                        break
                    if part in names and part != name:
                        return part, name
    return None


def _reached(model: Model) -> NDArray[np.int64]:
    """(n, 3): the merges that ever happen, lowest rank first."""
    if model.priority == "rank table":
        return model.last_merges
    table = MergeList(model.byte_ids, np.ascontiguousarray(model.merges))
    halves = last_pairs(table, model.data, model.starts, model.ids)
    there = halves[:, 0] >= 0
    rows = np.column_stack((halves[there], model.ids[there].astype(np.int64)))
    pairs = (model.merges[:, 0] << 32) | model.merges[:, 1]
    order = np.argsort(pairs)
    ranks = order[np.searchsorted(pairs[order], (rows[:, 0] << 32) | rows[:, 1])]
    return rows[np.argsort(ranks)]
