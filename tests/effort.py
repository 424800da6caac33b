"""How much the tests do: all in the release build, a part in the checked builds (debug, asan), which are slow."""

import os

CHECKED = os.environ.get("FASTBPE_BUILD", "release") != "release"


def effort(number: int, part: int = 4) -> int:
    """`number` of examples, or one in `part` of them in checked builds."""
    return max(1, number // part) if CHECKED else number
