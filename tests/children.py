"""Children of a test's process, which see what the test has set up and may be killed."""

import os


def fork() -> int:
    """As os.fork.

    The sanitizer's allocator does not survive being forked while another thread is in it, and a thread is in it for a
    moment after it has been joined: there, the fork waits until none is left.
    """
    while os.environ.get("FASTBPE_BUILD") == "asan" and len(os.listdir("/proc/self/task")) > 1:
        os.sched_yield()
    return os.fork()
