import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.mergetable import MergeList

def rank_pairs(tokens: list[bytes], rows: dict[bytes, int]) -> NDArray[np.int64]: ...
def last_pairs(
    merges: MergeList, data: NDArray[np.uint8], starts: NDArray[np.int64], ids: NDArray[np.uint32]
) -> NDArray[np.int64]: ...
def rising_pairs(
    byte_ids: NDArray[np.uint32], data: NDArray[np.uint8], starts: NDArray[np.int64], ids: NDArray[np.uint32]
) -> NDArray[np.int64]: ...
