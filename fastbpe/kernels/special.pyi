from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

MAX_SPECIAL_BYTES: int

class SpecialTrie:
    @property
    def tokens(self) -> tuple[tuple[bytes, int], ...]: ...
    @property
    def longest(self) -> int: ...
    def __init__(self, tokens: Iterable[tuple[bytes, int]]) -> None: ...
    def find(self, data: Bytes, start: int = 0) -> tuple[int, int, int] | None: ...

def occurrences(trie: SpecialTrie, data: Bytes, lo: int, hi: int) -> bool: ...
def last_behind(trie: SpecialTrie, data: Bytes, lo: int, hi: int, begin: int) -> int: ...
def make_spans(
    data: Bytes,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    trie: SpecialTrie | None = None,
    bos: int = -1,
    eos: int = -1,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
