"""The doctor's own turn: said to the hooks as a host would say it, recalled through the engine, and forgotten again. Everything is the
user's: home, policy, and the very commands that are registered.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from scrubjay import capture
from scrubjay.cli.checks import NOTE, OK, PROBLEM, Finding
from scrubjay.cli.clients import Clients
from scrubjay.cli.command import Place, call_engine
from scrubjay.cli.installation import hook_command
from scrubjay.errors import EngineError
from scrubjay.settings import capture_view, load

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
        yield Finding(NOTE, "round trip", "Not made here, because this folder is excluded.", "Run the doctor in another folder.")
        return
    session = f"doctor-{secrets.token_hex(6)}"
    question = f"Which port did we choose for the health check of {session}?"
    answer = f"We decided that the health check of {session} listens on port 8125, because 8080 is taken."
    answer += " This sentence makes the answer long enough." * (policy.min_length // 40)
    try:
        took = [
            _hook(place, clients, "UserPromptSubmit", {"session_id": session, "prompt_id": session, "prompt": question}),
            _hook(place, clients, "Stop", {"session_id": session, "prompt_id": session, "last_assistant_message": answer}),
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
        return Finding(PROBLEM, "round trip", "A turn was handed to the hooks, and the engine does not recall it.", advice)
    hooks = " and ".join(f"{seconds * 1000:.0f}" for seconds in took)
    says = f"A turn went through both hooks ({hooks} ms) and was recalled ({waited * 1000:.0f} ms); it is forgotten again."
    return Finding(OK, "round trip", says)


def _hook(place: Place, clients: Clients, event: str, payload: dict[str, Any]) -> float:
    """Run a hook on an event; the seconds it took."""
    command = _registered(clients, event) or hook_command(event)
    env = {name: value for name, value in place.env.items() if name not in ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")}
    env |= {"SCRUBJAY_HOME": place.root, "SCRUBJAY_SCOPE": SCOPE}
    told = json.dumps({**payload, "hook_event_name": event, "cwd": place.cwd}).encode()
    started = time.perf_counter()
    try:
        done = subprocess.run(command, input=told, env=env, cwd=place.cwd, capture_output=True, timeout=HOOK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no answer within {HOOK_SECONDS:g} s"
        raise EngineError(f"The hook for {event} cannot be run: {' '.join(command)}: {reason}. `scrubjay hooks add` renews it.") from error
    if done.returncode != 0 or not done.stdout.strip().startswith(b"{"):
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-200:]
        raise EngineError(f"The hook for {event} ended with {done.returncode} and said {said!r}. Install scrubjay again.")
    return time.perf_counter() - started


def _registered(clients: Clients, event: str) -> list[str] | None:
    """The command that the host runs for an event, if it is registered as one that can be run outside the host."""
    for hooks in clients.hooks:
        for handler in hooks.handlers.get(event, ()):
            command = [handler["command"], *handler.get("args", [])]
            if not any("${" in word for word in command):
                return command
    return None
