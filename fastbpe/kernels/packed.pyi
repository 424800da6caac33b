import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def pack(data: Bytes, start: int, stop: int) -> bytes: ...
def hash_chunk(data: Bytes, start: int, stop: int) -> int: ...
