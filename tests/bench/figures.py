"""Measured values, their targets, and how both are shown. Knows numbers and text; measures nothing."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shlex
import sys
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the table. `judged` is the value that is compared with `limit`; without a limit nothing is
    judged.

    `samples` holds every single value, by name, for the JSON file; times are ms, memory is MB (10^6 bytes).
    """

    what: str
    reach: str
    measured: str
    judged: float | None = None
    limit: float | None = None
    samples: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if self.limit is None or self.judged is None:
            return ""
        return "ok" if self.judged <= self.limit else "SHORT"


@dataclass(frozen=True)
class Aim:
    """A target, a longer-term goal, and the measured value; shares in percent."""

    what: str
    reach: float
    further: float
    measured: float
    at_most: bool = False

    @property
    def short(self) -> bool:
        return self.measured > self.reach if self.at_most else self.measured < self.reach


def aims_table(head: str, aims: Iterable[Aim]) -> str:
    """The goals and the measured values, as a table."""
    lines = [(head, "reach", "go for", "measured", "")]
    for aim in aims:
        values = (f"{value:,.1f}" for value in (aim.reach, aim.further, aim.measured))
        lines.append((aim.what, *values, "SHORT" if aim.short else "ok"))
    return grid(lines)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the least value that is not below `share` of all.

    >>> percentile([3, 1, 2, 4], 0.5)
    2
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def spread(values: Sequence[float], unit: str = "ms") -> str:
    """p50, p95 and the count in a few words; few values are shown as p50 and the worst.

    >>> spread([1.0, 2.0, 3.0])
    'p50 2.0, worst 3.0 ms (n=3)'
    """
    high = f"p95 {percentile(values, 0.95):.1f}" if len(values) >= 20 else f"worst {max(values):.1f}"
    return f"p50 {percentile(values, 0.5):.1f}, {high} {unit} (n={len(values)})"


def timed_row(
    what: str,
    reach: str,
    ms: Sequence[float],
    *,
    share: float = 0.95,
    limit: float | None = None,
    **more: Any,
) -> Row:
    """A row of times that is judged by the percentile `share`."""
    return Row(what, reach, spread(ms), percentile(ms, share), limit, {"ms": list(ms), **more})


def header() -> dict[str, str]:
    """When, where and with what."""
    packages = ("scrubjay", "lancedb", "pyarrow", "numpy", "mcp", "onnxruntime")
    return {
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "python": f"{platform.python_version()} ({sys.executable})",
        "versions": ", ".join(f"{name} {version(name)}" for name in packages),
        "command": shlex.join(["python", *sys.argv]),
        "load": load(),
    }


def load() -> str:
    """The load average of the last 1, 5 and 15 minutes; empty where the system keeps none."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else ""


def head(about: Mapping[str, str]) -> str:
    """The lines of a `header`."""
    return "\n".join(f"{name:>9}: {value}" for name, value in about.items())


def report(about: dict[str, str], *shown: str, file: Path | None, **values: Any) -> None:
    """Print a `header` from before the measurement and the results below it, a blank line between; write
    the values to `file`, as JSON.
    """
    about["load"] += f" before, {load()} after"
    print(head(about), *shown, sep="\n\n")
    if file is not None:
        file.write_text(json.dumps({"about": about, **values}), encoding="utf-8")


def options(description: str) -> argparse.ArgumentParser:
    """A parser of the options of a program that writes its values to a file on request."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single value there")
    return parser


def definitions(name: str, **values: object) -> str:
    """What the words in the tables of a benchmark mean, with these values."""
    text = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text("utf-8"))[name]
    return text.format(**values)


def any_short(rows: Iterable[Row]) -> bool:
    """Return True if a row misses its target."""
    return any(row.verdict == "SHORT" for row in rows)


def say(what: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of some work, and the milliseconds it took."""
    start = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - start) * 1e3


async def awaited(work: Awaitable[object]) -> float:
    """The milliseconds that some work took."""
    start = time.perf_counter()
    await work
    return (time.perf_counter() - start) * 1e3


def average(values: Iterable[float], shape: str = "{:,.0f}") -> str:
    """The mean in this shape; empty without a value."""
    numbers = list(values)
    return shape.format(sum(numbers) / len(numbers)) if numbers else ""


def percent(values: Iterable[bool]) -> str:
    """The share of true values in percent; empty without a value."""
    return average((100 * value for value in values), "{:.1f}")


def table(rows: Iterable[Row]) -> str:
    """Rows as a table in Markdown, columns aligned."""
    return grid(
        [
            ("what", "reach", "measured", ""),
            *((row.what, row.reach, row.measured, row.verdict) for row in rows),
        ]
    )


def grid(lines: Sequence[Sequence[str]]) -> str:
    """Lines of equally many cells, the first of them the heads, as a table in Markdown, columns aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    shown.insert(1, "|-" + "-|-".join("-" * width for width in widths) + "-|")
    return "\n".join(shown)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
