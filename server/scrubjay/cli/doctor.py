"""`scrubjay doctor`: checks one thing after the other and says what to do.

It writes nothing outside the home. Its test turn is forgotten again.
"""

import argparse
import os
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from scrubjay import VERSION
from scrubjay.cli.clients import Clients, look
from scrubjay.cli.command import Place, call_engine, command, flag
from scrubjay.cli.display import contents, plural, size, span
from scrubjay.cli.registered import (
    NOTE,
    OK,
    PROBLEM,
    Finding,
    Findings,
    arrivals,
    note,
    ok,
    problem,
    registrations,
)
from scrubjay.cli.status import inbox
from scrubjay.errors import EngineError, InputError, ScrubjayError
from scrubjay.home import capture
from scrubjay.home import kept as kept_files
from scrubjay.home.scopes import USER_SCOPE, display_name, list_scopes
from scrubjay.home.settings import capture_view, load, restore_config
from scrubjay.home.spool import nonfiles
from scrubjay.hosts.additions import codex_waiting
from scrubjay.hosts.installation import hook_command, hook_lines, run_hook
from scrubjay.hosts.machine import this_machine
from scrubjay.hosts.table import BY_NAME, HOSTS
from scrubjay.http_api import tokens

LITTLE_SPACE, NO_SPACE = 1e9, 2e8  # bytes free: compaction needs space for rewritten files
SLOW_SPOOL_S = 30.0  # a running engine processes the spool every 2 s
ANSWER_S = 5.0  # for the HTTP interface to answer
MANY_FRAGMENTS = 200  # upkeep merges them long before
PACKAGES = ("lancedb", "mcp", "numpy", "onnxruntime")
SCOPE = "scrubjay-doctor"
RESUME = "`scrubjay resume` ends the pause."
CAPTURE = "`scrubjay config capture all` turns capture on."


@command(flag("--mend", "continue without damaged records, if no backup can restore them"))
def doctor(place: Place, options: argparse.Namespace) -> int:
    """Check everything, from the installation to a turn's whole way, and say what to do."""
    clients = look(place.env, place.cwd)
    findings = []
    for finding in examine(place, clients, mend=options.mend):
        print(f"{finding.verdict:<8} {finding.what:<11} {finding.says}", flush=True)
        if finding.advice:
            print(f"{'':<20} {finding.advice}", flush=True)
        findings.append(finding)
    problems = [finding for finding in findings if finding.verdict == PROBLEM]
    if problems:
        print(
            f"\n{len(problems)} of {len(findings)} findings need attention; each says what to do. The first:"
        )
        print(problems[0].advice or problems[0].says)
        return 1
    left = left_to_do(place, clients)
    print(f"\n{f'Left to do: {left}' if left else 'Everything works.'}")
    return 0


def examine(place: Place, clients: Clients, *, mend: bool = False) -> Findings:
    """Return all findings, in order of dependency."""
    yield from installation()
    at_home = list(guarded("home", home, place))
    engine_answers = False  # wait for a frozen engine only once
    yield from at_home
    if all(finding.verdict != PROBLEM or finding.what == "space" for finding in at_home):
        yield from gone(place, mend=mend)
        yield from guarded("settings", settings, place)
        yield from guarded("keys", keys, place)
        yield from guarded("words", words, place)
        yield from guarded("model", model, place)
        for finding in guarded("engine", lambda place: _with_engine(place, clients, mend), place):
            engine_answers |= finding.what == "engine" and finding.verdict == OK
            yield finding
        yield from deaths(place)
        yield from guarded("spool", spool, place)
        yield from kept(place)
    yield from registrations(place, clients, arrivals(place) if engine_answers else None)


def left_to_do(place: Place, clients: Clients) -> str:
    """Return what has to be done before turns are captured; "" if they are."""
    now, arrived = load(place.home.config), arrivals(place) or {}
    hooked = clients.plugins.keys() | {hooks.host.name for hooks in clients.hooks}
    if now.paused:
        return RESUME
    if now.capture == "off":
        return CAPTURE
    if not hooked:
        return "Connect an assistant that has hooks: `scrubjay setup`."
    if "codex" in hooked and codex_waiting(this_machine(place.env)):
        return BY_NAME["codex"].click
    if not any(host in arrived for host in hooked):
        titles = " or ".join(host.title for host in HOSTS if host.name in hooked)
        return f"Start a new session in {titles}: no turn has been received from there yet."
    return ""


def guarded(what: str, check: Callable[[Place], Findings], place: Place) -> Findings:
    """Return the findings of a check; an exception becomes a finding."""
    try:
        yield from check(place)
    except ScrubjayError as error:
        yield problem(what, str(error))


