"""Special tokens around documents, and inside them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fastbpe.errors import ParameterError, check_choice
from fastbpe.kernels.special import SpecialTrie, make_spans
from fastbpe.pipeline.stretches import Stretch
from fastbpe.specials import Names, chosen_names, special_id
from fastbpe.tokenizer import Tokenizer


@dataclass(frozen=True)
class Policy:
    """Which ids go around documents, and which special tokens are cut out of the text.

    `allowed` are cut out, `left` stay text; `every` holds both. None stands for no tokens.
    """

    bos_token: str | None
    bos_id: int | None
    eos_token: str | None
    eos_id: int | None
    eos_place: str
    allowed: SpecialTrie | None
    left: SpecialTrie | None
    every: SpecialTrie | None

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        eos_token: str | None,
        eos_place: str,
        bos_token: str | None,
        allowed_special: Names,
    ) -> "Policy":
        """Raises ParameterError for tokens that the tokenizer does not have and for a place there is not."""
        specials = tokenizer.special_tokens
        check_choice("eos_place", eos_place, ("append", "prepend"))
        if eos_place == "prepend" and bos_token is not None and eos_token is not None:
            raise ParameterError("bos_token and an eos_token that is prepended would both begin a document; choose one")
        allowed = chosen_names(specials, allowed_special, "allowed_special")
        cut = [(name.encode(), id) for name, id in specials.items() if name in allowed]
        left = [(name.encode(), id) for name, id in specials.items() if name not in allowed]
        cut_out, text = SpecialTrie(cut) if cut else None, SpecialTrie(left) if left else None
        return cls(
            bos_token,
            None if bos_token is None else special_id(specials, bos_token, "bos_token"),
            eos_token,
            None if eos_token is None else special_id(specials, eos_token, "eos_token"),
            eos_place,
            cut_out,
            text,
            SpecialTrie(cut + left) if cut and left else cut_out or text,
        )

    def entries(self) -> dict[str, Any]:
        """What the manifest says of it."""
        allowed = [] if self.allowed is None else sorted(name.decode() for name, _ in self.allowed.tokens)
        names = ("bos_token", "bos_id", "eos_token", "eos_id", "eos_place")
        return {name: getattr(self, name) for name in names} | {"allowed_special": allowed}

    def around(self) -> tuple[int, int]:
        """Ids before and after every document, -1 for none."""
        eos = -1 if self.eos_id is None else self.eos_id
        bos = -1 if self.bos_id is None else self.bos_id
        return (bos, eos) if self.eos_place == "append" else (max(bos, eos), -1)

    def left_as_text(self, stretch: Stretch) -> Counter[str]:
        """How often each special token stands in a stretch's text, where it is nothing special."""
        if self.left is None or self.left.find(stretch.data[: stretch.stop]) is None:
            return Counter()
        texts = stretch.spans[stretch.spans[:, 3] < 0]
        spans, _ = make_spans(stretch.data, texts[:, 0].copy(), texts[:, 1].copy(), self.left)
        found = Counter(spans[spans[:, 3] >= 0, 3].tolist())
        names = {id: name.decode() for name, id in self.left.tokens}
        return Counter({names[id]: n for id, n in found.items()})
