"""Measures one engine over 1,000 to 1,000,000 passages: searches, single writes, indexes, disk and memory,
and prints tables.

    python tests/bench/scale.py [--passages 1000 10000 100000 1000000] [--searches 200] [--writes 2000]
    [--json FILE]

Every size is filled by one process and measured by a fresh one, in a temporary home that is removed at the
end. A million passages need some 8 GB of disk and half an hour.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import figures
import scale_engine
import scale_load
from figures import grid, header, percentile, report, say
from scale_engine import KINDS, Measured, Searches
from scale_load import BY_ENGINE, Loaded

from scrubjay.cli.serve import GLIBC, SMALL_ENVIRONMENT

SIZES = (1_000, 10_000, 100_000, 1_000_000)
# passages -> p95 of a search in ms, embedding not counted
REACH = {10_000: 25.0, 100_000: 40.0, 1_000_000: 100.0}


def main() -> int:
    """Measure every requested size; the exit code is 1 when one misses its target."""
    parser = figures.options("Measure one engine over up to a million passages.")
    parser.add_argument(
        "--passages", nargs="+", type=int, default=SIZES, metavar="N", help="sizes; 1000 10000 100000 1000000"
    )
    parser.add_argument(
        "--searches", type=int, default=300, metavar="N", help="questions a round, a third of each kind"
    )
    parser.add_argument(
        "--writes", type=int, default=2_000, metavar="N", help="turns recorded one by one between the rounds"
    )
    options = parser.parse_args()
    glibc = {name: str(value) for name, (_, value) in GLIBC.items()}
    for name, value in (glibc | SMALL_ENVIRONMENT).items():
        os.environ.setdefault(name, value)  # as in the engine; the processes below inherit it
    about = header()
    found: list[tuple[int, Loaded, Measured]] = []
    with tempfile.TemporaryDirectory(prefix="scrubjay-scale-") as folder:
        real = str(Path(folder) / "real.npy")
        for size in sorted(options.passages):
            if size > BY_ENGINE and not Path(real).exists():
                say(f"{BY_ENGINE:,} passages, for their vectors")
                with tempfile.TemporaryDirectory(dir=folder) as home:
                    _in_a_process(scale_load.load, home, BY_ENGINE, real)
            say(f"{size:,} passages")
            with tempfile.TemporaryDirectory(dir=folder) as home:
                loaded = _in_a_process(scale_load.load, home, size, real)
                measured = _in_a_process(
                    scale_engine.measure, home, loaded.turns, options.searches, options.writes
                )
            found.append((size, loaded, measured))
    meaning = figures.definitions("scale", writes=options.writes)
    sizes = [
        {"passages": size, "loaded": loaded._asdict(), "measured": _plain(measured)}
        for size, loaded, measured in found
    ]
    tables = searches(found), stores(found)
    report(about, meaning, *tables, file=options.json, definitions=meaning, sizes=sizes)
    return int(
        any(short(size, each) for size, _, measured in found for each in (measured.before, measured.after))
    )


def short(size: int, round: Searches) -> bool:
    """Return True if the p95 of all kinds of search together exceeds its target."""
    return size in REACH and percentile(_every(round), 0.95) > REACH[size]


def searches(found: Sequence[tuple[int, Loaded, Measured]]) -> str:
    """A line a size and round: all searches, then each kind."""
    kinds = (f"{kind} p50 / p95" for kind in KINDS)
    lines = [("passages", "when", "p50", "p95", "reach", "", *kinds, "processor", "nearest")]
    for size, _, measured in found:
        rounds = {"loaded": measured.before, "written": measured.after, "while embedding": measured.during}
        for when, each in rounds.items():
            judged = size in REACH and when != "while embedding"
            verdict = ("SHORT" if short(size, each) else "ok") if judged else ""
            by_kind = [f"{percentile(ms, 0.5):.1f} / {percentile(ms, 0.95):.1f}" for ms in each.ms.values()]
            every = [f"{percentile(_every(each), share):.1f}" for share in (0.5, 0.95)]
            near = f"{100 * measured.nearest:.1f} %" if when == "loaded" else ""
            reach = f"{REACH[size]:g}" if judged else ""
            lines.append((f"{size:,}", when, *every, reach, verdict, *by_kind, f"{each.cpu:.1f}", near))
    return grid(lines)


def stores(found: Sequence[tuple[int, Loaded, Measured]]) -> str:
    """A line a size: writing, indexes, disk and memory."""
    heads = (
        "passages|turns|filled s|tidied s|index s|`record_turn` p50 / p95|question p50|disk|peak|written peak"
    )
    lines = [tuple(heads.split("|"))]
    for _, loaded, measured in found:
        lines.append(
            (
                f"{loaded.passages:,}",
                f"{loaded.turns:,}",
                f"{loaded.seconds:.0f} {loaded.way}",
                _seconds(loaded.tidied),
                _seconds(measured.index_seconds),
                f"{percentile(measured.record, 0.5):.1f} / {percentile(measured.record, 0.95):.1f}",
                f"{percentile(measured.embedding, 0.5):.1f}",
                f"{measured.disk:.0f}",
                f"{measured.peak_before:.0f}",
                f"{measured.peak:.0f}",
            )
        )
    return grid(lines)


def _in_a_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run `work` in a process of its own, so that its memory does not count for the next."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def _every(round: Searches) -> list[float]:
    return [ms for each in round.ms.values() for ms in each]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _plain(measured: Measured) -> dict[str, Any]:
    return {
        name: value._asdict() if isinstance(value, Searches) else value
        for name, value in measured._asdict().items()
    }


if __name__ == "__main__":
    sys.exit(main())