def _with_engine(place: Place, clients: Clients, mend: bool) -> Findings:
    with call_engine(place) as client:
        facts = client.call("status", {"wait": True})
        if facts["failure"]:
            raise EngineError(f"The engine is running, but cannot work: {facts['failure']}")
        yield ok("engine", f"Version {facts['version']} answers (pid {facts['pid']}).")
        yield from guarded("http", http, place)
        examined = client.call("examine", {})
        if mend and examined["damage"]:
            yield mended(**client.call("mend", {}))
            examined = client.call("examine", {})
        yield from store(facts | examined)
        if not examined["damage"]:  # damaged records may be impossible to count
            counts = client.call("scopes", {})
            yield from own_scope(counts)
            yield from unnamed(place, counts)
    yield from guarded("round trip", lambda place: round_trip(place, clients), place)


def mended(deleted: int, aside: str | None) -> Finding:
    """Return the finding about damaged records; deletion is a problem, because a backup may have them."""
    rest = "the remaining files are now the baseline, and the index is being rebuilt."
    says = f"Deleted {plural(deleted, 'record')} that could not be read; {rest}"
    if not deleted:
        return note("mended", says)
    copies = f" The damaged files are in {aside}." if aside else ""
    return problem("mended", says, f"`scrubjay restore-backup FOLDER --replace` restores a backup.{copies}")


def installation() -> Findings:
    """Check the interpreter and the packages."""
    from importlib.metadata import PackageNotFoundError, version

    versions, missing = [], []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    python = ".".join(map(str, sys.version_info[:3]))
    if missing:
        yield problem("packages", f"Not installed: {', '.join(missing)}.", "Install scrubjay again.")
    yield ok("versions", f"scrubjay {VERSION}, Python {python}, {', '.join(versions)}.")


def home(place: Place) -> Findings:
    """Check owner, permissions, filesystem and space of the home. Raises HomeError if it is unusable."""
    from scrubjay.wire.lock import check_filesystem

    root = place.home.root
    check_filesystem(root)
    mode = stat.S_IMODE(os.stat(root).st_mode)
    free = shutil.disk_usage(root).free
    rights = "closed to others" if os.name == "nt" or mode == 0o700 else f"mode {mode:o}"
    yield ok("home", f"{root} is yours, {rights}, and its filesystem has locks and hard links.")
    verdict = OK if free >= LITTLE_SPACE else NOTE if free >= NO_SPACE else PROBLEM
    advice = "" if verdict == OK else "Free disk space, or move the home with SCRUBJAY_HOME."
    yield Finding(verdict, "space", f"{size(free)} are free there.", advice)


def kept(place: Place) -> Findings:
    """Report damaged files of the home that were moved away."""
    names = sorted(name for name in os.listdir(place.root) if name.endswith(".broken") or ".aside" in name)
    if names:
        says = f"{', '.join(names)} in {place.root}: damaged; moved away, and started empty."
        yield note("damaged", says, "Copy what you need from it, then delete it.")


def gone(place: Place, *, mend: bool) -> Findings:
    """Report missing or unreadable files of the home, and restore them from their copies."""
    if mend:
        for path in kept_files.restore(place.home):
            yield note("mended", f"{path} was missing and has been restored from its copy.")
        if aside := restore_config(place.home):
            yield note(
                "mended", f"{place.home.config} has been restored from its copy; the damaged file is {aside}."
            )
    for path in kept_files.missing(place.home):
        says = f"{path} is missing; its copy {kept_files.copy_of(path)} is in force."
        yield problem("files", says, "`scrubjay doctor --mend` restores it; remove the copy to start empty.")


def unnamed(place: Place, counts: Mapping[str, Any]) -> Findings:
    """Report projects that have memories, but no folder on this machine."""
    known = {entry["scope"] for entry in list_scopes(place.home)}
    lost = sorted(scope for scope in counts if display_name(scope) != scope and scope not in known)
    if lost:
        named = ", ".join(lost[:5])
        says = f"{place.home.scopes} has no folder for {plural(len(lost), 'project')}: {named}."
        advice = "They came from elsewhere, or the file lost them; `scrubjay scopes` merges one into another."
        yield note("scopes", says, advice)


