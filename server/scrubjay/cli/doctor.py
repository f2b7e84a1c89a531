"""`scrubjay doctor`: checks one part after another and says what to do.

It writes nothing outside the home. Its test turn is forgotten again.
"""

import argparse
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scrubjay import VERSION
from scrubjay.cli.clients import Clients, find_clients
from scrubjay.cli.command import Place, how_to_switch_on
from scrubjay.cli.display import contents, plural, size, span
from scrubjay.cli.registered import NOTE, OK, PROBLEM, Finding, arrivals, note, ok, problem, registrations
from scrubjay.cli.status import inbox
from scrubjay.errors import EngineError, InputError, ScrubjayError
from scrubjay.home import capture
from scrubjay.home import kept as kept_files
from scrubjay.home.capture_policy import capture_view
from scrubjay.home.settings import load, restore_config
from scrubjay.home.spool import nonfiles
from scrubjay.hosts.installation import hook_command, run_hook
from scrubjay.hosts.machine import this_machine
from scrubjay.hosts.table import HOSTS
from scrubjay.http_api import tokens
from scrubjay.wire.address import engine_facts

LITTLE_SPACE, NO_SPACE = 1e9, 2e8  # free bytes; compaction needs space for the files it rewrites
SLOW_SPOOL_S = 30.0  # a running engine processes the spool every 2 s
SCOPE = "scrubjay-doctor"


def doctor(place: Place, options: argparse.Namespace) -> int:
    """Check everything, from the installation to the recall of a turn, and give advice."""
    clients = find_clients(place.env, place.cwd)
    findings = []
    for finding in examine(place, clients, mend=options.mend):
        print(f"{finding.verdict:<8} {finding.what:<11} {finding.message}", flush=True)
        if finding.advice:
            print(f"{'':<20} {finding.advice}", flush=True)
        findings.append(finding)
    problems = [finding for finding in findings if finding.verdict == PROBLEM]
    if problems:
        print(f"\n{len(problems)} of {len(findings)} findings need attention. The first:")
        print(problems[0].advice or problems[0].message)
        return 1
    remaining = left_to_do(place, clients)
    print(f"\n{f'Left to do: {remaining}' if remaining else 'Everything works.'}")
    return 0


def examine(place: Place, clients: Clients, *, mend: bool = False) -> Iterator[Finding]:
    """Yield all findings; each check comes after the checks that it depends on."""
    from importlib.metadata import version  # takes 20 ms

    python = f"Python {sys.version.split()[0]}, lancedb {version('lancedb')}, mcp {version('mcp')}"
    yield ok("versions", f"scrubjay {VERSION}, {python}.")
    home_findings = list(guarded("home", home, place))
    yield from home_findings
    has_engine = False  # if the engine is frozen, it is not waited for again at the end
    checks: dict[str, Callable[[Place], Iterator[Finding]]] = {
        "files": partial(files, mend=mend),
        "settings": settings,
        "words": words,
        "model": model,
        "engine": partial(engine, clients=clients, mend=mend),
        "spool": spool,
    }
    reported: list[str] = []  # a mistake in the settings also stops the model and the engine
    for what, check in checks.items() if home_findings[0].verdict == OK else ():
        for finding in guarded(what, check, place):
            has_engine |= finding.what == "engine" and finding.verdict == OK
            if not any(message in finding.message for message in reported):
                yield finding
            if finding.verdict == PROBLEM:
                reported.append(finding.message)
    yield from registrations(place, clients, arrivals(place) if has_engine else None)


def left_to_do(place: Place, clients: Clients) -> str:
    """Return what the user has to do before turns are captured, or "" if turns are captured already."""
    arrived = arrivals(place) or {}
    hooked_hosts = [host for host in HOSTS if host.name in clients.hooked]
    if advice := how_to_switch_on(load(place.home.config)):
        return advice
    if not hooked_hosts:
        return "Connect an assistant that has hooks: `scrubjay setup`."
    for host in hooked_hosts:
        if host.unapproved(this_machine(place.env)):
            return host.click
    if not any(host.name in arrived for host in hooked_hosts):
        titles = " or ".join(host.title for host in hooked_hosts)
        return f"Start a new session in {titles}: no turn has been received from there yet."
    return ""


def guarded(what: str, check: Callable[[Place], Iterator[Finding]], place: Place) -> Iterator[Finding]:
    """Yield the findings of a check; an exception becomes one of them."""
    try:
        yield from check(place)
    except ScrubjayError as error:
        yield problem(what, str(error))


def home(place: Place) -> Iterator[Finding]:
    """Check owner, filesystem and space of the home. Raises HomeError if it is unusable."""
    from scrubjay.wire.lock import check_filesystem

    root = place.home.root
    check_filesystem(root)
    yield ok("home", f"{root} is yours, and its filesystem has locks and hard links.")
    free = shutil.disk_usage(root).free
    verdict = OK if free >= LITTLE_SPACE else NOTE if free >= NO_SPACE else PROBLEM
    advice = "" if verdict == OK else "Free disk space, or move the home with SCRUBJAY_HOME."
    yield Finding(verdict, "space", f"{size(free)} are free there.", advice)


