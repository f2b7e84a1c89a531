"""The hosts on this machine that have our servers and hooks, read from the files in the table of hosts.

Reads only those files; a missing file registers nothing.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scrubjay.errors import HomeError, ScrubjayError
from scrubjay.hosts.entries import JSON, Entry, Format, at, ours, parsed, read
from scrubjay.hosts.installation import hook_lines, is_our_hook, server_command
from scrubjay.hosts.machine import Machine, this_machine
from scrubjay.hosts.table import HOSTS, Host

_INNER = ("hooks", "action")  # names on the path to a handler that are not events


class Server(NamedTuple):
    """Our server in a host's configuration."""

    host: Host
    file: str
    command: str
    home: str | None  # SCRUBJAY_HOME, if the entry sets it


class Hooks(NamedTuple):
    """Our hooks in a file of a host: the handlers of each event."""

    host: Host
    file: str
    handlers: dict[str, list[dict[str, Any]]]
    disabled: bool  # disableAllHooks


class Clients(NamedTuple):
    """Everything found on this machine; `unreadable` are existing files that cannot be parsed."""

    found: dict[str, str]  # by name of the host, the sign that it is installed
    servers: list[Server]
    hooks: list[Hooks]
    plugins: dict[str, list[str]]  # by name of the host, our enabled plugins, which bring server and hooks
    unreadable: list[str]

    def connected(self) -> list[Host]:
        """The hosts that have our server or our hooks, in the order of the table."""
        return [host for host in HOSTS if host.name in self.served | self.hooked]

    @property
    def served(self) -> set[str]:
        """The names of the hosts that have our server, by themselves or by a plugin."""
        return self.plugins.keys() | {server.host.name for server in self.servers}

    @property
    def hooked(self) -> set[str]:
        """The names of the hosts that have our hooks, by themselves or by a plugin."""
        return self.plugins.keys() | {hooks.host.name for hooks in self.hooks}

    def hook(self, host: str, event: str) -> list[str] | None:
        """Return the command that a host runs for an event, if it can be run outside it."""
        handlers = (
            each for hooks in self.hooks if hooks.host.name == host for each in hooks.handlers.get(event, ())
        )
        commands = (next(hook_lines(handler)) for handler in handlers)
        return next((words for words in commands if not any("${" in word for word in words)), None)


def look(env: Mapping[str, str], cwd: str) -> Clients:
    """Read the files of this user and of the project in `cwd`; a user without a home folder has none."""
    try:
        machine = this_machine(env)
    except HomeError:
        return Clients({}, [], [], {}, [])
    found = {host.name: sign for host in HOSTS if (sign := host.found_by(machine))}
    plugins = {host.name: [each.name for each in host.plugins(machine)] for host in HOSTS}
    plugins = {host: names for host, names in plugins.items() if names}
    clients = Clients(found, [], [], plugins, [])
    held: dict[str, Any] = {}
    for host, file, form in _files(machine, cwd, found):
        if file not in held:
            held[file] = _value(file, form, clients.unreadable)
        if isinstance(held[file], dict):
            _add(clients, host, file, held[file])
        elif held[file]:  # a plugin
            clients.hooks.append(Hooks(host, file, {}, False))
    return clients


def _files(machine: Machine, cwd: str, found: Mapping[str, str]) -> Iterator[tuple[Host, str, Format | None]]:
    """Yield the files of every host, each once, with their formats; None for a plugin.

    A file that belongs to another host counts only if this host is installed.
    """
    taken: set[str] = set()
    for host in HOSTS:
        by_file: dict[str, Format | None] = {}
        for change in host.changes(machine):
            own = JSON if change.file.endswith(".json") else None
            by_file[change.file] = change.format if isinstance(change, Entry) else own
        for file, form in by_file.items():
            if file not in taken or host.name in found:
                yield host, file, form
        taken |= by_file.keys()
    for host in HOSTS:
        for file in host.in_projects:
            yield host, os.path.join(cwd, *file.split("/")), JSON


def _value(file: str, form: Format | None, unreadable: list[str]) -> Any:
    try:
        content = read(file)
        return bool(content) if form is None else parsed(content, form, file)
    except ScrubjayError:
        unreadable.append(file)
        return {}


def _add(clients: Clients, host: Host, file: str, held: dict[str, Any]) -> None:
    handlers: dict[str, list[dict[str, Any]]] = {}
    for way in reversed(list(ours(held))):
        value = at(held, way)
        if is_our_hook(value):
            handlers.setdefault(_event(held, way), []).append(value)
        elif any(isinstance(key, str) for key in way):
            _add_server(clients, host, file, value)
    if handlers:
        clients.hooks.append(Hooks(host, file, handlers, held.get("disableAllHooks") is True))


def _add_server(clients: Clients, host: Host, file: str, entry: dict[str, Any]) -> None:
    variables = entry.get("env", entry.get("environment", entry.get("envs")))
    home = variables.get("SCRUBJAY_HOME") if isinstance(variables, dict) else None
    command, *_ = server_command(entry) or [""]
    clients.servers.append(Server(host, file, command, home if isinstance(home, str) else None))


def _event(held: Any, way: tuple[str | int, ...]) -> str:
    """Return the event of a handler: the last name on the path to it, or next to it."""
    named = [key for key in way if isinstance(key, str) and key not in _INNER]
    parent = at(held, way[:-1])
    return named[-1] if named else str(parent.get("trigger", "")) if isinstance(parent, dict) else ""
