import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def count_invalid(data: Bytes, ends: NDArray[np.int64]) -> tuple[int, int]: ...
def replace_invalid(data: Bytes, ends: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
