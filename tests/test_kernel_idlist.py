import numpy as np
import pytest

from fastbpe.errors import ParameterError
from fastbpe.kernels.idlist import IdBuffer


def test_an_array_shows_the_list():
    values = [*range(1000), 2**32 - 2]
    ids = np.frombuffer(IdBuffer(values), np.uint32)
    assert ids.tolist() == values
    ids[0] = 7
    assert ids[0] == 7 and ids.flags.writeable
    assert memoryview(IdBuffer([1, 2])).tolist() == [1, 2]


def test_what_is_no_id_is_refused():
    for wrong in (-1, 2**32 - 1):
        with pytest.raises(ParameterError):
            IdBuffer([wrong])


def test_growing():
    buffer = IdBuffer()
    parts = [np.arange(n, dtype=np.uint32) for n in (0, 1, 5000, 3)]
    for part in parts:
        buffer.extend(part)
    assert buffer.n == 5004
    ids = np.frombuffer(buffer, np.uint32)
    assert ids.tolist() == np.concatenate(parts).tolist()
    with pytest.raises(BufferError):
        buffer.extend(parts[1])
    del ids
    buffer.extend(parts[1])
    assert buffer.n == 5005


def test_moving():
    buffer, part = IdBuffer([1]), IdBuffer([2, 3])
    buffer.reserve(1000)
    assert buffer.n == 1
    for _ in range(2):
        buffer.move(part)
        assert part.n == 0
    buffer.reserve(0)
    assert memoryview(buffer).tolist() == [1, 2, 3]
    with memoryview(buffer), pytest.raises(BufferError):
        buffer.reserve(2)
    for shown in (buffer, part):
        with memoryview(shown), pytest.raises(BufferError):
            buffer.move(part)
