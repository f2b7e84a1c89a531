"""`scrubjay status`: whether everything was captured, and the state of the engine and its home.

It starts no engine to find out.
"""

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

from scrubjay.cli.command import Place, call_engine, command, flag, visit_engine
from scrubjay.cli.display import contents, local, plural, print_answer, size, span
from scrubjay.cli.registered import came_from, described
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
}
REASONS = 5  # reasons shown of envelopes that were moved away

Line = tuple[str, str]  # a label and its text


@command(
    flag("--start", "start the engine if necessary, to count stored turns"),
    flag("--json", "print the raw facts as JSON"),
)
def status(place: Place, options: argparse.Namespace) -> None:
    """Show what was captured, and the state of the engine and its home."""
    home = place.home
    engine = trouble = settings = unreadable = None
    try:
        client = call_engine(place) if options.start else visit_engine(place)
        if client is not None:
            with client:
                engine = client.call("status", {"wait": True}) | {"auto": client.engine.get("auto")}
    except EngineError as error:
        trouble = str(error)
    http = None if engine is None else engine_facts(home).get("http")
    left = inbox(home)  # after asking the engine, so that a turn on its way is not missed
    try:
        settings = load(home.config)
    except InputError as error:
        unreadable = str(error)
    missing = {each["host"]: each["trouble"] for each in described(place) if each["tools"] or each["capture"]}
    facts = {
        "home": home.root,
        "http": http,
        "captured": _captured(engine),
        "received": received(engine, left),
        "inbox": left._asdict(),
        "missing": missing,
        "engine": engine,
        "trouble": trouble or unreadable,
    }
    lines = [
        *_engine(engine, trouble),
        *([("http", f"{http}, MCP at {http}/mcp")] if http else []),
        *_records(engine),
        *_arrived(engine, missing),
        *_spool(left),
        *_capture(settings, unreadable),
        *_here(place),
        ("home", home.root),
    ]
    table = (f"{name:<9} {text}" for name, text in lines)
    print_answer(facts, [*headline(engine, trouble, left), "", *table], as_json=options.json)


def _captured(engine: dict[str, Any] | None) -> int | None:
    """Return how many turns are stored completely, not counting those whose answer is still missing."""
    stored = engine.get("captured") if engine else None
    return None if stored is None else stored - _without_answer(engine)


def _without_answer(engine: dict[str, Any] | None) -> int:
    return int((engine or {}).get("without_answer", 0))  # an older engine does not report it


def _by_others(engine: dict[str, Any] | None) -> int:
    """Return how many stored turns came from no hook."""
    records = (engine or {}).get("records")
    return max(0, int(records["turns"]) - int((engine or {})["captured"])) if records else 0


def received(engine: dict[str, Any] | None, left: Inbox) -> int | None:
    """Return how many turns hooks have sent: stored, waiting, and moved away as unreadable."""
    stored = engine.get("captured") if engine else None
    return None if stored is None else stored + left.turns_waiting + left.turns_set_aside


def headline(engine: dict[str, Any] | None, trouble: str | None, left: Inbox) -> list[str]:
    """Return the answer to the main question, and what keeps capture from being complete."""
    total = received(engine, left)
    if total is None and (engine or trouble):
        state = "is running but cannot work" if engine else "does not answer"
        lines = [f"The engine {state}, so turns cannot be counted; the reason is below."]
    elif total is None:
        lines = ["No engine is running, so turns cannot be counted (`scrubjay status --start` does)."]
        if not (left.waiting or left.set_aside):
            lines.append("Nothing waits in the spool: every captured turn is stored.")
    else:
        lines = [f"captured {_captured(engine):,} of {plural(total, 'turn')}"]
        if not total:
            lines = ["No hook has sent a turn yet."]
        if others := _by_others(engine):
            verb = "was" if others == 1 else "were"
            lines.append(f"  {plural(others, 'turn')} {verb} imported, or recorded by tools")
        if lacking := _without_answer(engine):
            lines.append(f"  {unanswered(lacking)}")
    if left.turns_waiting:
        when = "are about to be stored" if engine else "will be stored by the next engine"
        lines.append(f"  {plural(left.turns_waiting, 'turn')} in the spool {when}")
    if left.turns_set_aside:
        lines.append(f"  {plural(left.turns_set_aside, 'turn')} unreadable and moved away; reasons below")
    if left.unanswered:
        prompts = plural(left.unanswered, "prompt")
        lines.append(f"  {prompts} without an answer yet: being answered now, or interrupted")
    return lines


