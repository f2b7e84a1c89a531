"""Measures the main job against the installed command, with real processes in temporary homes, and prints a
table.

    python tests/bench/main_job.py [--quick] [--only GROUP ...] [--json FILE]

The limits are this project's own; `reach` gives each. Every home is removed and every process ended at the
end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import NamedTuple

import figures
import homes
from figures import Row, any_short, header, report, say, table
from host import stop_hooks
from recalling import growing
from startup import at_once, starting


class Effort(NamedTuple):
    """How often to measure each thing."""

    spawns: int
    starts: int
    hooks: int
    searches: int
    records: int
    fresh: int
    sizes: list[int]


FULL = Effort(spawns=40, starts=7, hooks=100, searches=200, records=300, fresh=20, sizes=[1_000, 10_000])
QUICK = Effort(spawns=10, starts=2, hooks=10, searches=30, records=40, fresh=3, sizes=[200])

GROUPS: dict[str, Callable[[Effort], Iterator[Row]]] = {
    "start": lambda effort: starting(effort.spawns, effort.starts),
    "clients": lambda effort: at_once(10),
    "hooks": lambda effort: stop_hooks(effort.hooks),
    "recall": lambda effort: growing(
        effort.sizes, effort.searches, effort.records, effort.fresh, effort.starts
    ),
}


def main() -> int:
    """Run the groups asked for; the exit code is 1 when something falls short."""
    parser = figures.options("Measure the main job against the installed command.")
    parser.add_argument(
        "--quick", action="store_true", help="two minutes instead of half an hour: few repetitions, 200 turns"
    )
    several = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument("--only", choices=GROUPS, default=list(GROUPS), help=", ".join(GROUPS), **several)
    parser.add_argument("--sizes", type=int, help="turns for recall, instead of 1000 10000", **several)
    options = parser.parse_args()
    homes.need_command(parser)
    effort = QUICK if options.quick else FULL
    if options.sizes:
        effort = effort._replace(sizes=sorted(options.sizes))
    about = header()
    rows = []
    for name in options.only:
        for row in GROUPS[name](effort):
            say(f"{name}: {row.what}: {row.measured} {row.verdict}")
            rows.append(row)
    written = [asdict(row) | {"verdict": row.verdict} for row in rows]
    report(about, table(rows), file=options.json, rows=written)
    return int(any_short(rows))


if __name__ == "__main__":
    sys.exit(main())
