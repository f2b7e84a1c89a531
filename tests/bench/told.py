"""Measures how sessions are told: titles, outcomes and open points, and the opening of a session.

    python tests/bench/told.py [--half dev|test|chats] [--show] [--opening]

`told.toml` has the labels, made by hand. The baseline of a session is its first prompt as the title, the first
sentence of its last answer as the outcome and its last question as the open point; that of an opening is the
newest facts.

title    names a labelled subject; it is a whole sentence or line of at most `TITLE_LIMIT` characters
outcome  has a labelled result, within the characters that an opening has for it; no sentence is a prompt's
open     labelled points that are found; wrong are points that are neither labelled nor allowed
shown    of the facts in the opening at the project's `now`, those that are labelled, and of the labelled
         ones, those that are shown
needs    sessions whose first prompt needs something said before, which their opening has; and which the opening
         or what the hook says at that prompt (`inject = "prompt"`) has
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import projects
from figures import grid, head, header
from kept import SCOPE, Said, embed_all, enveloped, temporary
from projects import Project, plain

from scrubjay.encoders.open_reader import log_odds
from scrubjay.engine.core import Core
from scrubjay.home.settings import Settings
from scrubjay.search.injection import block
from scrubjay.search.opening import MOST_CHARACTERS, OUTCOME, fitting
from scrubjay.text.open_points import left_open
from scrubjay.text.sessions import outcome
from scrubjay.text.titles import TITLE_LIMIT, Exchange, title

SHORT = tomllib.loads(Path(__file__).with_name("told_open.toml").read_text("utf-8"))["session"]
LABELS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True)
class Told:
    """What is told of a session."""

    title: str
    outcome: str
    open: Sequence[str]


def ours(exchanges: Sequence[Exchange]) -> Told:
    """Return what an opening tells of a session."""
    return Told(title(exchanges), fitting(outcome(exchanges), OUTCOME), left_open(exchanges, log_odds))


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
        found = [point for point in points if any(names(each, point) for each in told.open)]
        wrong = [
            each for each in told.open if not any(names(each, p) for p in [*points, *labels.get("may", [])])
        ]
        self.labelled += len(points)
        self.found += len(found)
        self.shown += len(told.open)
        self.wrong += len(wrong)
        if "title" in labels:
            self._add_title(name, told, exchanges, labels)
        self.misses += [f"{name} not found: {point}" for point in points if point not in found]
        self.misses += [f"{name} wrong: {point}" for point in wrong]

    def _add_title(
        self, name: str, told: Told, exchanges: Sequence[Exchange], labels: Mapping[str, Any]
    ) -> None:
        is_titled = any(_has_words(told.title, words) for words in labels["title"])
        is_titled = is_titled and is_whole(told.title, exchanges)
        is_told = any(plain(phrase) in plain(told.outcome) for phrase in labels["outcome"])
        is_told = is_told and not is_echo(told.outcome, exchanges)
        self.sessions += 1
        self.title += is_titled
        self.outcome += is_told
        if not is_titled:
            self.misses.append(f"{name} title: {told.title}")
        if not is_told:
            self.misses.append(f"{name} outcome: {told.outcome}")

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


def names(text: str, point: str) -> bool:
    """Return True if a text has all words of one alternative of a labelled point."""
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


@dataclass(frozen=True)
class Session:
    """A labelled session; `project` is "" for a short one of `told_open.toml`."""

    project: str
    name: str
    exchanges: Sequence[Exchange]
    labels: Mapping[str, Any]


def labelled(half: str) -> Iterator[Session]:
    """Yield every labelled session of a half."""
    for name, labels in LABELS.items():
        if labels["half"] == half and "session" in labels:
            sessions = _exchanges(projects.load(projects.FOLDER / f"{name}.toml"))
            for session, expected in labels["session"].items():
                yield Session(name, f"{name} {session}", sessions[session], expected)
    for labels in SHORT:
        if labels.get("half", "dev") == half:
            yield Session("", labels["name"], [Exchange(*turn) for turn in labels["turns"]], labels)


def judged(half: str, tell: Callable[[Sequence[Exchange]], Told]) -> Counts:
    """Judge what is told of every labelled session of a half."""
    counts = Counts()
    for session in labelled(half):
        counts.add(session.name, tell(session.exchanges), session.exchanges, session.labels)
    return counts


@dataclass(frozen=True)
class Opened:
    """The opening of one session, and the newest facts in the same room; `session` is "" at the `now`.

    `prompted` is what the hook says at the session's first prompt.
    """

    session: str
    text: str
    newest: str
    prompted: str = ""


async def _replayed(project: Project) -> AsyncIterator[Opened]:
    """Record a project in order of time; yield the opening of each session but the first, and at `now`."""
    clock = [project.now]
    ids: dict[str | None, str] = {}
    begun: set[str] = set()
    async with temporary(Settings(inject="prompt"), lambda: clock[0]) as core:
        for record in project.records:
            clock[0], arguments = record.at, dict(record.arguments)
            session = arguments.get("session_id")
            if session is not None and session not in begun:
                if begun:
                    yield await _opened(core, session, arguments.get("user", ""))
                begun.add(session)
            if record.updates is not None:
                arguments["updates"] = [ids[record.updates]]
            if record.kind != "document":
                made = enveloped(Said(record.kind, arguments, record.at), SCOPE, record.at)
                ids[record.key] = (await core.write(made, similar=False)).id
        clock[0] = project.now
        yield await _opened(core, "")


async def _opened(core: Core, session: str, prompt: str = "") -> Opened:
    text = (await core.search.opening({"session_id": session}, SCOPE)).text
    await embed_all(core)
    prompted = await core.search.injection({"session_id": session, "prompt": prompt}, SCOPE)
    known = await core.search.profile(SCOPE, max_tokens=100_000)
    newest = sorted((*known.static, *known.recent), key=lambda hit: hit.date, reverse=True)
    lines = [f"- {hit.date:%Y-%m-%d} (fact): {hit.memory}" for hit in newest]
    newest = block("", lines, 4 * MOST_CHARACTERS, MOST_CHARACTERS)[0]
    return Opened(session[:8], text, newest, prompted)


@dataclass(frozen=True)
class Shown:
    """What the openings of a project have of its labelled facts, and of what first prompts need."""

    right: int
    shown: int
    met: int
    tokens: int  # of the longest


def _shown(project: Project, texts: Mapping[str, str]) -> Shown:
    """Judge openings by session; the one at the project's `now` has the key ""."""
    facts = {r.key: r.arguments["content"] for r in project.records if r.kind == "memory"}
    shown = {key for key, content in facts.items() if plain(content)[:60] in plain(texts[""])}
    needs = LABELS[project.name].get("needs", {})
    met = [any(plain(phrase) in plain(texts[session]) for phrase in some) for session, some in needs.items()]
    tokens = max(-(-len(text) // 4) for text in texts.values())
    return Shown(len(shown & set(LABELS[project.name]["facts"])), len(shown), sum(met), tokens)


async def _opening_rows(half: str, show: bool) -> list[tuple[str, ...]]:
    """Return a row for each project of a half, and one for all."""
    totals = [0] * 9
    head = ("project", "shown: right", "of labelled", "needs", "with the prompt's", "tokens")
    rows: list[tuple[str, ...]] = [(*head, "newest: right", "of labelled", "needs")]
    for name, labels in LABELS.items():
        if labels["half"] == half:
            project = projects.load(projects.FOLDER / f"{name}.toml")
            every = [each async for each in _replayed(project)]
            if show:
                print(f"{name}\n{every[-1].text}\n")
                print(*[f"{each.session}\n{each.prompted}" for each in every if each.prompted], sep="\n")
            ours = _shown(project, {each.session: each.text for each in every})
            both = _shown(project, {each.session: each.text + each.prompted for each in every})
            newest = _shown(project, {each.session: each.newest for each in every})
            counts = [ours.right, ours.shown, len(labels["facts"]), ours.met, len(labels.get("needs", {}))]
            counts += [newest.right, newest.shown, newest.met, both.met]
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
            rows.append(_row(name, counts, str(ours.tokens)))
    return [*rows, _row("all", totals, "")]


def _row(name: str, n: Sequence[int], tokens: str) -> tuple[str, ...]:
    ours = f"{n[0]} of {n[1]}", f"{n[0]} of {n[2]}", f"{n[3]} of {n[4]}", f"{n[8]} of {n[4]}", tokens
    return (name, *ours, f"{n[5]} of {n[6]}", f"{n[5]} of {n[2]}", f"{n[7]} of {n[4]}")


def main() -> int:
    """Print the tables of one half."""
    parser = argparse.ArgumentParser(description="Measure how sessions are told.")
    parser.add_argument("--half", choices=(*projects.HALVES, "chats"), default="dev")
    parser.add_argument("--show", action="store_true", help="print what is missed, and every opening")
    parser.add_argument("--opening", action="store_true", help="measure openings too (a minute)")
    options = parser.parse_args()
    print(head(header()), end="\n\n")
    mine, baseline = judged(options.half, ours), judged(options.half, first_and_last)
    if options.show:
        print(*mine.misses, sep="\n", end="\n\n")
    rows = [("sessions told by", "title", "outcome", "open: found", "wrong")]
    print(grid([*rows, ("summaries", *mine.cells()), ("first and last", *baseline.cells())]))
    if options.opening:
        print(grid(asyncio.run(_opening_rows(options.half, options.show))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