def files(place: Place, *, mend: bool = False) -> Iterator[Finding]:
    """Report missing and damaged files of the home; with `mend`, restore them from their copies."""
    home = place.home
    if mend:
        for path in kept_files.restore(home):
            yield note("mended", f"{path} was missing and has been restored from its copy.")
        if damaged := restore_config(home):
            message = f"{home.config} has been restored from its copy; the damaged file is {damaged}."
            yield note("mended", message)
    for path in kept_files.missing(home):
        message = f"{path} is missing; its copy {kept_files.copy_of(path)} is in force."
        advice = "`scrubjay doctor --mend` restores it; remove the copy to start empty."
        yield problem("files", message, advice)
    names = [name for name in sorted(os.listdir(home.root)) if name.endswith(".broken") or ".aside" in name]
    if names:
        message = f"{', '.join(names)} in {home.root}: damaged; moved away, and started empty."
        yield note("damaged", message, "Copy what you need from it, then delete it.")
    if os.path.isfile(home.deaths) and os.path.getsize(home.deaths):
        message = f"An engine hung or crashed, and was replaced; {home.deaths} shows where."
        advice = "Please report it with that file, which has none of your text; then delete it."
        yield note("engine", message, advice)


def settings(place: Place) -> Iterator[Finding]:
    """Check config.toml, and that it allows capture."""
    config = load(place.home.config)
    if advice := how_to_switch_on(config):
        yield note("settings", "Capture is switched off: hooks record nothing.", advice)
        return
    excluded = f", {plural(len(config.excluded), 'folder')} excluded" if config.excluded else ""
    rest = f"inject = {config.inject}, model = {config.model}"
    yield ok("settings", f"capture = {config.capture}{excluded}, {rest}.")


def words(place: Place) -> Iterator[Finding]:
    """Check that the home's own list of developers' words, if it has one, can be read."""
    from scrubjay.text.developer_words import read_own

    try:
        own_words = read_own(place.home)
    except InputError as error:
        message = f"{place.home.words}, {error} None of that file is used."
        yield problem("words", message, "Correct or delete it; the engine reads it at its next start.")
        return
    if own_words:
        yield ok("words", f"{place.home.words} is used with the bundled words.")


def model(place: Place) -> Iterator[Finding]:
    """Check the model's files; compare the bundled model's with their digests."""
    from scrubjay.encoders.opening import find

    name = load(place.home.config).model
    folder = find(name, Path(place.home.models))
    proof = f"it is in {folder.path}" if folder else "its files are those of the release, bit for bit"
    yield ok("model", f"{folder.reference if folder else name} is available: {proof}.")


def engine(place: Place, clients: Clients, *, mend: bool) -> Iterator[Finding]:
    """Check the engine, its store, and that a turn passes through it."""
    with place.engine() as client:
        facts = client.call("status", {"wait": True})
        if facts["failure"]:
            raise EngineError(f"The engine is running, but cannot work: {facts['failure']}")
        yield ok("engine", f"Version {facts['version']} answers (pid {facts['pid']}).")
        yield from guarded("keys", http, place)
        examined = client.call("examine", {})
        if mend and examined["damage"]:
            yield mended(**client.call("mend", {}))
            examined = client.call("examine", {})
        yield from store(facts | examined)
    yield from guarded("round trip", partial(round_trip, clients=clients), place)


def http(place: Place) -> Iterator[Finding]:
    """Report the HTTP address and keys. Raises HomeError if the keys are unreadable; then all are refused."""
    if url := engine_facts(place.home).get("http"):
        yield ok("http", f"{url} is served, with MCP at {url}/mcp.")
    if keys := tokens.load(place.home):
        yield ok("keys", f"{plural(len(keys), 'key')} for HTTP; `scrubjay token` lists them.")


def mended(deleted: int, aside: str | None) -> Finding:
    """Return the finding about a repair. Deleted records are a problem, because a backup may have them."""
    baseline = "the remaining files are now the baseline, and the index is being rebuilt."
    message = f"Deleted {plural(deleted, 'record')} that could not be read; {baseline}"
    old_store = f"The store as it was before is in {aside}; delete it when you no longer need it."
    if not deleted:
        return note("mended", message, old_store)
    advice = f"`scrubjay restore-backup FOLDER --replace` restores a backup. {old_store}"
    return problem("mended", message, advice)


