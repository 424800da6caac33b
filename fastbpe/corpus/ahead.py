"""Reading ahead: an iterator runs in a thread of its own while what it gave is worked on."""

import queue
import threading
from collections.abc import Generator, Iterable
from typing import TypeVar

Item = TypeVar("Item")

LEAVE_SECONDS = 0.5


class _Over:
    pass


def ahead(items: Iterable[Item], n: int = 4) -> Generator[Item, None, None]:
    """The items, up to `n` of them made before they are asked for.

    An error of `items` comes in its place. When the generator is closed the thread stops at its next item; it is not
    waited for where that is long in coming, as from a pipe on which nobody writes.
    """
    made: queue.Queue[Item | _Over | BaseException] = queue.Queue(n)
    stopped = threading.Event()

    def put(item: Item | _Over | BaseException) -> bool:
        while not stopped.is_set():
            try:
                made.put(item, timeout=LEAVE_SECONDS)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        iterator = iter(items)
        try:
            for item in iterator:
                if not put(item):
                    return
                del item
            put(_Over())
        except BaseException as error:
            put(error)
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="fastbpe-read", daemon=True)
    thread.start()
    try:
        while True:
            item = made.get()
            if isinstance(item, _Over):
                return
            if isinstance(item, BaseException):
                raise item
            yield item
            del item
    finally:
        stopped.set()
        while not made.empty():
            made.get_nowait()
        thread.join(LEAVE_SECONDS)
