import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.special import Bytes
from fastbpe.kernels.split import SplitTable

class Scratch:
    def __init__(self, max_bytes: int = ...) -> None: ...
    @property
    def n_bytes(self) -> int: ...

class Encoder:
    def __init__(self, merges: MergeList, small_max: int = ...) -> None: ...
    def encode_spans(
        self,
        scratch: Scratch,
        data: Bytes,
        spans: NDArray[np.int64] | None,
        table: SplitTable | None = None,
        ends: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
