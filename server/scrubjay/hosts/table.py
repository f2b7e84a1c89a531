"""Lists the changes that `setup` makes to each host's files, by the host's entry in `hosts.json`."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay import VERSION
from scrubjay.home.paths import Home
from scrubjay.hosts import additions
from scrubjay.hosts.additions import Plugin
from scrubjay.hosts.changes import Change, OwnFile, changed_files
from scrubjay.hosts.entries import JSON, JSONC, TOML, YAML, Entry
from scrubjay.hosts.facts import DEFAULTS
from scrubjay.hosts.facts import HOSTS as FACTS
from scrubjay.hosts.installation import at_home, console_command, hook_command, hooks_folder, line
from scrubjay.hosts.machine import Machine

Part = Mapping[str, Any]
SECONDS = 10  # a host's time limit for our hook, which ends by itself long before that
_FORMATS = {"JSON": JSON, "JSONC": JSONC, "TOML": TOML, "YAML": YAML}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Ours:
    """The server and the hook that we register with a host; `root` is None for the default home."""

    machine: Machine
    host: str
    root: str | None = None
    has_tools: bool = False  # the host also runs the hook before and after tools

    def server(self) -> dict[str, Any]:
        """Return the values of the placeholders in the entry that registers our server."""
        command, *arguments = console_command()
        variables = {"SCRUBJAY_HOME": self.root} if self.root else {}
        return {
            "command": command,
            "arguments": arguments,
            "words": [command, *arguments],
            "variables": variables,
            "env": variables or None,
            "version": VERSION,
        }

    def hook(self, event: str | None = None, *, stable: bool = False) -> list[str]:
        """Return the command of the hook; see `hook_command`."""
        return at_home(hook_command(self.host, event, stable=stable), self.root, self.machine.platform)

    def handler(self, part: Part, event: str) -> Any:
        """Return our handler of an event, in the host's format and for the platform's shell."""
        platform = self.machine.platform
        shape = part.get("handler", DEFAULTS["handler"])
        command, *arguments = self.hook()
        values = {
            "event": event,
            "timeout": part.get("timeouts", {}).get(event, part.get("timeout", SECONDS)),
            "hook": command,
            "hook_arguments": arguments,
            "line": line(self.hook(), platform),
            "event_line": line(self.hook(event), platform),
            "stable_line": line(self.hook(stable=True), platform),
        }
        handler = _filled(part.get("handler_on_windows", shape) if platform == "win32" else shape, values)
        tool = part.get("tools", {}).get(event)
        return {"matcher": tool["matcher"], **handler} if tool else handler

    def handlers(self, part: Part) -> dict[str, Any]:
        """Return our handlers by event; handlers that run before and after tools only if `has_tools`."""
        tools = part.get("tools", ()) if self.has_tools else ()
        return {event: self.handler(part, event) for event in (*events(part), *tools)}


@dataclass(frozen=True, eq=False)
class Host:
    """One assistant: how it is recognised, what `setup` writes for it, and what it cannot do."""

    name: str  # as on the wire, in records and on the command line
    title: str
    signs: Sequence[str]  # files and folders that exist on a machine with this host
    tools: Sequence[Part]
    commands: Sequence[str] = ()  # its commands on the PATH
    capture: Sequence[Part] = ()
    reads: str | None = None  # another host, whose hooks this host runs too
    in_projects: Sequence[str] = ()  # its files in a project; they may register our server too
    recall: str = ""  # when it adds recalled text to a conversation by itself
    one_folder: bool = False  # it keeps our plugin and our hooks in the same folder
    few_folders: bool = False  # it does not find commands that are only on the user's PATH
    repair: str = ""  # the command that repairs its hooks, if not `setup`
    click: str = ""  # what the user has to do once, as a sentence
    lacks: str = ""  # what is missing, and why
    proof: str = "documents"  # how it was tested: a whole session ("run") of the real host, or "parts" of it
    trial: Part = field(default_factory=lambda: DEFAULTS["trial"])  # a prompt's payload, with placeholders
    history: Sequence[Part] = ()

    def changes(self, machine: Machine, root: str | None = None, *, has_tools: bool = False) -> list[Change]:
        """Return all our changes to this host's files; with `has_tools`, also hooks that run around tools."""
        for_server = Ours(machine, self.name, root)
        for_hooks = Ours(machine, self.reads or self.name, root, has_tools)
        tools = [change for part in self.tools for change in _server_changes(for_server, part)]
        return tools + [change for part in self.capture for change in _hook_changes(for_hooks, part)]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the events in its hook file, if the file names each separately."""
        return tuple(event for part in self.capture if "kind" not in part for event in events(part))

    def found_by(self, machine: Machine) -> str | None:
        """Return a file, folder or command that proves that the host is installed, or None."""
        signs = map(machine.path, self.signs)
        path = machine.env.get("PATH", os.defpath)
        commands = (shutil.which(command, path=path) for command in self.commands)
        return next((sign for sign in signs if os.path.exists(sign)), next(filter(None, commands), None))

    def is_connected(self, machine: Machine, home: Home) -> bool:
        """Return True if `setup` or a plugin registered our server with this host."""
        changed = changed_files(home)
        ours = Ours(machine, self.name)
        files = (change.file for part in self.tools for change in _server_changes(ours, part))
        return any(file in changed for file in files) or bool(self.plugins(machine))

    def plugins(self, machine: Machine) -> list[Plugin]:
        """Return our plugins that are enabled in this host."""
        reader = additions.PLUGINS.get(self.name)
        return reader(machine) if reader else []

    def traces(self, machine: Machine) -> list[Change]:
        """Return the entries that the host itself added about Scrubjay."""
        reader = additions.TRACES.get(self.name)
        return reader(machine) if reader else []

    def unapproved(self, machine: Machine) -> list[str]:
        """Return the events whose hook the user has not approved yet, or has switched off."""
        reader = additions.UNAPPROVED.get(self.name)
        return reader(machine) if reader else []

    @property
    def prompt_event(self) -> str | None:
        """Return the host's name of the prompt event, or None if our plugin sends the host's events."""
        pairs = (pair for part in self.capture for pair in events(part).items())
        return next((event for event, kind in pairs if kind == "prompt"), None)

    def payload(self, session: str, folder: str, prompt: str) -> dict[str, Any]:
        """Return a prompt's payload in this host's format."""
        values = {"session": session, "folder": folder, "prompt": prompt}
        values["now"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        payload: dict[str, Any] = _filled(self.trial, {**values, "milliseconds": int(time.time() * 1000)})
        return payload


def _host(name: str) -> Host:
    facts = {key: value for key, value in FACTS[name].items() if key in Host.__annotations__}
    if "reads" in facts:
        facts["capture"] = FACTS[facts["reads"]]["capture"]
    return Host(name, **facts)


HOSTS = tuple(_host(name) for name, facts in FACTS.items() if "tools" in facts)
BY_NAME: Mapping[str, Host] = {host.name: host for host in HOSTS}


def claude_hooks(us: Ours, path: str) -> list[Entry]:
    """Return our hooks for a settings file of Claude Code."""
    part = FACTS["claude-code"]["capture"][0]
    return [Entry(path, JSON, ("hooks", event), us.handler(part, event), "element") for event in events(part)]


def _server_changes(us: Ours, part: Part) -> Iterator[Change]:
    """Yield the change that registers our server in a host's configuration, if the folder `within` exists.

    It goes into the first of the part's files that exists, or into the last file if none exists yet.
    """
    if "content" in part:
        yield _own_file(us, part)
    elif "within" not in part or os.path.isdir(us.machine.path(part["within"])):
        files = list(map(us.machine.path, part["files"]))
        file = next((file for file in files if os.path.exists(file)), files[-1])
        entry = _filled(part.get("entry", DEFAULTS["entry"]), us.server())
        yield Entry(file, _format(part), (part.get("key", DEFAULTS["key"]), "scrubjay"), entry)


def _hook_changes(us: Ours, part: Part) -> Iterator[Change]:
    """Yield the changes that add our hooks: elements of lists, a member with our name, or a whole file."""
    file, kind, frame = us.machine.path(part["file"]), part.get("kind", "elements"), part.get("frame", {})
    if "content" in part:
        yield _own_file(us, part)
        return
    if kind == "plugin":
        yield OwnFile(file, _plugin_source(us, part))
        return
    handlers = us.handlers(part)
    lists = {event: [handler] for event, handler in handlers.items()}
    if kind == "elements":
        for name, value in frame.items():
            yield Entry(file, _format(part), (name,), value, "frame")
        for event, handler in handlers.items():
            yield Entry(file, _format(part), ("hooks", event), handler, "element")
        for event in part.get("tools", {}).keys() - handlers.keys():
            yield Entry(file, _format(part), ("hooks", event), None, "unwanted")
    elif kind == "member":
        yield Entry(file, _format(part), ("scrubjay",), {**frame, **lists})
    else:
        hooks = list(handlers.values()) if kind == "list" else lists
        yield OwnFile(file, _json_bytes({**frame, "hooks": hooks}))


def _own_file(us: Ours, part: Part) -> OwnFile:
    return OwnFile(us.machine.path(part["file"]), _json_bytes(_filled(part["content"], us.server())))


def events(part: Part) -> dict[str, str]:
    """Return our names of a part's events by the host's names; a part without hooks has no events."""
    has_no_hooks = part.get("kind") == "plugin" or "content" in part
    names: dict[str, str] = {} if has_no_hooks else part.get("events", DEFAULTS["events"])
    return names


def _format(part: Part) -> Any:
    return _FORMATS[part.get("format", "JSON")]


def _filled(shape: Any, values: Mapping[str, Any]) -> Any:
    """Replace the placeholders in a shape by values; leave out members that become None."""
    if isinstance(shape, dict):
        filled = {key: _filled(value, values) for key, value in shape.items()}
        return {key: value for key, value in filled.items() if value is not None or shape[key] is None}
    if isinstance(shape, list):
        return [_filled(item, values) for item in shape]
    if not isinstance(shape, str):
        return shape
    placeholder = _PLACEHOLDER.fullmatch(shape)
    return (
        values[placeholder[1]]
        if placeholder
        else _PLACEHOLDER.sub(lambda match: str(values[match[1]]), shape)
    )


def _plugin_source(us: Ours, part: Part) -> bytes:
    """Return the source of the plugin for this host, with the command of this installation."""
    with open(os.path.join(hooks_folder(), "plugins", part["plugin"]), encoding="utf-8") as file:
        text = file.read()
    command = us.hook()[: -len(["--host", us.host])]
    text = re.sub(r'^const HOST = ".*";', f"const HOST = {json.dumps(us.host)};", text, flags=re.MULTILINE)
    text = text.replace('const COMMAND = ["scrubjay-hook"];', f"const COMMAND = {json.dumps(command)};")
    tools = "|".join(tool["matcher"] for tool in part.get("tools", {}).values()) if us.has_tools else ""
    return text.replace('const TOOLS = "";', f"const TOOLS = {json.dumps(tools)};").encode()


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def markdown() -> str:
    """Return a table of what works with each host, for users; hosts with equal cells share a row."""
    mark_of = {True: "yes", False: "-"}
    rows: dict[tuple[str, ...], list[str]] = {}
    for host in HOSTS:
        capabilities = (mark_of[bool(host.tools)], mark_of[bool(host.capture)], host.recall or "-")
        star = "" if host.proof != "documents" else "\\*"
        rows.setdefault((*capabilities, mark_of[bool(host.history)], "yes"), []).append(f"{host.title}{star}")
    lines: list[tuple[str, ...]] = [
        ("Assistant", "Tools", "Capture", "Recall injected", "Past", "Remove"),
        ("---",) * 6,
    ]
    lines += [(", ".join(hosts), *cells) for cells, hosts in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