def store(facts: dict[str, Any]) -> Iterator[Finding]:
    """Check the store and its index, from the engine's report."""
    for damage in facts["damage"]:
        advice = "`scrubjay restore-backup FOLDER --replace` restores a backup; `scrubjay doctor --mend`"
        yield problem("records", damage, f"{advice} continues without the damaged records.")
    if facts.get("lacking"):
        message = f"The index lacks {plural(facts['lacking'], 'record')}, which searches do not find."
        yield problem("index", message, "It is being filled from the records now; check again.")
    for repair in facts.get("repairs", ()):
        yield note("repair", repair)
    if "records" not in facts:  # they could not be counted
        return
    records, failures, disk = facts["records"], facts["upkeep"]["failures"], facts["disk"]
    if message := facts["trouble"] or facts["notice"]:
        yield Finding(PROBLEM if facts["trouble"] else NOTE, "meaning", message)
    if failures:
        message = f"{plural(failures, 'compaction')} failed since the engine started."
        advice = "The log names the reason; `scrubjay stop` and the next start try again."
        yield problem("upkeep", message, advice)
    if disk["bytes"] > disk["limit"]:
        limit = size(disk["limit"])
        message = f"The home uses {size(disk['bytes'])}, more than disk_limit_gb allows ({limit})."
        advice = "Raise it with `scrubjay config disk_limit_gb N`, or delete with `scrubjay forget --purge`."
        yield problem("disk", f"{message} Nothing is deleted automatically.", advice)
    waiting, unindexed = f"{records['waiting_for_vector']:,}", f"{facts['unindexed']:,}"
    unfinished = f"{waiting} without a vector yet, {unindexed} not in the word index yet"
    passages = f"{plural(records['passages'], 'passage')} ({unfinished})"
    yield ok("store", f"{contents(records)}; {passages}, {size(disk['bytes'])}.")


def spool(place: Place) -> Iterator[Finding]:
    """Check that the spool is processed, and report envelopes that were moved away."""
    counts = inbox(place.home)
    for path in nonfiles(place.home):
        yield problem("spool", f"{path} is not a file, and will not be processed.", "Move it away.")
    if counts.set_aside:
        message = f"{plural(counts.set_aside, 'write')} moved away, the last: {counts.reasons[-1]}"
        retry = f"move a file to {place.home.spool_new} (a hook's event: {place.home.events}) to retry it"
        yield problem("spool", message, f"Check {place.home.spool_broken}: {retry}, or delete it.")
    if counts.oldest_seconds > SLOW_SPOOL_S:
        message = f"{plural(counts.waiting, 'write')} waiting, the oldest for {span(counts.oldest_seconds)}."
        yield problem("spool", message, f"No engine processes them; the reason is in {place.home.log}.")
    elif not counts.set_aside:
        yield ok("spool", f"{plural(counts.waiting, 'write')} waiting, none moved away.")


def round_trip(place: Place, clients: Clients) -> Iterator[Finding]:
    """Check that a turn sent to the hooks can be recalled. Raises EngineError if a hook could not be run."""
    config = load(place.home.config)
    policy = capture.policy(capture_view(config))
    if how_to_switch_on(config):
        yield note("round trip", "Skipped, because capture is switched off.")
        return
    if capture.is_excluded(policy, place.cwd, place.root):
        advice = "Run the doctor in another folder."
        yield note("round trip", "Skipped, because this folder is excluded.", advice)
        return
    session = f"doctor-{secrets.token_hex(6)}"
    question = f"Which port did we choose for the health check of {session}?"
    answer = f"We decided that the health check of {session} listens on port 8125, because 8080 is taken."
    answer += " This sentence makes the answer long enough." * (policy.min_length // 40)
    projects = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
    env = {name: value for name, value in place.env.items() if name not in projects}
    env |= {"SCRUBJAY_HOME": place.root, "SCRUBJAY_SCOPE": SCOPE}
    hook_seconds = []
    events = {"UserPromptSubmit": {"prompt": question}, "Stop": {"last_assistant_message": answer}}
    try:
        for event, text in events.items():
            command = clients.hook("claude-code", event) or hook_command("claude-code")
            payload = {"session_id": session, "prompt_id": session, **text}
            hook_seconds.append(run_hook(event, payload, env, place.cwd, command))
        yield _recall_finding(place, session, question, hook_seconds)
    finally:
        shutil.rmtree(os.path.join(place.home.prompts, session), ignore_errors=True)


def _recall_finding(place: Place, session: str, question: str, hook_seconds: list[float]) -> Finding:
    with place.engine(scope=SCOPE) as engine:
        started = time.perf_counter()
        hits = engine.call("search", {"query": question, "session_id": session, "scope": SCOPE})["results"]
        waited = time.perf_counter() - started
        for hit in hits:
            reason = "written by scrubjay doctor"
            engine.call("forget", {"id": hit["id"], "reason": reason, "noted": False})
    if not hits:
        advice = f"The reason may be in {os.path.join(place.home.log, 'hooks.log')}."
        message = "The hooks received a turn, but the engine does not recall it."
        return problem("round trip", message, advice)
    hooks = " and ".join(f"{seconds * 1000:.0f}" for seconds in hook_seconds)
    sentence = f"A turn passed both hooks ({hooks} ms) and was recalled ({waited * 1000:.0f} ms)"
    return ok("round trip", f"{sentence}; it has been forgotten again.")
