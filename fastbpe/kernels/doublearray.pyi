import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.special import Bytes

class TokenTrie:
    @property
    def n_slots(self) -> int: ...
    def longest(self, text: Bytes) -> tuple[int, int]: ...

def trie_of(merges: NDArray[np.int64], data: Bytes, starts: NDArray[np.int64]) -> TokenTrie | None: ...
