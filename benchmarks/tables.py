"""The figures of compare.py's runs, and the tables that show them."""

import os
import platform
from pathlib import Path
from statistics import median
from typing import Any

Run = dict[str, Any]


def first_seconds(run: Run) -> float:
    seconds = run["seconds"]
    return float(seconds[0] if isinstance(seconds, list) else seconds)


def best_seconds(run: Run) -> float:
    return float(min(run["seconds"]))


def row(library: str, runs: list[Run], ours: list[Run]) -> dict[str, Any]:
    """The figures of one library. Ratios say how many times as long as fastbpe it takes."""
    good = [run for run in runs if "error" not in run]
    result: dict[str, Any] = {"library": library, "error": next((run["error"] for run in runs if "error" in run), None)}
    if not good:
        return result
    ours = [run for run in ours if "error" not in run]
    result |= {"version": good[0]["version"], "runs": len(good), "bytes": good[0]["bytes"]}
    result["peak_mb"] = max(run["peak_mb"] for run in good)
    kinds = {"first": first_seconds}
    if isinstance(good[0]["seconds"], list):
        kinds["best"] = best_seconds
        passes = [run["cpu_seconds"] for run in good]
        result["cpu_seconds"] = [min(seconds[0] for seconds in passes), min(map(min, passes))]
    else:
        result["phases"] = {name: min(run["phases"].get(name, 0) for run in good) for name in good[0]["phases"]}
        result["cpu_seconds"] = min(run["cpu_seconds"] for run in good)
    for kind, seconds in kinds.items():
        all_seconds = [seconds(run) for run in good]
        result[kind] = {"min": min(all_seconds), "median": median(all_seconds)}
        if ours:
            by_round = {run["round"]: seconds(run) for run in ours}
            pairs = [seconds(run) / by_round[run["round"]] for run in good if run["round"] in by_round]
            result[kind]["ratio"] = min(all_seconds) / min(by_round.values())
            result[kind]["paired"] = median(pairs) if pairs else None
    return result


def markdown(table: dict[str, Any], task: str) -> str:
    if task == "train":
        head = ["library", "min s", "median s", "× fastbpe", "paired", "processor s", "peak MB", "phases s", "agrees"]
    else:
        head = ["library", "first MB/s", "median", "× fastbpe", "processor s"]
        head += ["best MB/s", "median", "× fastbpe", "processor s", "peak MB", "agrees"]
    lines = [f"**{table['title']}** ({table['options']})", "", line(head), line(["---"] * len(head))]
    for found in table["rows"]:
        name = f"{found['library']} {found.get('version', '')}".strip()
        if "first" not in found:
            lines.append(line([name, found["error"] or "not run", *[""] * (len(head) - 2)]))
            continue
        first, agrees, peak = found["first"], found["agrees"], f"{found['peak_mb']:.0f}"
        if task == "train":
            phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in found["phases"].items())
            seconds = [f"{first['min']:.2f}", f"{first['median']:.2f}"]
            ratios = [times(first.get("ratio")), times(first.get("paired"))]
            lines.append(line([name, *seconds, *ratios, f"{found['cpu_seconds']:.2f}", peak, phases, agrees]))
        else:
            cells = []
            for kind, cpu in zip((first, found["best"]), found["cpu_seconds"], strict=True):
                rates = [f"{found['bytes'] / 1e6 / kind[which]:.0f}" for which in ("min", "median")]
                cells += [*rates, times(kind.get("ratio")), f"{cpu:.2f}"]
            lines.append(line([name, *cells, peak, agrees]))
    return "\n".join(lines)


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def machine() -> str:
    """What it ran on, without names: processor, cores, memory, Python."""
    processor, memory = platform.machine(), ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(text.split(":")[1].strip() for text in lines if text.startswith("model name"))
        sizes = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = next(text.split()[1] for text in sizes if text.startswith("MemTotal"))
        memory = f", {int(kilobytes) * 1024 / 2**30:.0f} GiB"
    except (OSError, StopIteration):
        pass
    return f"{processor}, {os.cpu_count()} cores{memory}, {platform.system()}, Python {platform.python_version()}"
