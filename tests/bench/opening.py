"""Measures the milliseconds that a session's opening adds to its start, at the hook's own process.

    python tests/bench/opening.py [--starts 20] [--json FILE]

What openings say is measured by `told.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import developer
import host
from figures import Row, header, percentile, report, spread, table
from homes import COMMAND, Place


def times(starts: int) -> Iterator[Row]:
    """SessionStart as a whole process: with an engine and without, with a prepared opening, with one
    that the engine has to make (another source), and with nothing to show.
    """
    took: dict[str, list[float]] = {}

    def measure(what: str, source: str) -> None:
        for number in range(starts):
            event = {
                "session_id": f"new-{number}",
                "transcript_path": str(place.folder / "transcript.jsonl"),
                "cwd": str(place.project),
                "hook_event_name": "SessionStart",
                "source": source,
            }
            payload = json.dumps(event).encode()
            took.setdefault(what, []).append(host.run(place, (host.script("session_start"),), payload) * 1e3)
            took.setdefault("bare", []).append(host.run(place, host.BARE, payload) * 1e3)

    with Place() as place:
        measure("no engine, nothing ready", "startup")
        place.start_engine()
        place.keep(developer.SAID)
        measure("an engine, and the opening lies ready", "startup")
        measure("an engine, which makes the opening", "compact")
        place.stop_engine()
        measure("no engine, and the opening lies ready", "startup")
        env = place.env
        subprocess.run([COMMAND, "config", "inject", "off"], env=env, check=True, stdout=subprocess.DEVNULL)
        measure("no engine, inject = off", "startup")
    bare = percentile(took["bare"], 0.5)
    for name, ms in took.items():
        above = "" if name == "bare" else f": p50 is bare {percentile(ms, 0.5) - bare:+.1f} ms"
        what = "... `python -I -S -c pass` in between" if name == "bare" else f"SessionStart hook, {name}"
        yield Row(what, "", spread(ms) + above, samples={"ms": ms})


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description="Measure the start of a session.")
    parser.add_argument("--starts", type=int, default=20, metavar="N", help="starts that are timed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time there")
    options = parser.parse_args()
    about = header()
    took = list(times(options.starts))
    report(about, table(took), file=options.json, times=list(map(asdict, took)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
