"""Findings of the doctor about hosts: what each has of ours, what it lacks, and what it has sent."""

import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from scrubjay.cli.clients import Clients, Hooks, Server, look
from scrubjay.cli.command import Place, visit_engine
from scrubjay.cli.display import local, plural, span
from scrubjay.errors import EngineError
from scrubjay.hosts.additions import codex_waiting
from scrubjay.hosts.installation import console_command, hook_lines
from scrubjay.hosts.machine import this_machine
from scrubjay.hosts.table import BY_NAME, HOSTS, Host

OK, NOTE, PROBLEM = "ok", "note", "PROBLEM"


class Finding(NamedTuple):
    """One verdict: OK, NOTE (worth knowing) or PROBLEM, its subject, a sentence, and what to do about it."""

    verdict: str
    what: str
    says: str
    advice: str = ""


ok, note, problem = partial(Finding, OK), partial(Finding, NOTE), partial(Finding, PROBLEM)
Findings = Iterator[Finding]


def registrations(place: Place, clients: Clients, arrived: Mapping[str, Any] | None) -> Findings:
    """Return the findings about each host: its entries, what it lacks, and what the engine has received."""
    for file in clients.unreadable:
        yield note("clients", f"{file} cannot be read, so its entries are unknown.")
    connected = clients.connected()
    for host in connected:
        yield from _of_host(place, host, clients, arrived)
    for name in ("claude-code", *(clients.plugins.keys() - {"claude-code"})):
        yield from _twice(name, clients)
    for name, sign in clients.found.items():
        if BY_NAME[name] not in connected:
            advice = f"`scrubjay setup --only {name}` connects it."
            yield note("clients", f"{BY_NAME[name].title} is installed ({sign}) but not connected.", advice)
    if not clients.servers and not clients.plugins:
        advice = f"Run `scrubjay setup`, or register the command {' '.join(console_command())}."
        yield note("clients", "No known client has the server.", advice)


def _twice(host: str, clients: Clients) -> Findings:
    """Report a host that has our hooks in more than one place."""
    files = [hooks.file for hooks in clients.hooks if hooks.host.name == host]
    plugins = clients.plugins.get(host, [])
    places = [*files, *(f"the plugin {name}" for name in plugins)]
    if len(places) > 1 and host != "gemini-cli":  # its extension is always the same folder
        says = f"The hooks are in {' and in '.join(places)}: every turn is sent twice and stored once."
        by_us = "`scrubjay hooks remove` leaves them to the plugin."
        advice = by_us if host == "claude-code" else "Remove them from one of the two."
        yield note("hooks", says, advice if plugins else "")


def described(place: Place) -> list[dict[str, Any]]:
    """Return, for each host that is installed or connected, its entries, what it lacks, and problems."""
    clients = look(place.env, place.cwd)
    both = clients.plugins.keys()
    served = both | {server.host.name for server in clients.servers}
    hooked = both | {hooks.host.name for hooks in clients.hooks}
    connected = clients.connected()
    return [
        {
            "host": host.name,
            "title": host.title,
            "tools": host.name in served,
            "capture": host.name in hooked,
            "may_capture": bool(host.capture),
            "recall": host.recall,
            "lacks": host.lacks,
            "trouble": [
                f"{finding.says} {finding.advice}".rstrip()
                for finding in (_of_host(place, host, clients, None) if host in connected else ())
                if finding.verdict != OK
            ],
        }
        for host in HOSTS
        if host.name in clients.found or host in connected
    ]


def _of_host(place: Place, host: Host, clients: Clients, arrived: Mapping[str, Any] | None) -> Findings:
    """Return the problems of one host's entries; unless these prevent its use, also its state."""
    broken = [finding for finding in _broken(place, host, clients) if finding.verdict != OK]
    yield from broken
    if all(finding.verdict != PROBLEM for finding in broken):
        yield _host(place, host, clients, arrived)


def _broken(place: Place, host: Host, clients: Clients) -> Findings:
    """Return the problems of one host's entries."""
    for server in clients.servers:
        if server.host == host:
            yield from _server(place, server)
    for hooks in clients.hooks:
        if hooks.host == host:
            yield from _hooks(hooks)


