"""What a turn costs the assistant at its Stop hook, as a whole process, compared with an interpreter that
does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import host
from figures import Row, percentile, spread
from homes import Place

MARGIN = 35.0  # ms above the bare interpreter


def stop_hooks(times: int) -> Iterator[Row]:
    """The Stop hook with an engine and without one, in turns with the bare interpreter of the same moment."""
    with Place() as up, Place() as down:
        up.start_engine()
        took: dict[str, list[float]] = {"up": [], "down": [], "bare": []}
        for number in range(times):
            for name, place in (("up", up), ("down", down)):
                submitted, stopped = host.payloads(place, number)
                host.run(place, (host.script("user_prompt_submit"),), submitted)
                took[name].append(host.run(place, (host.script("stop"),), stopped) * 1e3)
                took["bare"].append(host.run(place, host.BARE, stopped) * 1e3)
        up.until("captured", lambda status: status["captured"] == times, 60)
        waiting = len(list((down.home / "spool" / "events").glob("*-answer-*")))
        if waiting != times:
            raise RuntimeError(f"{times} hooks without an engine left {waiting} answers in the spool.")
    bare = percentile(took["bare"], 0.95)
    for name in ("up", "down"):
        above = percentile(took[name], 0.95) - bare
        yield Row(
            f"Stop hook, whole process, engine {name}",
            f"p95 <= bare + {MARGIN:.0f} ms",
            f"{spread(took[name])}: p95 is bare {above:+.1f} ms",
            above,
            MARGIN,
            {"ms": took[name]},
        )
    yield Row(
        "... `python -I -S -c pass` in between",
        "(baseline)",
        spread(took["bare"]),
        samples={"ms": took["bare"]},
    )
