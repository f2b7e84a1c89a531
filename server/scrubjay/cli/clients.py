"""Finds the hosts on this machine that have our servers and hooks.

It reads only the files that the table of hosts names; a missing file counts as empty.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scrubjay.errors import HomeError, ScrubjayError
from scrubjay.hosts.entries import JSON, Entry, Format, at, ours, parsed, read
from scrubjay.hosts.installation import hook_lines, is_our_hook, server_command
from scrubjay.hosts.machine import Machine, this_machine
from scrubjay.hosts.table import HOSTS, Host

_NOT_EVENTS = ("hooks", "action")  # names on the path to a handler that are not events


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
    disabled: bool  # by disableAllHooks in this file


class Clients(NamedTuple):
    """Everything found on this machine; `unreadable` are files that exist and cannot be parsed."""

    installed: dict[str, str]  # the sign that a host is installed, by host name
    servers: list[Server]
    hooks: list[Hooks]
    plugins: dict[str, list[str]]  # our enabled plugins, which bring server and hooks, by host name
    unreadable: list[str]

    def connected(self) -> list[Host]:
        """Return the hosts that have our server or our hooks, in the order of the table."""
        return [host for host in HOSTS if host.name in self.served | self.hooked]

    @property
    def served(self) -> set[str]:
        """The names of the hosts that have our server, in their files or by a plugin."""
        return self.plugins.keys() | {server.host.name for server in self.servers}

    @property
    def hooked(self) -> set[str]:
        """The names of the hosts that have our hooks, in their files or by a plugin."""
        return self.plugins.keys() | {hooks.host.name for hooks in self.hooks}

    def hook(self, host: str, event: str) -> list[str] | None:
        """Return the command that a host runs for an event, if it can be run outside the host."""
        handlers = (
            each for hooks in self.hooks if hooks.host.name == host for each in hooks.handlers.get(event, ())
        )
        commands = (next(hook_lines(handler)) for handler in handlers)
        return next((words for words in commands if not any("${" in word for word in words)), None)


def find_clients(env: Mapping[str, str], cwd: str) -> Clients:
    """Return what this user and the project in `cwd` have; a user without a home folder has nothing."""
    try:
        machine = this_machine(env)
    except HomeError:
        return Clients({}, [], [], {}, [])
    installed = {host.name: sign for host in HOSTS if (sign := host.found_by(machine))}
    plugins = {host.name: [each.name for each in host.plugins(machine)] for host in HOSTS}
    plugins = {host: names for host, names in plugins.items() if names}
    clients = Clients(installed, [], [], plugins, [])
    contents: dict[str, Any] = {}
    for host, file, file_format in _files(machine, cwd, installed):
        if file not in contents:
            contents[file] = _content(file, file_format, clients.unreadable)
        if isinstance(contents[file], dict):
            _add_entries(clients, host, file, contents[file])
        elif contents[file]:  # the file of a plugin
            clients.hooks.append(Hooks(host, file, {}, False))
    return clients


def _files(
    machine: Machine, cwd: str, installed: Mapping[str, str]
) -> Iterator[tuple[Host, str, Format | None]]:
    """Yield the files of every host, each with its format, which is None for a plugin's file.

    A file that was yielded for an earlier host is yielded again only for an installed host.
    """
    seen_files: set[str] = set()
    for host in HOSTS:
        by_file: dict[str, Format | None] = {}
        for change in host.changes(machine):
            default_format = JSON if change.file.endswith(".json") else None
            by_file[change.file] = change.format if isinstance(change, Entry) else default_format
        for file, file_format in by_file.items():
            if file not in seen_files or host.name in installed:
                yield host, file, file_format
        seen_files |= by_file.keys()
    own_files = set(map(os.path.realpath, seen_files))
    for host in HOSTS:
        for file in host.in_projects:
            path = os.path.join(cwd, *file.split("/"))
            if os.path.realpath(path) not in own_files:  # in the home folder, it is the user's own file
                yield host, path, JSON


def _content(file: str, file_format: Format | None, unreadable: list[str]) -> Any:
    """Return what a file contains; for a plugin's file, which has no format, True if it contains anything."""
    try:
        content = read(file)
        return bool(content) if file_format is None else parsed(content, file_format, file)
    except ScrubjayError:
        unreadable.append(file)
        return {}


def _add_entries(clients: Clients, host: Host, file: str, content: dict[str, Any]) -> None:
    handlers: dict[str, list[dict[str, Any]]] = {}
    for key_path in reversed(list(ours(content))):
        value = at(content, key_path)
        if is_our_hook(value):
            handlers.setdefault(_event(content, key_path), []).append(value)
        elif any(isinstance(key, str) for key in key_path):
            _add_server(clients, host, file, value)
    if handlers:
        clients.hooks.append(Hooks(host, file, handlers, content.get("disableAllHooks") is True))


def _add_server(clients: Clients, host: Host, file: str, entry: dict[str, Any]) -> None:
    variables = entry.get("env", entry.get("environment", entry.get("envs")))
    home = variables.get("SCRUBJAY_HOME") if isinstance(variables, dict) else None
    command, *_ = server_command(entry) or [""]
    clients.servers.append(Server(host, file, command, home if isinstance(home, str) else None))


def _event(content: Any, key_path: tuple[str | int, ...]) -> str:
    """Return a handler's event: the last name on its path, or else the `trigger` next to it."""
    names = [key for key in key_path if isinstance(key, str) and key not in _NOT_EVENTS]
    parent = at(content, key_path[:-1])
    return names[-1] if names else str(parent.get("trigger", "")) if isinstance(parent, dict) else ""
