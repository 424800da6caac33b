from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Table = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]

def sum_rows(tables: Iterable[Table], partition_bits: int = 6) -> Table: ...
