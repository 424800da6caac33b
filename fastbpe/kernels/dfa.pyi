import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.split import SplitTable

def dfa_units(
    data: bytes | bytearray | memoryview | NDArray[np.uint8], table: SplitTable
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]: ...