def _host(place: Place, host: Host, clients: Clients, arrived: Mapping[str, Any] | None) -> Finding:
    """Return the finding about a host's entries and the turns received from it."""
    served = [server.file for server in clients.servers if server.host == host]
    hooked = any(hooks.host == host for hooks in clients.hooks)
    advice = f"`scrubjay setup --only {host.name}` adds it."
    if plugins := clients.plugins.get(host.name):
        served, hooked = served or [" and ".join(plugins)], True
    if not served:
        says = f"{host.title} sends its turns, but lacks the server to recall them."
        return note("clients", says, advice)
    named = f"{host.title} ({served[0]})"
    if not host.capture:
        return ok("clients", f"{named} has the server. {host.lacks}")
    if not hooked:
        says = f"{named} has the server, but lacks the hooks: its turns are not captured."
        return note("clients", says, advice)
    waiting = codex_waiting(this_machine(place.env)) if host.name == "codex" else []
    came = "" if arrived is None else f", and {came_from(arrived, host.name)}"
    if waiting:
        says = (
            f"{named} has the server and the hooks, but needs permission to run {', '.join(waiting)}{came}."
        )
        return note("clients", says, host.click)
    return ok("clients", f"{named} has the server and the hooks{came}.")


def _server(place: Place, server: Server) -> Findings:
    named = f"{server.host.title} ({server.file})"
    if not shutil.which(os.path.expanduser(server.command)) and "${" not in server.command:
        advice = f"Change it to {console_command()[0]}; `scrubjay setup` does that."
        yield problem("clients", f"{named} starts {server.command}, which does not exist.", advice)
    elif server.home and os.path.realpath(os.path.expanduser(server.home)) != os.path.realpath(place.root):
        yield note("clients", f"{named} has the server with another home, {server.home}.")
    elif server.host.name == "claude-desktop" and not os.path.isabs(server.command):
        advice = f"Change it to {console_command()[0]}: Claude Desktop searches few folders."
        yield note("clients", f"{named} starts {server.command} without its folder.", advice)


def _hooks(hooks: Hooks) -> Findings:
    """Return the findings about hooks; those of a plugin cannot be inspected."""
    where = "" if hooks.file.endswith("settings.json") else f" (--settings {hooks.file})"
    claude = hooks.host.name == "claude-code"
    again = f"`scrubjay hooks add` repairs them{where}." if claude else ""
    advice = again or f"`scrubjay setup --only {hooks.host.name}` repairs them."
    handlers = [handler for each in hooks.handlers.values() for handler in each]
    words = [word for handler in handlers for line in hook_lines(handler) for word in line]
    gone = [word for word in words if os.path.isabs(word) and not os.path.exists(word)]
    lacking = [event for event in hooks.host.events if event not in hooks.handlers] if handlers else []
    if hooks.disabled:
        says = f"disableAllHooks in {hooks.file} keeps every hook from running."
        yield problem("hooks", says, "Remove it from that file.")
    elif gone:
        yield problem("hooks", f"The hooks in {hooks.file} call {gone[0]}, which does not exist.", advice)
    elif lacking:
        # An older Scrubjay had no SessionEnd; without it a session ends after a period of silence.
        level = note if lacking == ["SessionEnd"] else problem
        yield level("hooks", f"{hooks.file} lacks the hook for {', '.join(lacking)}.", advice)


def arrivals(place: Place) -> dict[str, Any] | None:
    """Return the number of turns received from each host, and the last time; None without an engine."""
    try:
        client = visit_engine(place)
        if client is None:
            return None
        with client:
            arrived: dict[str, Any] | None = client.call("status", {}).get("hosts")
            return arrived
    except EngineError:
        return None  # the reason is reported elsewhere


def came_from(arrived: Mapping[str, Any], host: str) -> str:
    """Return how many prompts and answers were received from a host, and how long ago the last."""
    if host not in arrived:
        return "nothing received yet"
    counts, last = arrived[host], local(arrived[host]["last"])
    ago = span(max(0.0, (datetime.now(UTC) - last).total_seconds()))
    if "prompts" not in counts:  # an older engine only counts turns
        return f"{plural(counts['turns'], 'turn')} received, the last {ago} ago"
    said = f"{plural(counts['prompts'], 'prompt')} and {plural(counts['answers'], 'answer')}"
    return f"{said} received, the last {ago} ago"
