from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastbpe.kernels.idlist import IdBuffer
from fastbpe.kernels.matchtable import Matcher
from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.special import Bytes
from fastbpe.kernels.split import SplitTable
from fastbpe.kernels.wholechunks import WholeTokens

class Encoder:
    def __init__(
        self,
        rules: Matcher | MergeList,
        table: SplitTable | None = None,
        scratch_bytes: int = ...,
        small_max: int = ...,
        whole: WholeTokens | None = None,
        n_shares: int = ...,
    ) -> None: ...
    @property
    def n_bytes(self) -> int: ...
    def encode_text(self, text: str | bytes) -> list[int]: ...
    def encode_spans(
        self,
        data: Bytes,
        spans: NDArray[np.int64] | None,
        ends: NDArray[np.int64] | None = None,
        whole: bool = False,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def append_texts(self, buffer: IdBuffer, texts: list[Any], start: int, stop: int) -> NDArray[np.int64]: ...
    def append_spans(
        self,
        buffer: IdBuffer,
        data: Bytes,
        spans: NDArray[np.int64] | None,
        ends: NDArray[np.int64] | None = None,
        whole: bool = False,
    ) -> NDArray[np.int64]: ...
