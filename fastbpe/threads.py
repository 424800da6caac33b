"""Threads over kernels that need no GIL: how many, and a map that keeps the order and bounds what is under way."""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from fastbpe.cgroup import CGROUPS, MEMBERSHIP, group_folders
from fastbpe.errors import ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")

_worker = threading.local()  # .stop: set when the map that this thread works for has been left


class Stopped(Exception):
    """Ends a thread's work whose result nobody will take."""


def check_stopped() -> None:
    """To be called now and then by what may run for seconds; raises Stopped when the map has been left meanwhile."""
    stop: threading.Event | None = getattr(_worker, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


def thread_count(threads: int | None) -> int:
    """How many threads a `threads=` parameter stands for; None: the CPUs that this process may use.

    Raises ParameterError for anything but None or an integer of at least 1.
    """
    if threads is None:
        return available_cpus()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ParameterError(f"threads is an integer of at least 1, not {threads!r}")
    return threads


def available_cpus(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """CPUs by the process's affinity and its control groups' quotas, at least 1."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [_quota(folder) for folder in group_folders("cpu", cgroups, membership)]
    return max(1, min([cpus, *(quota for quota in quotas if quota is not None)]))


def _quota(folder: Path) -> int | None:
    """CPUs that a control group's quota amounts to, rounded up; None without a quota."""
    try:
        if (folder / "cpu.max").exists():
            limit, period = (folder / "cpu.max").read_text().split()
        else:
            limit = (folder / "cpu.cfs_quota_us").read_text()
            period = (folder / "cpu.cfs_period_us").read_text()
        return -(-int(limit) // int(period)) if int(limit) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
        return None


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, window: int | None = None
) -> Generator[Result, None, None]:
    """function(item) for each item, in order, on `threads` threads; one thread runs in the caller's.

    At most `window` items (twice the threads) are under way or waiting to be taken, so memory does not grow with the
    number of items. The first error, of `items` or of `function`, is raised as it is; what has not begun then never
    does, what has begun ends at its next `check_stopped`, and nothing runs any more when the iterator is left.
    """
    if threads == 1:
        yield from map(function, items)
        return
    limit = window or 2 * threads
    pending: deque[Future[Result]] = deque()
    stop = threading.Event()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="fastbpe", initializer=lambda: setattr(_worker, "stop", stop))
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            del item  # or it would live on while the results before it are awaited
            if len(pending) >= limit:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
