"""`scrubjay doctor`: checks one thing after the other and says what to do. Knows the order and the verdicts; the checks are beside it.

Nothing outside the home is written, and what is recorded on the way is forgotten again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from scrubjay.cli.checks import OK, PROBLEM, Finding, home, http, installation, model, registered, settings, store, waiting
from scrubjay.cli.clients import Clients, look
from scrubjay.cli.command import Command, Place, call_engine
from scrubjay.cli.round_trip import round_trip
from scrubjay.errors import EngineError, ScrubjayError

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
    print("Everything works." if not problems else f"{problems} of {len(findings)} findings need you; each says what to do.")
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


DOCTOR = Command("doctor", "Check everything, from the installation to a turn's whole way, and say what to do.", doctor)
