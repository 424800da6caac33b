from fastbpe.kernels.mergetable import MergeList
from fastbpe.kernels.special import Bytes

def merge_chunk(merges: MergeList, text: Bytes, small: bool) -> list[int]: ...
