import errno
import os
from pathlib import Path

import pytest

from fastbpe.atomic import atomic_write


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
