"""`scrubjay status`: shows if everything was captured; only `--start` starts an engine."""

from __future__ import annotations

import argparse
import glob
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from scrubjay.cli.command import Place, full_name, how_to_switch_on
from scrubjay.cli.display import contents, local, plural, print_answer, size, span
from scrubjay.cli.registered import arrival_summary, described
from scrubjay.errors import EngineError, InputError, ScrubjayError
from scrubjay.home import spool
from scrubjay.home.capture import unanswered
from scrubjay.home.files import open_regular
from scrubjay.home.paths import Home
from scrubjay.home.scopes import NOWHERE, project_dir, scope_of
from scrubjay.home.settings import Settings, load
from scrubjay.wire.address import engine_facts

_INJECT = {
    "off": "only on request (inject = off)",
    "session": "opens sessions (inject = session)",
    "prompt": "opens sessions, and adds to prompts (inject = prompt)",
    "edit": "opens sessions, and adds to edits and commands (inject = edit)",
}
REASONS = 5  # the latest of the reasons why envelopes were moved away

Engine = Mapping[str, Any]  # the report of an engine; {} without an engine
Line = tuple[str, str]  # a label and its text


def status(place: Place, options: argparse.Namespace) -> None:
    """Show what was captured, and the state of the engine and its home."""
    home = place.home
    settings = load_error = None
    engine, trouble = _ask_engine(place, start=options.start)
    http = engine_facts(home).get("http") if engine else None
    queue = inbox(home)  # after asking the engine, so that a turn on its way is not missed
    try:
        settings = load(home.config)
    except InputError as error:
        load_error = str(error)
    missing = {each["host"]: each["trouble"] for each in described(place) if each["tools"] or each["capture"]}
    total = received(engine, queue)
    facts = {
        "home": home.root,
        "http": http,
        "captured": None if total is None else engine["captured"] - engine.get("without_answer", 0),
        "received": total,
        "inbox": queue._asdict(),
        "missing": missing,
        "engine": engine or None,
        "trouble": trouble or load_error,
    }
    lines = [
        *_engine(engine, trouble),
        *([("http", f"{http}, MCP at {http}/mcp")] if http else []),
        *_records(engine),
        *_arrived(engine, missing),
        ("spool", f"{plural(queue.waiting, 'write')} waiting, {queue.set_aside:,} moved away"),
        *(("", reason) for reason in queue.reasons),
        *(_capture(settings) if settings else [("capture", f"the settings cannot be read: {load_error}")]),
        *_here(place),
        ("home", home.root),
    ]
    table = (f"{name:<9} {text}" for name, text in lines)
    print_answer(facts, [*headline(engine, trouble, queue), "", *table], as_json=options.json)


def _ask_engine(place: Place, *, start: bool) -> tuple[Engine, str | None]:
    """Return the engine's status, empty if none is running, and the reason if it cannot be reached."""
    try:
        client = place.engine() if start else place.running_engine()
        if client is None:
            return {}, None
        with client:
            return client.call("status", {"wait": True}) | {"auto": client.engine.get("auto")}, None
    except EngineError as error:
        return {}, str(error)


def received(engine: Engine, queue: Inbox) -> int | None:
    """Return how many turns hooks have sent: stored, waiting, and unreadable; None if unknown."""
    return engine["captured"] + queue.turns_waiting + queue.turns_set_aside if "captured" in engine else None


