"""How far a long job has come: bars on a terminal, plain lines elsewhere, JSON for programs, a callback in Python.

A job announces a phase, advances it, and finishes it with the facts it found:

    progress.phase("count", total_bytes)
    progress.advance(n)
    progress.finish(chunks=..., distinct_chunks=...)

Any thread may advance. A progress is closed by its owner, best as a context manager.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, TextIO

from fastbpe.errors import ParameterError, check_choice

LINE_SECONDS = 5.0
EVENT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """One message of a phase: how much is done (in `unit`s), since when, how fast, and how long it will still take."""

    phase: str
    unit: str
    done: int
    total: int | None
    seconds: float
    finished: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Units a second, 0 before anything was measured."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """None while the total or the rate is unknown: the beginning tells little of the rest."""
        if self.total is None or self.done <= 0 or (20 * self.done < self.total and self.seconds < 10):
            return None
        return max(0.0, (self.total - self.done) / self.rate) if self.rate else None

    @property
    def found(self) -> str:
        """The facts for people."""
        return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in self.facts.items())

    def as_json(self) -> str:
        rounded = asdict(self) | {"seconds": round(self.seconds, 3), "rate": round(self.rate, 1)}
        left = self.seconds_left
        rounded["seconds_left"] = None if left is None else round(left, 1)
        return json.dumps(rounded, ensure_ascii=False)

    def as_line(self) -> str:
        parts = [f"{self.phase}: {amount(self.done, self.unit)}"]
        if self.total is not None and not self.finished:
            percent = 100 * self.done / self.total if self.total else 100.0
            parts.append(f"of {amount(self.total, self.unit)} ({percent:.0f} %)")
        parts.append(f"in {self.seconds:.1f} s")
        if self.done and self.seconds > 0:
            parts.append(f"({amount(int(self.rate), self.unit)}/s)")
        if not self.finished and self.seconds_left is not None:
            parts.append(f"{self.seconds_left:,.0f} s left")
        return " ".join(parts) + (f": {self.found}" if self.facts else "")


class Display(Protocol):
    """Where events go. `start` comes once a phase, `finish` too unless the job fails; `close` always comes last."""

    interval: float

    def start(self, event: Event) -> None: ...
    def update(self, event: Event) -> None: ...
    def finish(self, event: Event) -> None: ...
    def close(self) -> None: ...


class Progress:
    """Keeps the figures of the phase that is running and hands them to a display, not more often than it asks for."""

    def __init__(self, display: Display | None = None) -> None:
        self.finished: list[Event] = []  # the last event of each phase that is over
        self._display = display
        self._lock = threading.Lock()
        self._running = False
        self._name, self._unit, self._done = "", "bytes", 0
        self._total: int | None = None
        self._started = self._shown = time.monotonic()

    def phase(self, name: str, total: int | None = None, unit: str = "bytes") -> None:
        """Begins a phase of `total` units (None: not known); one that still runs is finished first."""
        if self._running:
            self.finish()
        with self._lock:
            self._name, self._unit, self._done, self._total = name, unit, 0, total
            self._started = self._shown = time.monotonic()
            self._running = True
            if self._display:
                self._display.start(self._event())

    def advance(self, n: int) -> None:
        """`n` more units are done."""
        with self._lock:
            self._done += n
            if self._display is None:
                return
            now = time.monotonic()
            if now - self._shown >= self._display.interval:
                self._shown = now
                self._display.update(self._event())

    def finish(self, **facts: Any) -> None:
        """Ends the phase with what it found out."""
        with self._lock:
            if not self._running:
                return
            self._running = False
            self.finished.append(self._event(finished=True, facts=facts))
            if self._display:
                self._display.finish(self.finished[-1])

    def close(self) -> None:
        if self._display:
            self._display.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _event(self, **more: Any) -> Event:
        return Event(self._name, self._unit, self._done, self._total, time.monotonic() - self._started, **more)


class Lines:
    """Plain lines, the first after a few seconds, and one at the end of each phase."""

    interval = LINE_SECONDS

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def start(self, event: Event) -> None:
        pass

    def update(self, event: Event) -> None:
        print(event.as_line(), file=self._stream, flush=True)

    finish = update

    def close(self) -> None:
        pass


class JsonLines(Lines):
    """One JSON object a line, for programs."""

    interval = EVENT_SECONDS

    def update(self, event: Event) -> None:
        print(event.as_json(), file=self._stream, flush=True)

    start = finish = update


class Calls:
    """Hands every event to a function of the caller's."""

    interval = EVENT_SECONDS

    def __init__(self, function: Callable[[Event], object]) -> None:
        self._function = function

    def update(self, event: Event) -> None:
        self._function(event)

    start = finish = update

    def close(self) -> None:
        pass


class Bars:
    """Bars on a terminal; they stay, one for each phase, when the job is over."""

    interval = 0.05

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._bars = RichProgress(
            TextColumn("{task.description:<10}", table_column=Column(no_wrap=True, min_width=10)),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(file=stream),
        )
        self._task: Any = None

    def start(self, event: Event) -> None:
        self._bars.start()
        self._task = self._bars.add_task(event.phase, total=event.total, state=self._state(event))

    def update(self, event: Event) -> None:
        self._bars.update(self._task, completed=event.done, state=self._state(event))

    def finish(self, event: Event) -> None:
        total = max(event.done, 1)
        self._bars.update(self._task, completed=total, total=total, state=self._state(event))

    def close(self) -> None:
        self._bars.stop()

    @staticmethod
    def _state(event: Event) -> str:
        done = amount(event.done, event.unit)
        if event.total is not None and not event.finished:
            done += f" of {amount(event.total, event.unit)}"
        return f"{done}, {amount(int(event.rate), event.unit)}/s" if event.done else done


ProgressLike = Progress | Callable[[Event], object] | None


def as_progress(value: ProgressLike) -> Progress:
    """What a `progress=` parameter stands for: None is silent, a function gets each Event, a Progress is itself."""
    if isinstance(value, Progress):
        return value
    if value is None:
        return Progress()
    if callable(value):
        return Progress(Calls(value))
    raise ParameterError(f"progress takes None, a function of one Event or a Progress, not {type(value).__name__}")


def progress_on(stream: TextIO | None = None, style: str = "auto") -> Progress:
    """A progress on a stream (standard error): `auto` (bars on a terminal, else lines), `json` or `none`."""
    check_choice("style", style, ("auto", "json", "none"))
    stream = stream or sys.stderr
    if style == "none":
        return Progress()
    if style == "json":
        return Progress(JsonLines(stream))
    on_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    return Progress(Bars(stream) if on_terminal else Lines(stream))


def amount(n: int, unit: str) -> str:
    """`12.3 MB` for bytes, `4,096 merges` for all else."""
    if unit != "bytes":
        return f"{n:,} {unit}"
    for size, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            return f"{n / size:.1f} {name}"
    return f"{n} B"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
