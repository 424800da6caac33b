import numpy as np
from numpy.typing import NDArray

_Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def cut_out(data: _Bytes, separator: _Bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
