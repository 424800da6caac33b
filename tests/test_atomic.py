import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fastbpe.atomic import atomic_write, lock, remove_unfinished, write_all


def test_a_file_appears_whole(tmp_path):
    path = tmp_path / "a.json"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["a.json"]


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.json"]
    with atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640


def test_errors_name_the_file_and_not_its_temporary_name(tmp_path):
    path = tmp_path / "missing" / "a.json"
    with pytest.raises(FileNotFoundError) as caught, atomic_write(path):
        pass
    assert caught.value.filename == str(path)
    path = tmp_path / "a.json"
    with pytest.raises(OSError, match="No space") as caught, atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(path) and os.listdir(tmp_path) == []


def test_devices_are_written_to_as_they_are():
    with atomic_write("/dev/null") as file:
        file.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="No space") as caught, atomic_write("/dev/full") as file:
        file.write(b"x" * 100_000)
    assert caught.value.filename == "/dev/full"


def test_a_lock_is_held_until_the_file_is_closed(tmp_path):
    path = tmp_path / "lock"
    first = os.open(path, os.O_RDWR | os.O_CREAT)
    second = os.open(path, os.O_RDWR)
    assert lock(first) and lock(first) and not lock(second)
    os.close(first)
    assert lock(second)
    os.close(second)


def test_what_is_unfinished_is_removed(tmp_path):
    for name in (".a.json.x1.tmp", ".000001.tmp", "a.tmp", ".a.json"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path)
    remove_unfinished(tmp_path / "missing")
    assert sorted(os.listdir(tmp_path)) == [".a.json", "a.tmp"]


def test_all_is_written_to_a_pipe_that_takes_little_at_a_time():
    reading, writing = os.pipe()
    data = np.arange(100_000, dtype=np.uint32)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write_all, writing, data.data)
        read = b""
        while len(read) < data.nbytes:
            read += os.read(reading, 3000)
    assert written.exception() is None and read == data.tobytes()
    os.close(reading)
    os.close(writing)
