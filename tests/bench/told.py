"""Measures how sessions are told: titles, outcomes and open points, and the opening of a session.

    python tests/bench/told.py [--half dev|test] [--show] [--opening]

`told.toml` has the labels, made by hand. The baseline of a session is its first prompt as the title, the first
sentence of its last answer as the outcome and its last question as the open point; that of an opening is the
newest facts.

title    names a labelled subject; it is a whole sentence or line of at most `TITLE_LIMIT` characters
outcome  has a labelled result, within the characters that an opening has for it; no sentence is a prompt's
open     labelled points that are found; wrong are points that are neither labelled nor allowed
shown    of the facts in the opening at the project's `now`, those that are labelled, and of the labelled
         ones, those that are shown
needs    sessions whose first prompt needs something said before, which their opening has
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opening as openings
import projects
from figures import grid, header
from projects import Project, plain

from scrubjay.search.opening import OUTCOME, fitting
from scrubjay.text.summary import TITLE_LIMIT, Exchange, left_open, outcome, title

LABELS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True)
class Told:
    """What is told of a session."""

    title: str
    outcome: str
    open: Sequence[str]


def ours(exchanges: Sequence[Exchange]) -> Told:
    """Return what an opening tells of a session."""
    return Told(title(exchanges), fitting(outcome(exchanges), OUTCOME), left_open(exchanges))


def first_and_last(exchanges: Sequence[Exchange]) -> Told:
    """Return the baseline: the first prompt, the first sentence of the last answer, its last question."""
    last = exchanges[-1].assistant
    asked = re.findall(r"[^.!?\n]+\?", last)
    return Told(exchanges[0].user, re.split(r"(?<=[.!?])\s", last)[0], asked[-1:])


@dataclass
class Counts:
    """Counts over sessions."""

    sessions: int = 0
    title: int = 0
    outcome: int = 0
    labelled: int = 0
    found: int = 0
    shown: int = 0
    wrong: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, name: str, told: Told, exchanges: Sequence[Exchange], labels: Mapping[str, Any]) -> None:
        """Judge what is told of one session."""
        points = labels.get("open", [])
        found = [point for point in points if any(_names(each, point) for each in told.open)]
        wrong = [
            each for each in told.open if not any(_names(each, p) for p in [*points, *labels.get("may", [])])
        ]
        is_titled = any(_has_words(told.title, words) for words in labels["title"])
        is_titled = is_titled and is_whole(told.title, exchanges)
        is_told = any(plain(phrase) in plain(told.outcome) for phrase in labels["outcome"])
        is_told = is_told and not is_echo(told.outcome, exchanges)
        self.sessions += 1
        self.title += is_titled
        self.outcome += is_told
        self.labelled += len(points)
        self.found += len(found)
        self.shown += len(told.open)
        self.wrong += len(wrong)
        if not is_titled:
            self.misses.append(f"{name} title: {told.title}")
        if not is_told:
            self.misses.append(f"{name} outcome: {told.outcome}")
        self.misses += [f"{name} not found: {point}" for point in points if point not in found]
        self.misses += [f"{name} wrong: {point}" for point in wrong]

    def cells(self) -> tuple[str, ...]:
        """Return the numbers as cells of a table."""
        of = f" of {self.sessions}"
        return (
            f"{self.title}{of}",
            f"{self.outcome}{of}",
            f"{self.found} of {self.labelled}",
            f"{self.wrong} of {self.shown}",
        )


def is_whole(text: str, exchanges: Sequence[Exchange]) -> bool:
    """Return True if a title is a sentence or a line as it was said, to its end."""
    said = "\n".join(side for exchange in exchanges for side in (exchange.user, exchange.assistant))
    match = re.search(r"\s+".join(map(re.escape, text.split())) + r"[.!?:)]*(?=\s|$)(.?)", said, re.I | re.S)
    if match is None or not text or len(text) > TITLE_LIMIT or text.endswith((":", ",", "…")):
        return False
    return match[0].rstrip()[-1] in ".!?)" or match[1] in ("", "\n") or text.endswith("?")


def is_echo(text: str, exchanges: Sequence[Exchange]) -> bool:
    """Return True if an outcome is in a prompt word for word, and that prompt decides nothing."""
    prompts = (each.user for each in exchanges if not re.search(r"(?i)\bdeci|\bagree|\bsettle", each.user))
    return any(plain(text) in plain(prompt) for prompt in prompts)


def _names(text: str, point: str) -> bool:
    return any(_has_words(text, words) for words in point.split("|"))


def _has_words(text: str, words: str) -> bool:
    return all(word in plain(text) for word in plain(words).split())


def _exchanges(project: Project) -> dict[str, list[Exchange]]:
    sessions: dict[str, list[Exchange]] = {}
    for record in project.records:
        if record.kind == "turn":
            said = record.arguments.get("user", ""), record.arguments.get("assistant", "")
            sessions.setdefault(record.arguments["session_id"][:8], []).append(Exchange(*said))
    return sessions


def judged(half: str, tell: Callable[[Sequence[Exchange]], Told]) -> Counts:
    """Judge what is told of every labelled session of a half."""
    counts = Counts()
    for name, labels in LABELS.items():
        if labels["half"] == half and "session" in labels:
            sessions = _exchanges(projects.load(projects.FOLDER / f"{name}.toml"))
            for session, expected in labels["session"].items():
                counts.add(f"{name} {session}", tell(sessions[session]), sessions[session], expected)
    return counts


@dataclass(frozen=True)
class Opened:
    """What one opening shows of the labelled facts and needs."""

    right: int
    shown: int
    labelled: int
    met: int
    needs: int
    tokens: int
    text: str


async def _opened(name: str) -> tuple[Opened, Opened]:
    """Return the opening's counts for a project, and those of the newest facts in the same room."""
    project, labels = projects.load(projects.FOLDER / f"{name}.toml"), LABELS[name]
    facts = {r.key: r.arguments["content"] for r in project.records if r.kind == "memory"}
    every = [each async for each in openings.opened(project)]
    needs = {**openings.NEEDS, **labels.get("needs", {})}

    def counts(texts: Sequence[str]) -> Opened:
        lines = {key for key, content in facts.items() if plain(content)[:60] in plain(texts[-1])}
        asked = [
            any(plain(phrase) in plain(text) for phrase in needs[each.session[:8]])
            for each, text in zip(every, texts, strict=True)
            if each.session[:8] in needs
        ]
        right = len(lines & set(labels["facts"]))
        tokens = max(-(-len(text) // 4) for text in texts)
        return Opened(right, len(lines), len(labels["facts"]), sum(asked), len(asked), tokens, texts[-1])

    return counts([each.text for each in every]), counts([each.newest for each in every])


def _opening_rows(half: str, show: bool) -> list[tuple[str, ...]]:
    rows = [("project", "shown right", "labelled shown", "needs", "tokens, most", "newest: right", "needs")]
    total = [0] * 8
    for name, labels in LABELS.items():
        if labels["half"] != half:
            continue
        told, newest = asyncio.run(_opened(name))
        if show:
            print(f"{name}\n{told.text}\n")
        both = [
            told.right,
            told.shown,
            told.labelled,
            told.met,
            told.needs,
            newest.right,
            newest.shown,
            newest.met,
        ]
        total = [a + b for a, b in zip(total, both, strict=True)]
        rows.append(_row(name, both, str(told.tokens)))
    return [*rows, _row("all", total, "")]


def _row(name: str, n: Sequence[int], tokens: str) -> tuple[str, ...]:
    return (
        name, f"{n[0]} of {n[1]}", f"{n[0]} of {n[2]}", f"{n[3]} of {n[4]}", tokens,
        f"{n[5]} of {n[6]}", f"{n[7]} of {n[4]}",
    )  # fmt: skip


def main() -> int:
    """Print the tables of one half."""
    parser = argparse.ArgumentParser(description="Measure how sessions are told.")
    parser.add_argument("--half", choices=projects.HALVES, default="dev")
    parser.add_argument("--show", action="store_true", help="print what is missed, and every opening")
    parser.add_argument("--opening", action="store_true", help="measure openings too (a minute)")
    options = parser.parse_args()
    print("\n".join(f"{name:>9}: {value}" for name, value in header().items()), end="\n\n")
    mine, baseline = judged(options.half, ours), judged(options.half, first_and_last)
    if options.show:
        print(*mine.misses, sep="\n", end="\n\n")
    rows = [("sessions told by", "title", "outcome", "open: found", "wrong")]
    print(grid([*rows, ("summaries", *mine.cells()), ("first and last", *baseline.cells())]))
    if options.opening:
        print(grid(_opening_rows(options.half, options.show)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
