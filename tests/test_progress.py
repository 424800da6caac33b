"""pipeline/progress.py: figures, the four ways to show them, and threads that advance at once."""

import io
import json
import threading

import pytest

from fastbpe.errors import ParameterError
from fastbpe.pipeline import progress as module
from fastbpe.pipeline.progress import Bars, Event, JsonLines, Lines, Progress, amount, as_progress, progress_on


def run(progress: Progress) -> None:
    with progress:
        progress.phase("count", 2_000_000)
        progress.advance(500_000)
        progress.advance(1_500_000)
        progress.finish(chunks=1234, distinct_chunks=56)
        progress.phase("merge", 100, unit="merges")
        progress.advance(100)
        progress.finish()


def test_json_lines_say_start_and_end_of_each_phase() -> None:
    stream = io.StringIO()
    run(progress_on(stream, "json"))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(e["phase"], e["finished"]) for e in events] == [
        ("count", False),
        ("count", True),
        ("merge", False),
        ("merge", True),
    ]
    assert events[1]["done"] == events[1]["total"] == 2_000_000
    assert events[1]["facts"] == {"chunks": 1234, "distinct_chunks": 56}
    assert events[2]["unit"] == "merges"


def test_lines_are_plain_and_one_a_phase_when_it_is_quick() -> None:
    stream = io.StringIO()
    run(progress_on(stream))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("count: 2.0 MB in 0.0 s")
    assert lines[0].endswith("chunks 1,234, distinct chunks 56")
    assert lines[1].startswith("merge: 100 merges")


@pytest.mark.parametrize("style", ["json", "none"])
def test_what_is_finished_is_kept(style: str) -> None:
    progress = progress_on(io.StringIO(), style)
    run(progress)
    assert [event.phase for event in progress.finished] == ["count", "merge"]
    assert progress.finished[0].facts["chunks"] == 1234


def test_a_callback_gets_events() -> None:
    events: list[Event] = []
    run(as_progress(events.append))
    assert [event.finished for event in events] == [False, True, False, True]
    assert events[1].facts["chunks"] == 1234


def test_bars_are_drawn_and_closed() -> None:
    stream = io.StringIO()
    run(Progress(Bars(stream)))
    assert "count" in stream.getvalue()
    assert "merge" in stream.getvalue()


@pytest.mark.parametrize("style", ["json", "auto", "none"])
def test_a_phase_left_open_is_finished_by_the_next(style: str) -> None:
    stream = io.StringIO()
    progress = progress_on(stream, style)
    progress.phase("one")
    progress.phase("two")
    progress.finish()
    assert ("one" in stream.getvalue()) == (style != "none")


def test_updates_keep_to_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    stream = io.StringIO()
    progress = Progress(Lines(stream))
    progress.phase("count", 1000)
    for _ in range(10):
        now += 1.0
        progress.advance(10)
    lines = stream.getvalue().splitlines()
    assert lines == [
        "count: 50 B of 1.0 kB (5 %) in 5.0 s (10 B/s) 95 s left",
        "count: 100 B of 1.0 kB (10 %) in 10.0 s (10 B/s) 90 s left",
    ]


def test_threads_may_advance_together() -> None:
    events: list[Event] = []
    progress = as_progress(events.append)
    progress.phase("count")
    threads = [threading.Thread(target=lambda: [progress.advance(1) for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress.finish()
    assert events[-1].done == 4000


def test_a_display_may_start_late() -> None:
    stream = io.StringIO()
    progress = Progress(JsonLines(stream))
    progress.finish(never_started=1)
    assert stream.getvalue() == ""


def test_what_progress_takes() -> None:
    silent = as_progress(None)
    run(silent)
    assert as_progress(silent) is silent
    with pytest.raises(ParameterError, match="not str"):
        as_progress("auto")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="choose auto, json or none"):
        progress_on(io.StringIO(), "loud")


def test_amounts() -> None:
    assert [amount(n, "bytes") for n in (0, 999, 1000, 12_345_678, 5_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "12.3 MB",
        "5.0 GB",
    ]
    assert amount(4096, "merges") == "4,096 merges"


def test_times_are_unknown_without_a_total_or_before_the_start() -> None:
    assert Event("count", "bytes", 0, 10, 0.0).seconds_left is None
    assert Event("count", "bytes", 5, None, 1.0).seconds_left is None
    assert Event("count", "bytes", 0, 0, 0.0).rate == 0.0
    assert Event("count", "bytes", 5, 10, 1.0).seconds_left == 1.0


@pytest.mark.parametrize(("done", "seconds", "left"), [(4, 9.0, None), (5, 9.0, 171.0), (4, 10.0, 240.0)])
def test_the_beginning_does_not_foretell_the_rest(done, seconds, left) -> None:
    assert Event("merge", "merges", done, 100, seconds).seconds_left == left
