from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_Table = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]
_Run = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

def trim() -> None: ...
def sum_rows(tables: Iterable[_Table], partition_bits: int = 6) -> _Table: ...
def merge_runs(runs: Iterable[_Run], partition_bits: int = 0, part: int = 0, n_parts: int = 1) -> _Run: ...
