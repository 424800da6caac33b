"""How much memory a process may use: what a `memory=` parameter says, what the machine has, what is taken now."""

import contextlib
import os
import re
from pathlib import Path

from fastbpe.cgroup import CGROUPS, MEMBERSHIP, group_folders
from fastbpe.errors import ParameterError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def memory_bound(memory: str | int | None) -> int:
    """The bytes that a `memory=` parameter stands for: "4GB", "500MiB" or a number of them.

    None: three quarters of what there is. Raises ParameterError for anything else.
    """
    if memory is None:
        return available_memory() * 3 // 4
    return byte_size(memory, "memory")


def byte_size(size: str | int, name: str) -> int:
    """The bytes that a parameter of that name stands for: a number of them, or a text such as "4GB" or "500MiB".

    Raises ParameterError for anything else.
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", size, re.IGNORECASE)
        if match and (n := int(float(match[1]) * _UNITS[(match[2] or "").upper()])) > 0:
            return n
    raise ParameterError(f"{name}={size!r}: give a number of bytes, or a text such as '4GB' or '500MiB'")


def available_memory(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """Bytes of the machine, or of the process's control groups where one has less."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        machine = 4 * 10**9  # not told: a small machine
    limits = [machine]
    for folder in group_folders("memory", cgroups, membership):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
                limits.append(int((folder / name).read_text()))
    return min(limits)


def resident_memory() -> int:
    """Bytes of memory that this process takes now, files that are only mapped left out."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
