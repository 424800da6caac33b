import numpy as np
from numpy.typing import NDArray

class Matcher:
    def stands(self, left: int, right: int) -> bool: ...

def matcher_of(byte_ids: NDArray[np.uint32], merges: NDArray[np.int64]) -> Matcher | None: ...