def _engine(engine: dict[str, Any] | None, trouble: str | None) -> list[Line]:
    if trouble:
        return [("engine", f"out of reach: {trouble}")]
    if engine is None:
        return [("engine", "not running; any client starts one")]
    since = local(engine["started_at"])
    age = span((datetime.now(UTC) - since).total_seconds())
    work = "working" if engine["busy"] else "idle"
    doing = {"loading": "loading", "failed": "cannot work"}.get(engine["state"], work)
    how = "" if engine["auto"] else ", started by hand"
    head = f"pid {engine['pid']}, version {engine['version']}, since {since:%Y-%m-%d %H:%M}"
    lines = [("engine", f"{head} ({age}){how}, {doing}")]
    if engine["failure"]:
        lines.append(("", engine["failure"]))
    if "trouble" in engine:
        notice = engine.get("notice", engine["trouble"])  # an older engine has no notice
        lines.append(("model", f"{engine['model']}; {notice or 'searches use meaning and words'}"))
    return lines


def _records(engine: dict[str, Any] | None) -> list[Line]:
    damage = engine.get("damage", ()) if engine else ()  # an older engine has none
    damaged = [("DAMAGED", f"{each} `scrubjay doctor` shows what to do.") for each in damage]
    if engine is None or "records" not in engine:
        return damaged
    records, disk = engine["records"], engine["disk"]
    count = records["waiting_for_vector"]
    waiting = f", {count:,} of them not embedded yet" if count else ""
    passages = f"{plural(records['passages'], 'passage')}{waiting}"
    room = f"{size(disk['bytes'])} of at most {size(disk['limit'])}"
    lines = [("stored", contents(records)), ("index", passages), ("disk", room)]
    if shared := engine.get("shared"):
        who = "this engine" if shared["here"] else shared["maintainer"] or "no engine at the moment"
        lines.insert(0, ("store", f"{shared['at']}, maintained by {who}"))
    if disk["bytes"] > disk["limit"]:
        purge = "`scrubjay forget --purge` deletes permanently"
        lines.append(("", f"TOO MUCH: `scrubjay config disk_limit_gb N` raises the limit, {purge}"))
    if engine["peak_rss"]:
        lines.append(("memory", f"{size(engine['peak_rss'])} at most so far"))
    lines += damaged
    lines += [("repaired", repair) for repair in engine["repairs"]]
    lines += [("error", error) for error in engine["errors"]]
    return [*lines, ("scope", f"{engine['scope'] or 'none'} (this folder)")]


def _arrived(engine: dict[str, Any] | None, missing: Mapping[str, Sequence[str]]) -> list[Line]:
    """Return the lines about what was received from each host, and what is missing there."""
    arrived = (engine or {}).get("hosts") or {}  # an older engine has none
    lines = []
    for host in sorted(arrived.keys() | missing.keys()):
        came = came_from(arrived, host) if engine else "connected; no engine is running to count its turns"
        lines.append(f"{host}: {came}")
        trouble = [*arrived.get(host, {}).get("trouble", ()), *missing.get(host, ())]
        lines += [f"  {sentence}" for sentence in trouble]
    return [("" if at else "hosts", line) for at, line in enumerate(lines)]


