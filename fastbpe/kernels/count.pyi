import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.split import SplitTable

_Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

class Counter:
    def __init__(self, cache_bits: int = 14, partition_bits: int = 6, copy_big: bool = False) -> None: ...
    def add(
        self,
        data: _Bytes,
        spans: NDArray[np.int64] | None = None,
        position: int = 0,
        table: SplitTable | None = None,
        ends: NDArray[np.int64] | None = None,
        multiplier: int = 1,
    ) -> None: ...
    def finish(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]: ...
    def sizes(self) -> NDArray[np.int64]: ...
    def take(
        self, partition: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    def flush(self) -> None: ...
