"""What an encoding call does about special tokens: which are cut out, which raise, what goes around each text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fastbpe.errors import DataError, ParameterError
from fastbpe.kernels.special import SpecialTrie, make_spans
from fastbpe.model import Model, list_names
from fastbpe.normalizing import normalize_spans

Names = Iterable[str] | str
Data = bytes | NDArray[np.uint8]
SomeData = TypeVar("SomeData", bound=Data)

SHOWN = 20
"""Names that an error lists."""


@dataclass(frozen=True)
class Specials:
    """What one encoding call does about special tokens."""

    trie: SpecialTrie | None = None
    """Those to look for; None: all text is ordinary."""
    refused: dict[int, str] = field(default_factory=dict)
    """Names by id of those that raise."""
    bos: int = -1
    """Id to put before each text, -1: none."""
    eos: int = -1
    """Id to put behind each text, -1: none."""
    normalizer: str | None = None
    """What is done to the text between special tokens: NFC, NFKC or nothing."""

    @property
    def none(self) -> bool:
        """Whether each text is encoded as it is."""
        return self.trie is None and self.bos < 0 and self.eos < 0 and self.normalizer is None

    def spans(
        self, data: SomeData, ends: NDArray[np.int64], first_text: int | None = None
    ) -> tuple[SomeData, NDArray[np.int64], NDArray[np.int64]]:
        """The data as they are to be split, spans of the texts that follow one another in them, and where each text's
        begin (see make_spans). With a normalizer, data are bytes.

        Raises DataError where a refused token stands, naming the text by its number from first_text on, if given.
        """
        spans, firsts = self.marked(data, ends, first_text)
        if self.normalizer is None:
            return data, spans, firsts
        normal, spans = normalize_spans(cast(bytes, data), spans, self.normalizer)
        return cast(SomeData, normal), spans, firsts

    def marked(
        self, data: Data, ends: NDArray[np.int64], first_text: int | None = None, position: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `spans`, of text that is not normalized yet; `position` is where in the first text data begin."""
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        spans, firsts = make_spans(data, starts, ends, self.trie, self.bos, self.eos)
        if self.refused:
            # Few different ones stand in a text, however many there are.
            standing = np.where(spans[:, 1] > spans[:, 0], spans[:, 3], -1)
            found = [id for id in np.unique(standing).tolist() if id in self.refused]
            if found:
                row = int(np.argmax(np.isin(standing, found)))
                text = int(np.searchsorted(firsts, row, side="right")) - 1
                place = f"byte {spans[row, 0] - starts[text] + (0 if text else position)}"
                if first_text is not None:
                    place += f" of text {first_text + text}"
                raise DataError(
                    f"the special token {self.refused[int(spans[row, 3])]!r} stands at {place} and is disallowed: name "
                    "it in allowed_special to encode it as one id, or take it out of disallowed_special to encode it "
                    "as text"
                )
        return spans, firsts


class SpecialChooser:
    """Makes the Specials of a model's calls; the search for names is made ready once for each choice."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._made: dict[tuple[Names, Names], tuple[SpecialTrie, dict[int, str]]] = {}

    def choose(
        self, allowed: Names = (), disallowed: Names = (), add_bos: bool = False, add_eos: bool = False
    ) -> Specials:
        """See `Tokenizer.encode`. Raises ParameterError for names and roles that the model does not have."""
        bos = self._role("bos") if add_bos else -1
        eos = self._role("eos") if add_eos else -1
        if not allowed and not disallowed:
            return Specials(None, {}, bos, eos, self._model.normalizer)
        return Specials(*self._choice(allowed, disallowed), bos, eos, self._model.normalizer)

    def _choice(self, allowed: Names, disallowed: Names) -> tuple[SpecialTrie, dict[int, str]]:
        """What to look for, and the names by id of those that raise."""
        key = _hashable(allowed), _hashable(disallowed)
        try:
            choice = self._made.get(key)
        except TypeError:  # a name that cannot be hashed is none, as will be said
            choice = None
        if choice is None:
            cut_out, refused = self._sets(*key)
            ids = self._model.special_tokens
            trie = SpecialTrie([(name.encode(), ids[name]) for name in cut_out + refused])
            choice = trie, {ids[name]: name for name in refused}
            if len(self._made) >= 64:
                self._made.clear()
            self._made[key] = choice
        return choice

    def _sets(self, allowed: Names, disallowed: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names that are cut out, and those that raise."""
        specials = self._model.special_tokens
        sets = [chosen_names(specials, allowed, "allowed_special")]
        sets.append(chosen_names(specials, disallowed, "disallowed_special"))
        if isinstance(disallowed, str):
            sets[1] -= sets[0]
        elif sets[0] & sets[1] and not isinstance(allowed, str):
            raise ParameterError(f"{min(sets[0] & sets[1])!r} is both allowed and disallowed")
        sets[0] -= sets[1]
        return tuple(sorted(sets[0])), tuple(sorted(sets[1]))

    def _role(self, role: str) -> int:
        name = self._model.roles.get(role)
        if name is None:
            raise ParameterError(f"add_{role}: no special token has the role {role}; name one as {role}_token")
        return self._model.special_tokens[name]


def _hashable(names: Names) -> Names:
    return names if isinstance(names, str | frozenset) else tuple(names)


def chosen_names(specials: Mapping[str, int], names: Names, parameter: str) -> set[str]:
    """What "all" or a list of names chooses. Raises ParameterError for what is neither, or no special token."""
    if isinstance(names, str):
        if names != "all":
            raise ParameterError(f"{parameter} takes 'all' or a list of names: [{names!r}], not {names!r}")
        return set(specials)
    listed = list_names(names, parameter)
    for name in sorted(listed):  # so that a set gives one error always
        special_id(specials, name, parameter)
    return set(listed)


def special_id(specials: Mapping[str, int], name: str, parameter: str) -> int:
    """Raises ParameterError for what is no special token."""
    if name not in specials:
        few = [*specials][:SHOWN]
        more = f" and {len(specials) - SHOWN} more" if len(specials) > SHOWN else ""
        has = ", ".join(few) + more if few else "none"
        raise ParameterError(f"{parameter}: {name!r} is not a special token of this tokenizer; it has {has}")
    return specials[name]
