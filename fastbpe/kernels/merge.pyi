import numpy as np
import numpy.typing as npt

MAX_TOKENS: int
MAX_CELLS: int
MAX_DISTINCT_COUNTS: int
STOP_REASONS: dict[int, str | None]

class Merger:
    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64],
        byte_ids: npt.NDArray[np.uint32],
        n_merges: int,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        tie_first: bool = False,
        *,
        symbols: npt.NDArray[np.uint32] | None = None,
        lengths: npt.NDArray[np.int64] | None = None,
        small: int = ...,
        max_bucket_bits: int = 20,
        max_candidates: int = 0,
    ) -> None: ...
    def run(self, work: int = ..., until: int | None = None) -> int: ...
    @property
    def stop_reason(self) -> str | None: ...
    @property
    def tokens(self) -> int: ...
    def merges(self, since: int = 0) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def hot_pairs(self) -> tuple[dict[tuple[int, int], int], int]: ...
