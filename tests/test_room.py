import threading

import pytest

from fastbpe.corpus.blocks import Address
from fastbpe.errors import MemoryBoundError
from fastbpe.pipeline.room import Room


def where() -> Address:
    return Address("a.txt", 3, 17)


def test_what_is_taken_comes_back() -> None:
    told = []
    room = Room(10, 1, lambda: told.append(room.used))
    room.take(6, where)
    room.take(4, where)
    room.give_back(5)
    room.take(5, where)
    assert told == [6, 10, 10]


def test_a_text_too_long_is_refused_with_its_place() -> None:
    room = Room(30_000_000, 3)
    room.take(20_000_000, where)
    with pytest.raises(MemoryBoundError, match=r"a\.txt, document 3, byte 17: .* beyond the 10 MB .* give more memory"):
        room.take(10_000_001, where)
    assert room.used == 20_000_000


def test_it_waits_for_what_is_lent() -> None:
    room = Room(10)
    for n in (3, 4):
        room.take(n, where)
        room.lend(n)
    taken = threading.Event()

    def take() -> None:
        room.take(9, where)
        taken.set()

    thread = threading.Thread(target=take)
    thread.start()
    room.give_back(3, lent=True)
    assert not taken.is_set()
    room.give_back(4, lent=True)
    thread.join()
    assert taken.is_set() and room.used == 9
    with pytest.raises(MemoryBoundError):  # nobody will give anything back
        room.take(2, where)


def test_what_is_kept_for_records_leaves_less_and_never_waits() -> None:
    told = []
    room = Room(12_000_000, 1, lambda: told.append(room.used))
    line = Address("a.jsonl", 3, 0, "line")
    room.take(6_000_001, where)
    for n in (500_000, 400_000, 900_000):
        room.keep_for_record(n, line)
    assert told == [6_000_001, 9_000_001, 11_400_001]
    with pytest.raises(MemoryBoundError, match=r"a\.jsonl, line 3: grows beyond the 1\.0 MB .* give more memory"):
        room.keep_for_record(1_000_001, line)
    with pytest.raises(MemoryBoundError):
        room.take(700_000, where)
    room.take(500_000, where)