def headline(engine: Engine, trouble: str | None, queue: Inbox) -> list[str]:
    """Return a line that says if everything was captured, and what keeps capture from being complete."""
    total, without_answer = received(engine, queue), engine.get("without_answer", 0)
    other_turns = engine["records"]["turns"] - engine["captured"] if "records" in engine else 0
    if total:
        first = f"captured {engine['captured'] - without_answer:,} of {plural(total, 'turn')}"
    elif total == 0:
        first = "No hook has sent a turn yet."
    elif engine or trouble:
        state = "is running but cannot work" if engine else "does not answer"
        first = f"The engine {state}, so turns cannot be counted; the reason is below."
    else:
        first = "No engine is running, so turns cannot be counted (`scrubjay status --start` does)."
    when_stored = "are about to be stored" if engine else "will be stored by the next engine"
    idle = not (engine or trouble or queue.waiting or queue.set_aside)
    unreadable_turns, prompts = plural(queue.turns_set_aside, "turn"), plural(queue.unanswered, "prompt")
    notes = (
        (idle, "Nothing waits in the spool: every captured turn is stored."),
        (other_turns, f"{plural(other_turns, 'turn')} imported, or recorded by tools"),
        (without_answer, unanswered(without_answer)),
        (queue.turns_waiting, f"{plural(queue.turns_waiting, 'turn')} in the spool {when_stored}"),
        (
            queue.turns_set_aside,
            f"{unreadable_turns} unreadable and moved away; see below",
        ),
        (queue.unanswered, f"{prompts} without an answer yet: being answered now, or interrupted"),
    )
    return [first, *(f"  {sentence}" for count, sentence in notes if count > 0)]


def _engine(engine: Engine, trouble: str | None) -> list[Line]:
    if not engine:
        not_running = "not running; any client starts one"
        return [("engine", f"out of reach: {trouble}" if trouble else not_running)]
    since = local(engine["started_at"])
    age = span((datetime.now(UTC) - since).total_seconds())
    activity = "working" if engine["busy"] else "idle"
    activity = {"loading": "loading", "failed": "cannot work"}.get(engine["state"], activity)
    origin = "" if engine["auto"] else ", started by hand"
    head = f"pid {engine['pid']}, version {engine['version']}, since {since:%Y-%m-%d %H:%M}"
    lines = [("engine", f"{head} ({age}){origin}, {activity}")]
    if engine["failure"]:
        lines.append(("", engine["failure"]))
    if "notice" in engine:
        state = engine["notice"] or engine["trouble"] or "searches use meaning and words"
        lines.append(("model", f"{engine['model']}; {state}"))
    return lines


def _records(engine: Engine) -> list[Line]:
    advice = "`scrubjay doctor` shows what to do."
    damaged = [("DAMAGED", f"{damage} {advice}") for damage in engine.get("damage", ())]
    if "records" not in engine:
        return damaged
    records, disk = engine["records"], engine["disk"]
    waiting = f"{records['waiting_for_vector']:,} of them found only by their words so far"
    lines = [
        ("stored", contents(records)),
        ("index", f"{plural(records['passages'], 'passage')}, {waiting}"),
        ("disk", f"{size(disk['bytes'])} of at most {size(disk['limit'])}"),
    ]
    if reindexing := engine.get("reindex"):  # an engine of 0.2.0 does not say
        progress = f"{reindexing['step']}, {reindexing['done']:,} of {reindexing['total']:,} done"
        lines.insert(2, ("", f"being made again in the background ({progress}); searches work meanwhile"))
    if disk["bytes"] > disk["limit"]:
        purge = "`scrubjay forget --purge` deletes permanently"
        lines.append(("", f"TOO MUCH: `scrubjay config disk_limit_gb N` raises the limit, {purge}"))
    if shared := engine.get("shared"):
        maintainer = "this engine" if shared["here"] else shared["maintainer"] or "no engine at the moment"
        lines.append(("store", f"{shared['at']}, maintained by {maintainer}"))
    lines += damaged
    lines += [("repaired", repair) for repair in engine["repairs"]]
    lines += [("error", error) for error in engine["errors"]]
    return [*lines, ("scope", f"{full_name(engine['scope'] or 'none')} (this folder)")]


