"""Reads what hosts themselves store about Scrubjay: plugins, copies of plugins, and approvals of hooks."""

import os
from typing import Any, NamedTuple

from scrubjay.errors import ScrubjayError
from scrubjay.hosts.changes import Change
from scrubjay.hosts.entries import JSON, TOML, Entry, Format, at, ours, parsed, read
from scrubjay.hosts.machine import Machine

_CLAUDE_SETTINGS = "{claude}/settings.json"
_OURS = "scrubjay@"  # the start of a plugin's name; its marketplace follows


class Plugin(NamedTuple):
    """An enabled plugin of ours, which brings server and hooks; `folder` is the host's copy of it."""

    name: str
    folder: str


def _codex_unapproved(machine: Machine) -> list[str]:
    path = machine.path("{codex}/config.toml")
    unapproved = []
    try:
        states = at(parsed(read(path), TOML, path), ("hooks", "state"))
        keys = _codex_keys(machine)
    except ScrubjayError:
        return []  # the caller that parses the file reports the error
    for event, key in keys:
        state = at(states, (key,))
        if not isinstance(state, dict) or "trusted_hash" not in state or state.get("enabled") is False:
            unapproved.append(event)
    return unapproved


def _codex_traces(machine: Machine) -> list[Change]:
    """Return what Codex added about us: approvals of hooks, plugins, and a marketplace with only these."""
    file, names = machine.path("{codex}/config.toml"), [plugin.name for plugin in _codex_plugins(machine)]
    paths: list[tuple[str, ...]] = [("hooks", "state", key) for _, key in _codex_keys(machine)]
    paths += [("plugins", name) for name in names]
    paths += [("marketplaces", "scrubjay")] if "scrubjay@scrubjay" in names else []
    return [Entry(file, TOML, keys, None, "trace") for keys in paths]


def _codex_keys(machine: Machine) -> list[tuple[str, str]]:
    """Return each event that has our hook, with Codex's key for the hook, made from its position."""
    path = machine.path("{codex}/hooks.json")
    keys = []
    for handler_path in reversed(list(ours(parsed(read(path), JSON, path).get("hooks")))):
        event, group, *_, handler = handler_path
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(event))[1:]
        keys.append((str(event), f"{path}:{name}:{group}:{handler}"))
    return keys


def _claude_plugins(machine: Machine) -> list[Plugin]:
    return [
        Plugin(name, _cache_folder(machine, "{claude}", name))
        for name, is_enabled in _members(machine.path(_CLAUDE_SETTINGS), JSON, "enabledPlugins").items()
        if is_enabled is True and name.startswith(_OURS)
    ]


def _codex_plugins(machine: Machine) -> list[Plugin]:
    """Return our enabled plugins; Codex enables a plugin unless its table says otherwise."""
    return [
        Plugin(name, _cache_folder(machine, "{codex}", name))
        for name, state in _members(machine.path("{codex}/config.toml"), TOML, "plugins").items()
        if name.startswith(_OURS) and not (isinstance(state, dict) and state.get("enabled") is False)
    ]


def _gemini_plugins(machine: Machine) -> list[Plugin]:
    """Return our extension if Gemini installed it; if `setup` did, its folder has no install file."""
    folder = machine.path("{gemini}/extensions/scrubjay")
    installed = os.path.exists(machine.join(folder, ".gemini-extension-install.json"))
    return [Plugin("scrubjay", folder)] if installed else []


def _cache_folder(machine: Machine, folder: str, plugin: str) -> str:
    name, _, market = plugin.partition("@")
    return machine.path(f"{folder}/plugins/cache/{market}/{name}")


def _members(path: str, form: Format, key: str) -> dict[str, Any]:
    try:
        members = parsed(read(path), form, path).get(key)
    except ScrubjayError:
        return {}  # the caller that parses the file reports the error
    return members if isinstance(members, dict) else {}


def _claude_plugin_traces(machine: Machine) -> list[Change]:
    """Return Claude Code's entries about our plugins and the marketplace with only our plugins."""
    settings, folder = machine.path(_CLAUDE_SETTINGS), machine.path("{claude}/plugins")
    traces: list[Change] = []
    for plugin, _ in _claude_plugins(machine):
        market = plugin.partition("@")[2]
        traces += [
            _trace(settings, "enabledPlugins", plugin),
            _trace(machine.join(folder, "installed_plugins.json"), "plugins", plugin),
        ]
        if market == "scrubjay":
            traces += [
                _trace(settings, "extraKnownMarketplaces", market),
                _trace(machine.join(folder, "known_marketplaces.json"), market),
            ]
    return traces


def _trace(file: str, *keys: str) -> Entry:
    return Entry(file, JSON, keys, None, "trace")


PLUGINS = {"claude-code": _claude_plugins, "codex": _codex_plugins, "gemini-cli": _gemini_plugins}
UNAPPROVED = {"codex": _codex_unapproved}
TRACES = {"claude-code": _claude_plugin_traces, "codex": _codex_traces}