def settings(place: Place) -> Findings:
    """Check config.toml, and whether it allows capture."""
    now = load(place.home.config)
    if now.paused:
        yield note("settings", "Capture is paused: hooks record nothing.", RESUME)
    elif now.capture == "off":
        yield note("settings", "Capture is off: hooks record nothing.", CAPTURE)
    else:
        excluded = f", {plural(len(now.excluded), 'folder')} excluded" if now.excluded else ""
        says = f"capture = {now.capture}{excluded}, inject = {now.inject}, model = {now.model}."
        yield ok("settings", says)


def keys(place: Place) -> Findings:
    """Check that the HTTP keys can be read; without them, every request is refused."""
    if opening := tokens.load(place.home):
        yield ok("keys", f"{plural(len(opening), 'key')} for HTTP; `scrubjay token` lists them.")


def words(place: Place) -> Findings:
    """Check that the home's own developers' words can be read, if it has any."""
    from scrubjay.text.developer_words.own import read_own

    try:
        own = read_own(place.home)
    except InputError as error:
        says = f"{place.home.words}, {error} None of that file is used."
        yield problem("words", says, "Correct or delete it; the engine reads it at its next start.")
        return
    if own:
        yield ok("words", f"{place.home.words} is used with the bundled words.")


def model(place: Place) -> Findings:
    """Check the model's files; those of the bundled one are compared with their digests."""
    from scrubjay.encoders.opening import find

    name = load(place.home.config).model
    folder = find(name)
    proof = f"it is in {folder.path}" if folder else "its files are those of the release, bit for bit"
    yield ok("model", f"{folder.reference if folder else name} is available: {proof}.")


def store(facts: dict[str, Any]) -> Findings:
    """Check the store and its index, from the engine's report."""
    for damage in facts["damage"]:
        advice = "`scrubjay restore-backup FOLDER --replace` restores a backup; `scrubjay doctor --mend`"
        yield problem("records", damage, f"{advice} continues without the damaged records.")
    if facts.get("lacking"):
        says = f"The index lacks {plural(facts['lacking'], 'record')}, which searches do not find."
        advice = "It is being filled from the records now; check again with `scrubjay doctor`."
        yield problem("index", says, advice)
    for repair in facts.get("repairs", ()):
        yield note("repair", repair)
    if "records" not in facts:  # they could not be counted
        return
    records, upkeep, disk = facts["records"], facts["upkeep"], facts["disk"]
    if facts["trouble"]:
        yield problem("meaning", facts["trouble"])
    elif facts["notice"]:
        yield note("meaning", facts["notice"])
    if upkeep["failures"]:
        says = f"{plural(upkeep['failures'], 'compaction')} failed since the engine started."
        advice = "The log names the reason; `scrubjay stop` and the next start try again."
        yield problem("upkeep", says, advice)
    if upkeep["fragments"] > MANY_FRAGMENTS:
        says = f"A table is in {upkeep['fragments']:,} fragments."
        yield note("upkeep", says, "Upkeep merges them while the engine is idle.")
    if disk["bytes"] > disk["limit"]:
        says = f"The home uses {size(disk['bytes'])}, more than disk_limit_gb allows ({size(disk['limit'])})."
        says += " Nothing is deleted automatically."
        advice = "Raise it with `scrubjay config disk_limit_gb N`, or delete with `scrubjay forget --purge`."
        yield problem("disk", says, advice)
    behind = f"{records['waiting_for_vector']:,} without a vector yet, "
    behind += f"{facts['unindexed']:,} not in the word index yet"
    passages = f"{plural(records['passages'], 'passage')} ({behind})"
    yield ok("store", f"{contents(records)}; {passages}, {size(disk['bytes'])}.")


def own_scope(counts: dict[str, dict[str, int]]) -> Findings:
    """Report the scope `user`, in which earlier versions stored everything said outside git."""
    own = counts.get(USER_SCOPE, {})
    if own.get("turns") or own.get("documents"):
        says = f"The scope user, which every project sees, holds {contents(own)}. Before folders had"
        says += " scopes, everything said outside git went there; the folder is unknown."
        advice = "`scrubjay list --scope user` shows it; `scrubjay forget ID` hides the rest."
        yield note("scopes", says, advice)


def http(place: Place) -> Findings:
    """Check that HTTP is answered at the engine's address, and whether a key is required."""
    from http.client import HTTPConnection, HTTPException  # not at the top: slow to import for other commands

    from scrubjay.wire.address import engine_facts

    url = engine_facts(place.home).get("http")
    if url is None:
        return
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/openapi.json")
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        yield problem("http", f"{url} does not answer: {error}.", "Start `scrubjay serve --http` again.")
        return
    finally:
        connection.close()
    keys = {HTTPStatus.OK: "any key is valid", HTTPStatus.UNAUTHORIZED: "a key is needed (`scrubjay token`)"}
    key = keys.get(HTTPStatus(status), f"says {status}")
    yield ok("http", f"{url} answers, and {key}; MCP is at {url}/mcp.")