def _spool(left: Inbox) -> list[Line]:
    text = f"{plural(left.waiting, 'write')} waiting" if left.waiting else "empty"
    aside = f", {left.set_aside:,} moved away" if left.set_aside else ""
    return [("spool", text + aside), *(("", reason) for reason in left.reasons)]


def _capture(settings: Settings | None, unreadable: str | None) -> list[Line]:
    if settings is None:
        return [("capture", f"the settings cannot be read: {unreadable}")]
    words = "paused; `scrubjay resume` ends the pause" if settings.paused else settings.capture
    if settings.capture != "off" and not settings.paused:
        words += f"; prompts and answers under {settings.min_length} characters are not recorded"
    excluded = (("excluded", folder) for folder in settings.excluded)
    return [("capture", words), *excluded, ("recall", _INJECT[settings.inject])]


def _here(place: Place) -> list[Line]:
    """Return a line if nothing is recorded because of the folder."""
    folder = project_dir(place.env, place.cwd)
    if place.env.get("SCRUBJAY_SCOPE") or scope_of(place.home, folder) is not None:
        return []
    return [("", f"nothing is recorded in {folder}: {NOWHERE} Work in a folder, or set SCRUBJAY_SCOPE")]


class Inbox(NamedTuple):
    """The spool in numbers. `turns_...` count what hooks captured, without tools' and commands' writes."""

    waiting: int
    turns_waiting: int
    oldest_seconds: float  # age of the oldest waiting one; 0 without any
    set_aside: int
    turns_set_aside: int
    reasons: list[str]
    unanswered: int  # prompts without an answer: being answered now, or interrupted


def inbox(home: Home) -> Inbox:
    """Read the spool of a home without changing it."""
    waiting = spool.pending(home) + spool.events(home, "answer")
    aside = spool.broken_paths(home)
    return Inbox(
        waiting=len(waiting),
        turns_waiting=sum(map(_is_from_hook, waiting)),
        oldest_seconds=max(map(_age, waiting), default=0.0),
        set_aside=len(aside),
        turns_set_aside=sum(map(_is_from_hook, aside)),
        reasons=spool.reasons(aside[-REASONS:]),
        unanswered=_unanswered(home),
    )


def _is_from_hook(path: str) -> bool:
    """Return True if an envelope is a turn that a hook captured, or an event is its end.

    An unreadable one counts as one: better to report a turn too many as missing.
    """
    try:
        return str(spool.read(path).get("source") or "hook:").startswith("hook:")
    except ScrubjayError:
        return os.path.exists(path)  # else the engine has just stored it


def _age(path: str) -> float:
    try:
        return max(0.0, time.time() - os.stat(path).st_mtime)
    except FileNotFoundError:
        return 0.0


def _unanswered(home: Home) -> int:
    """Count the waiting prompts, from the stored state of each session and the hooks' events since."""
    sessions = [each.path for each in os.scandir(home.prompts) if each.is_dir(follow_symlinks=False)]
    waiting = {folder: _waiting(folder) for folder in sessions}
    for path in spool.events(home):
        with suppress(ScrubjayError, LookupError, TypeError):  # an engine just processed it or moved it away
            event = spool.read(path)
            folder = spool.session_folder(home, event["session_id"])
            if event["kind"] in ("answer", "end"):
                waiting[folder] = 0
            elif event.get("prompt") is not None:  # None: no person wrote it
                waiting[folder] = waiting.get(folder, 0) + 1
    return sum(waiting.values())


def _waiting(folder: str) -> int:
    """Count the waiting prompts of a session; the file of an answered one has three parts in its name."""
    count = 0
    for path in glob.glob(os.path.join(glob.escape(folder), "*.json")):
        with suppress(OSError, ValueError, AttributeError), open_regular(path) as file:
            if os.path.basename(path).count(".") == 2:
                count += json.loads(file.read()).get("text") is not None  # None: no person wrote it
    return count
