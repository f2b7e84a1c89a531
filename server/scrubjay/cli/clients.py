"""Which clients on this machine know us: the servers and hooks registered in their configuration files.

Reads those files and nothing else; a file that is not there registers nothing.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scrubjay.cli.hooks import ours, settings_file
from scrubjay.cli.installation import is_our_server

CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR = "Claude Code", "Claude Desktop", "Cursor"


class Server(NamedTuple):
    """Our server in a client's configuration."""

    client: str
    file: str
    command: str
    home: str | None  # SCRUBJAY_HOME, where the entry sets one


class Hooks(NamedTuple):
    """Our hooks in a settings file of Claude Code: the handlers of each event."""

    file: str
    handlers: dict[str, list[dict[str, Any]]]
    disabled: bool  # disableAllHooks


class Clients(NamedTuple):
    """All that was found; `unreadable` are files that are there and are not JSON."""

    servers: list[Server]
    hooks: list[Hooks]
    unreadable: list[str]


def look(env: Mapping[str, str], cwd: str) -> Clients:
    """What the known configuration files of this user and of the project in `cwd` say."""
    clients = Clients([], [], [])
    for client, file in _server_files(env, cwd):
        for name, entry in _entries(_object(file, clients.unreadable)):
            if is_our_server(entry) or (name == "scrubjay" and isinstance(entry.get("command"), str)):
                variables = entry.get("env")
                home = variables.get("SCRUBJAY_HOME") if isinstance(variables, dict) else None
                home = home if isinstance(home, str) else None
                clients.servers.append(Server(client, file, entry["command"], home))
    project = os.path.join(cwd, ".claude")
    local_files = (os.path.join(project, name) for name in ("settings.json", "settings.local.json"))
    for file in (settings_file(env), *local_files):
        settings = _object(file, clients.unreadable)
        if handlers := ours(settings):
            clients.hooks.append(Hooks(file, handlers, settings.get("disableAllHooks") is True))
    return clients


def _server_files(env: Mapping[str, str], cwd: str) -> Iterator[tuple[str, str]]:
    user = os.path.expanduser("~")
    yield CLAUDE_CODE, os.path.join(env.get("CLAUDE_CONFIG_DIR") or user, ".claude.json")
    yield CLAUDE_CODE, os.path.join(cwd, ".mcp.json")
    yield CLAUDE_DESKTOP, os.path.join(_desktop_folder(env, user), "claude_desktop_config.json")
    yield CURSOR, os.path.join(user, ".cursor", "mcp.json")
    yield CURSOR, os.path.join(cwd, ".cursor", "mcp.json")


def _desktop_folder(env: Mapping[str, str], user: str) -> str:
    if sys.platform == "win32":
        return os.path.join(env.get("APPDATA") or os.path.join(user, "AppData", "Roaming"), "Claude")
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support", "Claude")
    return os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(user, ".config"), "Claude")


def _entries(settings: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The servers of a file by name: its own, and those that Claude Code keeps for each project."""
    projects = settings.get("projects")
    for holder in (settings, *(projects.values() if isinstance(projects, dict) else ())):
        servers = holder.get("mcpServers") if isinstance(holder, dict) else None
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            if isinstance(entry, dict):
                yield name, entry


def _object(file: str, unreadable: list[str]) -> dict[str, Any]:
    try:
        with open(file, "rb") as stream:
            settings = json.loads(stream.read().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        unreadable.append(file)
        return {}
    return settings if isinstance(settings, dict) else {}