def deaths(place: Place) -> Findings:
    """Report engines that hung or crashed."""
    path = place.home.deaths
    if os.path.isfile(path) and os.path.getsize(path):
        day = time.strftime("%Y-%m-%d", time.localtime(os.path.getmtime(path)))
        says = f"An engine hung or crashed (last on {day}), and was replaced; {path} shows where."
        yield note(
            "engine", says, "Please report it with that file, which has none of your text; then delete it."
        )


def spool(place: Place) -> Findings:
    """Check that the spool is processed, and report envelopes that were moved away."""
    left = inbox(place.home)
    for odd in nonfiles(place.home):
        yield problem("spool", f"{odd} is not a file, and will not be processed.", "Move it away.")
    if left.set_aside:
        again = f"move a file to {place.home.spool_new} (a hook's event, such as -answer-, to "
        again += f"{place.home.events}) to retry it, or delete it"
        says = f"{plural(left.set_aside, 'write')} moved away, the last: {left.reasons[-1]}"
        yield problem("spool", says, f"Check {place.home.spool_broken}: {again}.")
    if left.oldest_seconds > SLOW_SPOOL_S:
        says = f"{plural(left.waiting, 'write')} waiting, the oldest for {span(left.oldest_seconds)}."
        yield problem("spool", says, f"No engine processes them; the reason is in {place.home.log}.")
    elif not left.set_aside:
        yield ok("spool", f"{plural(left.waiting, 'write')} waiting, none moved away.")


def round_trip(place: Place, clients: Clients) -> Findings:
    """Check that a turn sent to the hooks can be recalled.

    Raises:
        EngineError: a hook could not be run.
    """
    policy = capture.policy(capture_view(load(place.home.config)))
    if policy.paused or policy.capture == "off":
        yield note("round trip", "Skipped, because capture is switched off.")
        return
    if capture.is_excluded(policy, place.cwd, place.root):
        says = "Skipped, because this folder is excluded."
        yield note("round trip", says, "Run the doctor in another folder.")
        return
    session = f"doctor-{secrets.token_hex(6)}"
    question = f"Which port did we choose for the health check of {session}?"
    answer = f"We decided that the health check of {session} listens on port 8125, because 8080 is taken."
    answer += " This sentence makes the answer long enough." * (policy.min_length // 40)
    try:
        ids = {"session_id": session, "prompt_id": session}
        prompted = _hook(place, clients, "UserPromptSubmit", {**ids, "prompt": question})
        stopped = _hook(place, clients, "Stop", {**ids, "last_assistant_message": answer})
        yield _recall(place, session, question, [prompted, stopped])
    finally:
        shutil.rmtree(os.path.join(place.home.prompts, session), ignore_errors=True)


def _recall(place: Place, session: str, question: str, took: list[float]) -> Finding:
    with call_engine(place, scope=SCOPE) as engine:
        started = time.perf_counter()
        hits = engine.call("search", {"query": question, "session_id": session, "scope": SCOPE})["results"]
        waited = time.perf_counter() - started
        for hit in hits:
            engine.call("forget", {"id": hit["id"], "reason": "written by scrubjay doctor"})
    if not hits:
        advice = f"The reason may be in {os.path.join(place.home.log, 'hooks.log')}."
        says = "The hooks received a turn, but the engine does not recall it."
        return problem("round trip", says, advice)
    hooks = " and ".join(f"{seconds * 1000:.0f}" for seconds in took)
    way = f"A turn passed both hooks ({hooks} ms) and was recalled ({waited * 1000:.0f} ms)"
    return ok("round trip", f"{way}; it has been forgotten again.")


def _hook(place: Place, clients: Clients, event: str, payload: dict[str, Any]) -> float:
    command = _registered(clients, event) or hook_command("claude-code")
    projects = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
    env = {name: value for name, value in place.env.items() if name not in projects}
    env |= {"SCRUBJAY_HOME": place.root, "SCRUBJAY_SCOPE": SCOPE}
    return run_hook(event, payload, env, place.cwd, command)


def _registered(clients: Clients, event: str) -> list[str] | None:
    """Return the command that Claude Code runs for an event, if it can be run outside it; else None."""
    for hooks in clients.hooks:
        for handler in hooks.handlers.get(event, ()) if hooks.host.name == "claude-code" else ():
            command = next(hook_lines(handler))
            if not any("${" in word for word in command):
                return command
    return None
