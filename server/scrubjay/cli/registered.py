"""The doctor's findings about hosts: our entries in each, what is missing there, and what each has sent."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from scrubjay.cli.clients import Clients, Hooks, Server, find_clients
from scrubjay.cli.command import Place
from scrubjay.cli.display import local, plural, span
from scrubjay.errors import EngineError
from scrubjay.hosts.installation import console_command, hook_lines
from scrubjay.hosts.machine import this_machine
from scrubjay.hosts.table import BY_NAME, HOSTS, Host

OK, NOTE, PROBLEM = "ok", "note", "PROBLEM"


class Finding(NamedTuple):
    """A verdict (OK, PROBLEM, or NOTE: worth knowing), its subject, a sentence, and what to do about it."""

    verdict: str
    what: str
    message: str
    advice: str = ""


ok, note, problem = partial(Finding, OK), partial(Finding, NOTE), partial(Finding, PROBLEM)


def registrations(place: Place, clients: Clients, arrived: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Return the findings about each host: its entries, what is missing, and what the engine got from it."""
    for file in clients.unreadable:
        yield note("clients", f"{file} cannot be read, so its entries are unknown.")
    connected = clients.connected()
    for host in connected:
        yield from _of_host(place, host, clients, arrived)
    for name, sign in clients.installed.items():
        if BY_NAME[name] not in connected:
            advice = f"`scrubjay setup --only {name}` connects it."
            yield note("clients", f"{BY_NAME[name].title} is installed ({sign}) but not connected.", advice)


def described(place: Place) -> list[dict[str, Any]]:
    """Return the entries of each host that is installed or connected, what it lacks, and its problems."""
    clients = find_clients(place.env, place.cwd)
    connected = clients.connected()
    return [
        {
            "host": host.name,
            "title": host.title,
            "tools": host.name in clients.served,
            "capture": host.name in clients.hooked,
            "may_capture": bool(host.capture),
            "recall": host.recall,
            "lacks": host.lacks,
            "trouble": [
                f"{finding.message} {finding.advice}".rstrip()
                for finding in (_of_host(place, host, clients, None) if host in connected else ())
                if finding.verdict != OK
            ],
        }
        for host in HOSTS
        if host.name in clients.installed or host in connected
    ]


def _of_host(
    place: Place, host: Host, clients: Clients, arrived: Mapping[str, Any] | None
) -> Iterator[Finding]:
    """Yield what is wrong with a host's entries; if they can work, also what the host has and lacks."""
    servers = [server for server in clients.servers if server.host == host]
    host_hooks = [hooks for hooks in clients.hooks if hooks.host == host]
    plugins = [f"the plugin {name}" for name in clients.plugins.get(host.name, ())]
    findings = [finding for server in servers for finding in _server(place, server)]
    findings += [finding for hooks in host_hooks for finding in _hooks(hooks)]
    yield from findings
    if any(finding.verdict == PROBLEM for finding in findings):
        return
    hook_places = [*(hooks.file for hooks in host_hooks), *plugins]
    if len(hook_places) > 1 and not host.one_folder:
        places = " and in ".join(hook_places)
        message = f"The hooks are in {places}: every turn is sent twice and stored once."
        yield note("hooks", message, "Remove them from one of the two." if plugins else "")
    server_places = [server.file for server in servers][:1] or clients.plugins.get(host.name, [])
    label = f"{host.title} ({' and '.join(server_places)})"
    arrival = "" if arrived is None else f", and {arrival_summary(arrived, host.name)}"
    unapproved = host.unapproved(this_machine(place.env))
    advice = f"`scrubjay setup --only {host.name}` adds it."
    if not server_places:
        yield note("clients", f"{host.title} sends its turns, but lacks the server to recall them.", advice)
    elif not host.capture:
        yield ok("clients", f"{label} has the server. {host.lacks}")
    elif not hook_places:
        message = "has the server, but lacks the hooks: its turns are not captured."
        yield note("clients", f"{label} {message}", advice)
    elif unapproved:
        scripts = ", ".join(unapproved)
        message = f"has the server and the hooks, but needs permission to run {scripts}{arrival}."
        yield note("clients", f"{label} {message}", host.click)
    else:
        yield ok("clients", f"{label} has the server and the hooks{arrival}.")


def _server(place: Place, server: Server) -> Iterator[Finding]:
    label = f"{server.host.title} ({server.file})"
    if not shutil.which(os.path.expanduser(server.command)) and "${" not in server.command:
        advice = f"Change it to {console_command()[0]}; `scrubjay setup` does that."
        yield problem("clients", f"{label} starts {server.command}, which does not exist.", advice)
    elif server.home and os.path.realpath(os.path.expanduser(server.home)) != os.path.realpath(place.root):
        yield note("clients", f"{label} has the server with another home, {server.home}.")
    elif server.host.few_folders and not os.path.isabs(server.command):
        advice = f"Change it to {console_command()[0]}: {server.host.title} searches few folders."
        yield note("clients", f"{label} starts {server.command} without its folder.", advice)


def _hooks(hooks: Hooks) -> Iterator[Finding]:
    """Return the findings about the hooks in a file; the hooks of a plugin cannot be inspected."""
    repair = hooks.host.repair or f"setup --only {hooks.host.name}"
    settings_option = f" (--settings {hooks.file})" if hooks.file.endswith("settings.local.json") else ""
    advice = f"`scrubjay {repair}` repairs them{settings_option}."
    handlers = [handler for each in hooks.handlers.values() for handler in each]
    words = [word for handler in handlers for line in hook_lines(handler) for word in line]
    missing_commands = [word for word in words if os.path.isabs(word) and not os.path.exists(word)]
    missing_events = [event for event in hooks.host.events if event not in hooks.handlers] if handlers else []
    if hooks.disabled:
        message = f"disableAllHooks in {hooks.file} keeps every hook from running."
        yield problem("hooks", message, "Remove it from that file.")
    elif missing_commands:
        message = f"The hooks in {hooks.file} call {missing_commands[0]}, which does not exist."
        yield problem("hooks", message, advice)
    elif missing_events:
        yield problem("hooks", f"{hooks.file} lacks the hook for {', '.join(missing_events)}.", advice)


def arrivals(place: Place) -> dict[str, Any] | None:
    """Return the count of turns and the time of the last one, by host; None if no engine can tell."""
    with suppress(EngineError):  # the reason is reported elsewhere
        if client := place.running_engine():
            with client:
                arrived: dict[str, Any] | None = client.call("status", {}).get("hosts")
                return arrived
    return None


def arrival_summary(arrived: Mapping[str, Any], host: str) -> str:
    """Return how many prompts and answers a host has sent, and how long ago it sent the last."""
    if host not in arrived:
        return "nothing received yet"
    counts, last = arrived[host], local(arrived[host]["last"])
    ago = span(max(0.0, (datetime.now(UTC) - last).total_seconds()))
    received = f"{plural(counts['prompts'], 'prompt')} and {plural(counts['answers'], 'answer')}"
    return f"{received} received, the last {ago} ago"
