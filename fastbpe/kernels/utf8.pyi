import numpy as np
from numpy.typing import NDArray

_Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def count_invalid(data: _Bytes, ends: NDArray[np.int64]) -> tuple[int, int]: ...
def replace_invalid(data: _Bytes, ends: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
