"""`scrubjay doctor`: checks one thing after the other and says what to do. Knows the order and the verdicts; the checks are beside it.

Nothing outside the home is written, and what is recorded on the way is forgotten again.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from scrubjay.cli.checks import (
    NOTE,
    OK,
    PROBLEM,
    Finding,
    home,
    http,
    installation,
    model,
    registered,
    settings,
    store,
    waiting,
)
from scrubjay.cli.clients import Clients, look
from scrubjay.cli.command import Command, Place, call_engine
from scrubjay.cli.installation import hook_command
from scrubjay.errors import EngineError, ScrubjayError
from scrubjay.home import capture
from scrubjay.home.settings import capture_view, load

Check = Callable[[Place], Iterator[Finding]]

MARKS = {OK: "ok", "note": "note", PROBLEM: "PROBLEM"}


def doctor(place: Place, options: argparse.Namespace) -> int:
    """Check everything; 1 if anything is a problem."""
    clients = look(place.env, place.cwd)
    findings = []
    for finding in examine(place, clients):
        print(f"{MARKS[finding.verdict]:<8} {finding.what:<11} {finding.says}", flush=True)
        if finding.advice:
            print(f"{'':<20} {finding.advice}", flush=True)
        findings.append(finding)
    problems = sum(finding.verdict == PROBLEM for finding in findings)
    print()
    print(
        "Everything works."
        if not problems
        else f"{problems} of {len(findings)} findings need you; each says what to do."
    )
    return 1 if problems else 0


def examine(place: Place, clients: Clients) -> Iterator[Finding]:
    """All findings in the order in which one depends on the other."""
    yield from installation()
    at_home = list(guarded("home", home, place))
    yield from at_home
    if all(finding.verdict != PROBLEM for finding in at_home):
        yield from guarded("settings", settings, place)
        yield from guarded("model", model, place)
        yield from guarded("engine", lambda place: _with_engine(place, clients), place)
        yield from guarded("spool", waiting, place)
    yield from registered(place, clients)


def guarded(what: str, check: Check, place: Place) -> Iterator[Finding]:
    """The findings of a check; what it raises is one of them."""
    try:
        yield from check(place)
    except ScrubjayError as error:
        yield Finding(PROBLEM, what, str(error))


def _with_engine(place: Place, clients: Clients) -> Iterator[Finding]:
    with call_engine(place) as client:
        facts = client.call("status", {"wait": True})
        if facts["failure"]:
            raise EngineError(f"The engine runs, but cannot work: {facts['failure']}")
        yield Finding(OK, "engine", f"Version {facts['version']} answers (pid {facts['pid']}).")
        yield from guarded("http", http, place)
        yield from store(facts)
    yield from guarded("round trip", lambda place: round_trip(place, clients), place)


DOCTOR = Command(
    "doctor", "Check everything, from the installation to a turn's whole way, and say what to do.", doctor
)


SCOPE = "scrubjay-doctor"
HOOK_SECONDS = 15.0  # the scripts give up after 5 s


def round_trip(place: Place, clients: Clients) -> Iterator[Finding]:
    """Whether a turn that hooks are told is recalled.

    Raises:
        EngineError: a hook could not be run.
    """
    policy = capture.policy(capture_view(load(place.home.config)))
    if policy.paused or policy.capture == "off":
        yield Finding(NOTE, "round trip", "Not made, because capture is switched off.")
        return
    if any(capture.is_excluded(policy, os.path.realpath(folder)) for folder in (place.cwd, place.root)):
        yield Finding(
            NOTE,
            "round trip",
            "Not made here, because this folder is excluded.",
            "Run the doctor in another folder.",
        )
        return
    session = f"doctor-{secrets.token_hex(6)}"
    question = f"Which port did we choose for the health check of {session}?"
    answer = f"We decided that the health check of {session} listens on port 8125, because 8080 is taken."
    answer += " This sentence makes the answer long enough." * (policy.min_length // 40)
    try:
        took = [
            _hook(
                place,
                clients,
                "UserPromptSubmit",
                {"session_id": session, "prompt_id": session, "prompt": question},
            ),
            _hook(
                place,
                clients,
                "Stop",
                {"session_id": session, "prompt_id": session, "last_assistant_message": answer},
            ),
        ]
        yield _recalled(place, session, question, took)
    finally:
        shutil.rmtree(os.path.join(place.home.prompts, session), ignore_errors=True)


def _recalled(place: Place, session: str, question: str, took: list[float]) -> Finding:
    with call_engine(place, scope=SCOPE) as engine:
        started = time.perf_counter()
        hits = engine.call("search", {"query": question, "session_id": session, "scope": SCOPE})["results"]
        waited = time.perf_counter() - started
        for hit in hits:
            engine.call("forget", {"id": hit["id"], "reason": "said by scrubjay doctor"})
    if not hits:
        advice = f"The reason may be in {os.path.join(place.home.log, 'hooks.log')}."
        return Finding(
            PROBLEM,
            "round trip",
            "A turn was handed to the hooks, and the engine does not recall it.",
            advice,
        )
    hooks = " and ".join(f"{seconds * 1000:.0f}" for seconds in took)
    says = f"A turn went through both hooks ({hooks} ms) and was recalled ({waited * 1000:.0f} ms); it is forgotten again."
    return Finding(OK, "round trip", says)


def _hook(place: Place, clients: Clients, event: str, payload: dict[str, Any]) -> float:
    """Run a hook on an event; the seconds it took."""
    command = _registered(clients, event) or hook_command(event)
    env = {
        name: value
        for name, value in place.env.items()
        if name not in ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
    }
    env |= {"SCRUBJAY_HOME": place.root, "SCRUBJAY_SCOPE": SCOPE}
    told = json.dumps({**payload, "hook_event_name": event, "cwd": place.cwd}).encode()
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            input=told,
            env=env,
            cwd=place.cwd,
            capture_output=True,
            timeout=HOOK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no answer within {HOOK_SECONDS:g} s"
        raise EngineError(
            f"The hook for {event} cannot be run: {' '.join(command)}: {reason}. `scrubjay hooks add` renews it."
        ) from error
    if done.returncode != 0 or not done.stdout.strip().startswith(b"{"):
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-200:]
        raise EngineError(
            f"The hook for {event} ended with {done.returncode} and said {said!r}. Install scrubjay again."
        )
    return time.perf_counter() - started


def _registered(clients: Clients, event: str) -> list[str] | None:
    """The command that the host runs for an event, if it is registered as one that can be run outside the host."""
    for hooks in clients.hooks:
        for handler in hooks.handlers.get(event, ()):
            command = [handler["command"], *handler.get("args", [])]
            if not any("${" in word for word in command):
                return command
    return None