def _arrived(engine: Engine, missing: Mapping[str, Sequence[str]]) -> list[Line]:
    """Return the lines about what was received from each host, and what is missing there."""
    arrived = engine.get("hosts", {})
    lines = []
    for host in sorted(arrived.keys() | missing.keys()):
        uncounted = "connected; no engine is running to count its turns"
        lines.append(f"{host}: {arrival_summary(arrived, host) if engine else uncounted}")
        trouble = [*arrived.get(host, {}).get("trouble", ()), *missing.get(host, ())]
        lines += [f"  {sentence}" for sentence in trouble]
    return [("" if index else "hosts", line) for index, line in enumerate(lines)]


def _capture(settings: Settings) -> list[Line]:
    too_short = f"prompts and answers under {settings.min_length} characters are not recorded"
    state = f"{'paused' if settings.paused else settings.capture}; {how_to_switch_on(settings) or too_short}"
    excluded = (("excluded", folder) for folder in settings.excluded)
    return [("capture", state), *excluded, ("recall", _INJECT[settings.inject])]


def _here(place: Place) -> list[Line]:
    """Return a line if this folder is the reason why nothing is recorded."""
    folder = project_dir(place.env, place.cwd)
    if place.env.get("SCRUBJAY_SCOPE") or scope_of(place.home, folder) is not None:
        return []
    return [("", f"nothing is recorded in {folder}: {NOWHERE} Work in a folder, or set SCRUBJAY_SCOPE")]


class Inbox(NamedTuple):
    """The spool in numbers. `turns_...` count only what hooks captured, not writes of tools and commands."""

    waiting: int
    turns_waiting: int
    oldest_seconds: float  # age of the oldest waiting write; 0 if none waits
    set_aside: int
    turns_set_aside: int
    reasons: list[str]
    unanswered: int  # prompts without an answer: being answered now, or interrupted


def inbox(home: Home) -> Inbox:
    """Read the spool of a home without changing it."""
    waiting = spool.pending(home) + spool.events(home, "answer")
    broken = spool.json_files(home.spool_broken)
    return Inbox(
        waiting=len(waiting),
        turns_waiting=sum(map(_is_from_hook, waiting)),
        oldest_seconds=max(map(_age, waiting), default=0.0),
        set_aside=len(broken),
        turns_set_aside=sum(map(_is_from_hook, broken)),
        reasons=spool.reasons(broken[-REASONS:]),
        unanswered=_unanswered(home),
    )


def _is_from_hook(path: str) -> bool:
    """Return True if a file of the spool is a turn that a hook captured, or the event that ends one.

    An unreadable file counts as a turn: a false alarm is better than a loss that is not reported.
    """
    try:
        return str(spool.read(path).get("source") or "hook:").startswith("hook:")
    except ScrubjayError:
        return os.path.exists(path)  # else the engine has just stored it


def _age(path: str) -> float:
    with suppress(FileNotFoundError):
        return max(0.0, time.time() - os.stat(path).st_mtime)
    return 0.0


def _unanswered(home: Home) -> int:
    """Count the waiting prompts, from the stored state of each session and the hooks' events since."""
    waiting: dict[str, int] = {}
    for path in glob.glob(os.path.join(glob.escape(home.prompts), "*", "*.json")):
        folder, name = os.path.split(path)
        with suppress(OSError, ValueError, AttributeError), open_regular(path) as file:
            if name.count(".") == 2:  # the file of an answered prompt has three parts in its name
                is_prompt = json.loads(file.read()).get("text") is not None  # None: no person wrote it
                waiting[folder] = waiting.get(folder, 0) + is_prompt
    for path in spool.events(home):
        with suppress(ScrubjayError, LookupError, TypeError):  # an engine just processed it or moved it away
            event = spool.read(path)
            folder = spool.session_folder(home, event["session_id"])
            is_prompt = event.get("prompt") is not None
            waiting[folder] = 0 if event["kind"] in ("answer", "end") else waiting.get(folder, 0) + is_prompt
    return sum(waiting.values())
