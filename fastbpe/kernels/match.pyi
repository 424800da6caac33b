from fastbpe.kernels.matchtable import Matcher
from fastbpe.kernels.special import Bytes

def matched(matcher: Matcher, chunk: Bytes) -> list[int]: ...
