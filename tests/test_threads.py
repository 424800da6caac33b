import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastbpe.errors import ParameterError
from fastbpe.threads import available_cpus, check_stopped, ordered_map, thread_count


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    assert list(ordered_map(lambda n: n * n, range(100), threads)) == [n * n for n in range(100)]
    assert list(ordered_map(lambda n: n, [], threads)) == []


def test_results_come_in_order_whatever_ends_first() -> None:
    gates = [threading.Event() for _ in range(4)]

    def work(n: int) -> int:
        if n < 3:
            assert gates[n + 1].wait(30)  # each waits for the one after it
        gates[n].set()
        return n

    assert list(ordered_map(work, range(4), 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_function_is_raised_as_it_is(threads: int) -> None:
    started = []

    def work(n: int) -> int:
        started.append(n)
        if n == 5:
            raise KeyError("five")
        return n

    results = ordered_map(work, range(10_000), threads)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="five"):
        next(results)
    assert len(started) < 100
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fastbpe")]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_source_is_raised_as_it_is(threads: int) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError, match="gone"):
        list(ordered_map(lambda n: n, source(), threads))


@pytest.mark.parametrize("threads", [1, 2])
def test_only_a_window_of_items_is_taken(threads: int) -> None:
    taken = []

    def source() -> Iterator[int]:
        for n in range(1000):
            taken.append(n)
            yield n

    results = ordered_map(lambda n: n, source(), threads, window=3)
    for n in range(20):
        assert next(results) == n
        assert len(taken) <= n + 3
    results.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_map() -> None:
    started = []

    def work(n: int) -> int:
        started.append(n)
        if n == 3:
            signal.raise_signal(signal.SIGINT)  # reaches the main thread, which waits for a result
        return n

    with pytest.raises(KeyboardInterrupt):
        for _ in ordered_map(work, range(1_000_000), 2):
            pass
    assert len(started) < 1_000_000


def test_work_under_way_ends_when_the_map_is_left() -> None:
    begun = threading.Event()

    def work(n: int) -> int:
        while n:
            begun.set()
            check_stopped()
        return n

    results = ordered_map(work, range(3), 2)
    assert next(results) == 0
    assert begun.wait(30)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fastbpe")]
    check_stopped()  # outside of a map there is nothing to end


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_bad_number_of_threads_is_refused(threads: object) -> None:
    with pytest.raises(ParameterError, match="threads is an integer"):
        thread_count(threads)  # type: ignore[arg-type]


def test_none_means_the_cpus_of_this_process() -> None:
    assert thread_count(7) == 7
    assert thread_count(None) == available_cpus() >= 1


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "garbage"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.max": "99999900000 100000\n"}, None),
        ({}, None),
    ],
)
def test_a_quota_of_the_control_group_counts(tmp_path: Path, files: dict[str, str], cpus: int | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_cpus(tmp_path) == (available_cpus(tmp_path / "none") if cpus is None else cpus)


def test_the_least_quota_of_all_groups_counts(tmp_path: Path) -> None:
    service = tmp_path / "user.slice" / "run.scope"
    service.mkdir(parents=True)
    (tmp_path / "self").write_text("0::/user.slice/run.scope\n")
    (service / "cpu.max").write_text("max 100000\n")
    (service.parent / "cpu.max").write_text("100000 100000\n")
    assert available_cpus(tmp_path, tmp_path / "self") == 1
