import threading

import pytest

from fastbpe.corpus.ahead import ahead


def test_all_items_in_order():
    assert list(ahead(range(1000), 3)) == list(range(1000))
    assert list(ahead([])) == []


def test_an_error_comes_in_its_place():
    def items():
        yield 1
        raise ValueError("bad")

    given = ahead(items())
    assert next(given) == 1
    with pytest.raises(ValueError, match="bad"):
        next(given)


def test_no_more_than_n_wait():
    made = []
    full = threading.Event()

    def items():
        for i in range(100):
            made.append(i)
            if len(made) == 5:
                full.set()
            yield i

    given = ahead(items(), 3)
    assert next(given) == 0
    full.wait()  # one taken, three waiting, one in hand
    assert len(made) == 5
    given.close()


def test_closing_ends_the_thread_and_the_iterator():
    ended = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            ended.set()

    given = ahead(items(), 2)
    next(given)
    given.close()
    assert ended.wait(10)
