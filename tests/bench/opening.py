"""Measures the opening of a session: its tokens, how many questions it answers, and the milliseconds
that it adds to the start. Content is judged in this process, time at the hook's own process.

    python tests/bench/opening.py [--starts 20] [--show] [--json FILE]

The made-up projects that have sessions of `NEEDS` (kestrel, tern and wren) are replayed in the order of time;
before each session but the first, and at the project's `now`, its opening is taken.

tokens      ceil(characters / 4) of the block, tags included
first       of the sessions whose first prompt needs something said before (`NEEDS`, marked by hand before the
            openings were seen): the opening holds it
questions   of all questions with an answer, asked at `now`: the opening holds a phrase that answers
last        the opening names the day of the last session
facts       the same for lasting and newest facts alone, the former opening
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import developer
import host
import projects
from figures import Row, grid, header, percentile, spread, table
from homes import COMMAND, Place
from kept import SCOPE
from projects import Project

from scrubjay.engine.core import open_core
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import AddMemory, RecordTurn, parse
from scrubjay.search.injection import block

ROOM = 2048  # bytes, as the hooks ask for
# By the beginning of a session's id, the earlier facts that its first prompt needs; any one phrase is enough.
NEEDS = {
    "c693c17c": ("48 hours",),
    "4f92ed83": ("8421",),
    "7ae1d3fa": ("v1.18.0",),
    "9e44986e": ("90 days",),
    "2503945a": ("400 MB",),
    "f3a9d718": ("5199",),
    "ff099624": ("iOS 16",),
    "0ac520b4": ("35 days offline",),
    "94ea1b1d": ("32 kHz",),
    "48d1b94a": ("Apache 2.0", "non-commercial"),
    "73db878c": ("at noon", "0.9.5"),
    "8b885a97": ("three seeds", "3 seeds"),
}
PROJECTS = ("kestrel", "tern", "wren")  # whose sessions these are; they hold turns and facts alone
_KINDS = {"turn": RecordTurn, "memory": AddMemory}


@dataclass(frozen=True)
class Opened:
    """The opening of one session of a project: the current one, and facts alone."""

    project: str
    session: str  # its id; "" at the project's `now`
    last: datetime  # of the turn before
    text: str
    facts: str

    @property
    def tokens(self) -> int:
        return -(-len(self.text) // 4)


async def _openings(project: Project) -> AsyncIterator[Opened]:
    clock = [project.now]
    with tempfile.TemporaryDirectory(prefix="scrubjay-opening-") as folder:
        core = await open_core(open_home(folder), Settings(), lambda: clock[0])
        ids: dict[str | None, str] = {}
        begun: set[str] = set()
        last = project.records[0].at

        async def opened(session: str) -> Opened:
            text = (await core.search.opening({"session_id": session, "max_bytes": ROOM}, SCOPE)).text
            known = await core.search.profile(SCOPE)
            lines = [f"- {hit.date:%Y-%m-%d} (fact): {hit.memory}" for hit in (*known.static, *known.recent)]
            return Opened(project.name, session, last, text, block("", lines, ROOM)[0])

        try:
            for record in project.records:
                clock[0], arguments = record.at, dict(record.arguments)
                session = arguments.get("session_id")
                if session is not None and session not in begun:
                    if begun:
                        yield await opened(session)
                    begun.add(session)
                if record.updates is not None:
                    arguments["updates"] = [ids[record.updates]]
                request = parse(_KINDS[record.kind], arguments)
                made = envelope(record.kind, request, scope=SCOPE, source="bench", at=record.at)
                ids[record.key] = (await core.write(made, similar=False)).id
                last = record.at if session is not None else last
            clock[0] = project.now
            yield await opened("")
        finally:
            await core.close()


async def _all() -> list[tuple[Project, list[Opened]]]:
    every = [projects.load(projects.FOLDER / f"{name}.toml") for name in PROJECTS]
    return [(project, [each async for each in _openings(project)]) for project in every]


def contents(told: list[tuple[Project, list[Opened]]]) -> str:
    """One line a project."""
    lines = [
        ("project", "openings", "tokens: mean, most", "last", "first", "questions", "facts: first, questions")
    ]
    for project, openings in told:
        tokens = [each.tokens for each in openings]
        named = sum(f"{each.last.astimezone():%Y-%m-%d}" in each.text for each in openings)
        firsts = [(each, phrases) for each in openings if (phrases := NEEDS.get(each.session[:8]))]
        asked = [question.holds for question in project.questions if question.has_answer]
        lines.append(
            (
                project.name,
                str(len(openings)),
                f"{sum(tokens) / len(tokens):.0f}, {max(tokens)}",
                f"{named} of {len(openings)}",
                _share(_holds(each.text, phrases) for each, phrases in firsts),
                _share(_holds(openings[-1].text, phrases) for phrases in asked),
                _share(_holds(each.facts, phrases) for each, phrases in firsts)
                + ", "
                + _share(_holds(openings[-1].facts, phrases) for phrases in asked),
            )
        )
    return grid(lines)


def _holds(text: str, phrases: tuple[str, ...]) -> bool:
    return any(projects.plain(phrase) in projects.plain(text) for phrase in phrases)


def _share(held: Iterator[bool]) -> str:
    values = list(held)
    return f"{sum(values)} of {len(values)}"


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
    parser = argparse.ArgumentParser(description="Measure what a session begins with.")
    parser.add_argument(
        "--starts", type=int, default=20, metavar="N", help="starts that are timed; 0 for none"
    )
    parser.add_argument("--show", action="store_true", help="print every opening")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every opening and time there")
    options = parser.parse_args()
    about = header()
    told = asyncio.run(_all())
    took = list(times(options.starts)) if options.starts else []
    print("\n".join(f"{name:>9}: {value}" for name, value in about.items()), end="\n\n")
    openings = [each for _, some in told for each in some]
    if options.show:
        print("\n\n".join(f"{each.project} {each.session[:8]}\n{each.text}" for each in openings), end="\n\n")
    print(contents(told), *([table(took)] if took else []), sep="\n\n")
    if options.json:
        shown = [asdict(each) | {"last": each.last.isoformat()} for each in openings]
        written = {"about": about, "openings": shown, "times": [asdict(row) for row in took]}
        options.json.write_text(json.dumps(written), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
