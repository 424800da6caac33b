import numpy as np
from numpy.typing import NDArray

class SplitTable:
    transitions: NDArray[np.uint32]
    ascii: NDArray[np.uint8]
    pages: NDArray[np.uint16]
    leaves: NDArray[np.uint8]
    cuts: NDArray[np.uint8]
    then: SplitTable | None
    courses: tuple[NDArray[np.uint16], NDArray[np.uint8]] | None
    hopeful: bool
    def __init__(
        self,
        transitions: NDArray[np.uint32],
        ascii: NDArray[np.uint8],
        pages: NDArray[np.uint16],
        leaves: NDArray[np.uint8],
        invalid_class: int,
        end_class: int,
        cuts: NDArray[np.uint8],
        then: SplitTable | None = None,
        courses: tuple[NDArray[np.uint16], NDArray[np.uint8]] | None = None,
    ) -> None: ...

def split_ends(
    data: bytes | bytearray | memoryview | NDArray[np.uint8],
    spans: NDArray[np.int64] | None,
    table: SplitTable | None,
    capacity: int = ...,
) -> NDArray[np.int64]: ...
def split_carefully(
    data: bytes | bytearray | memoryview | NDArray[np.uint8], table: SplitTable, capacity: int = ...
) -> tuple[NDArray[np.int64], int]: ...
def split_last_cut(
    data: bytes | bytearray | memoryview | NDArray[np.uint8], start: int, stop: int, table: SplitTable
) -> int: ...
