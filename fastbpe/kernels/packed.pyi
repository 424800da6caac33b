import numpy as np
from numpy.typing import NDArray

_Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def pack(data: _Bytes, start: int, stop: int) -> bytes: ...
def hash_chunk(data: _Bytes, start: int, stop: int) -> int: ...
