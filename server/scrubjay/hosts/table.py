"""What `setup` does for each host, by its entry in `hosts.json`: the changes to the host's files."""

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
SECONDS = 10  # that a host waits for a hook, which gives up long before
_FORMATS = {"JSON": JSON, "JSONC": JSONC, "TOML": TOML, "YAML": YAML}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Ours:
    """What a host runs: our server, and our hook. `root`: a non-default home, or None."""

    machine: Machine
    host: str
    root: str | None = None
    has_tools: bool = False  # its hook runs before tools too

    def server(self) -> dict[str, Any]:
        """Return what an entry of our server may name."""
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
        """Return our handler of each event of a part; those of tools only if they are wanted."""
        tools = part.get("tools", ()) if self.has_tools else ()
        return {event: self.handler(part, event) for event in (*events(part), *tools)}


@dataclass(frozen=True, eq=False)
class Host:
    """One assistant: how it is recognised, what it gets, and what it cannot do."""

    name: str  # used everywhere: on the wire, in records, on the command line
    title: str
    signs: Sequence[str]  # files and folders that exist where it is used
    tools: Sequence[Part]
    commands: Sequence[str] = ()  # its commands on the PATH
    capture: Sequence[Part] = ()
    reads: str | None = None  # the host whose hooks it runs too
    in_projects: Sequence[str] = ()  # its files in a project, which may register our server too
    recall: str = ""  # when it adds recalled text to a conversation by itself
    one_folder: bool = False  # a plugin of ours and our own hooks are the same folder
    few_folders: bool = False  # it finds no command that is only on the user's PATH
    repair: str = ""  # the command that repairs its hooks, if not `setup`
    click: str = ""  # what the user has to do once
    lacks: str = ""  # what is missing, and why
    proof: str = "documents"  # what it was tried with: a whole session ("run") with the real host, or "parts"
    trial: Part = field(default_factory=lambda: DEFAULTS["trial"])  # a prompt's payload
    history: Sequence[Part] = ()

    def changes(self, machine: Machine, root: str | None = None, *, has_tools: bool = False) -> list[Change]:
        """Return all our changes to this host's files; with `has_tools`, hooks of tools too."""
        us, hooks = Ours(machine, self.name, root), Ours(machine, self.reads or self.name, root, has_tools)
        tools = [change for part in self.tools for change in _tools(us, part)]
        return tools + [change for part in self.capture for change in _capture(hooks, part)]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the events that its hook file names, if it names each separately."""
        return tuple(event for part in self.capture if "kind" not in part for event in events(part))

    def found_by(self, machine: Machine) -> str | None:
        """Return the file, folder or command that shows that it is installed, or None."""
        signs = map(machine.path, self.signs)
        path = machine.env.get("PATH", os.defpath)
        commands = (shutil.which(command, path=path) for command in self.commands)
        return next((sign for sign in signs if os.path.exists(sign)), next(filter(None, commands), None))

    def is_connected(self, machine: Machine, home: Home) -> bool:
        """Return True if `setup` gave it our server, or a plugin did."""
        ours = changed_files(home)
        files = (change.file for part in self.tools for change in _tools(Ours(machine, self.name), part))
        return any(file in ours for file in files) or bool(self.plugins(machine))

    def plugins(self, machine: Machine) -> list[Plugin]:
        """Return the enabled plugins of ours."""
        read = additions.PLUGINS.get(self.name)
        return read(machine) if read else []

    def traces(self, machine: Machine) -> list[Change]:
        """Return the entries that the host itself added about Scrubjay."""
        read = additions.TRACES.get(self.name)
        return read(machine) if read else []

    def unapproved(self, machine: Machine) -> list[str]:
        """Return the events whose hook the user has not approved yet, or has switched off."""
        read = additions.UNAPPROVED.get(self.name)
        return read(machine) if read else []

    @property
    def prompt_event(self) -> str | None:
        """Return its name of a prompt's event; None if a plugin of ours sends its events."""
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


def _tools(us: Ours, part: Part) -> Iterator[Change]:
    """Yield our server in a host's configuration, if the folder `within` exists.

    Of several files, the first that exists is used, else the last.
    """
    if "content" in part:
        yield _own_file(us, part)
    elif "within" not in part or os.path.isdir(us.machine.path(part["within"])):
        files = list(map(us.machine.path, part["files"]))
        file = next((file for file in files if os.path.exists(file)), files[-1])
        entry = _filled(part.get("entry", DEFAULTS["entry"]), us.server())
        yield Entry(file, _format(part), (part.get("key", DEFAULTS["key"]), "scrubjay"), entry)


def _capture(us: Ours, part: Part) -> Iterator[Change]:
    """Yield our hooks: elements of lists in a shared file, a member with our name, or a file of our own."""
    file, kind, frame = us.machine.path(part["file"]), part.get("kind", "elements"), part.get("frame", {})
    if "content" in part:
        yield _own_file(us, part)
        return
    if kind == "plugin":
        yield OwnFile(file, _plugin(us, part))
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
        yield OwnFile(file, _page({**frame, "hooks": hooks}))


def _own_file(us: Ours, part: Part) -> OwnFile:
    return OwnFile(us.machine.path(part["file"]), _page(_filled(part["content"], us.server())))


def events(part: Part) -> dict[str, str]:
    """Return a host's names of the events of a part, and ours; none for a part without hooks."""
    none = part.get("kind") == "plugin" or "content" in part
    names: dict[str, str] = {} if none else part.get("events", DEFAULTS["events"])
    return names


def _format(part: Part) -> Any:
    return _FORMATS[part.get("format", "JSON")]


def _filled(shape: Any, values: Mapping[str, Any]) -> Any:
    """Return a shape with values for its placeholders; a member whose value is None is left out."""
    if isinstance(shape, dict):
        filled = {key: _filled(value, values) for key, value in shape.items()}
        return {key: value for key, value in filled.items() if value is not None or shape[key] is None}
    if isinstance(shape, list):
        return [_filled(each, values) for each in shape]
    if not isinstance(shape, str):
        return shape
    whole = _PLACEHOLDER.fullmatch(shape)
    return values[whole[1]] if whole else _PLACEHOLDER.sub(lambda found: str(values[found[1]]), shape)


def _plugin(us: Ours, part: Part) -> bytes:
    """Return the plugin that ships with the hooks, for this host and with this installation's command."""
    with open(os.path.join(hooks_folder(), "plugins", part["plugin"]), encoding="utf-8") as file:
        text = file.read()
    command = us.hook()[: -len(["--host", us.host])]
    text = re.sub(r'^const HOST = ".*";', f"const HOST = {json.dumps(us.host)};", text, flags=re.MULTILINE)
    text = text.replace('const COMMAND = ["scrubjay-hook"];', f"const COMMAND = {json.dumps(command)};")
    tools = "|".join(tool["matcher"] for tool in part.get("tools", {}).values()) if us.has_tools else ""
    return text.replace('const TOOLS = "";', f"const TOOLS = {json.dumps(tools)};").encode()


def _page(held: Any) -> bytes:
    return (json.dumps(held, indent=2) + "\n").encode()


def markdown() -> str:
    """Return the table for users: what works with which hosts, equal ones in one row."""
    yes = {True: "yes", False: "-"}
    rows: dict[tuple[str, ...], list[str]] = {}
    for host in HOSTS:
        remembers = (yes[bool(host.tools)], yes[bool(host.capture)], host.recall or "-")
        mark = "" if host.proof != "documents" else "\\*"
        rows.setdefault((*remembers, yes[bool(host.history)], "yes"), []).append(f"{host.title}{mark}")
    lines: list[tuple[str, ...]] = [
        ("Assistant", "Tools", "Capture", "Recall injected", "Past", "Remove"),
        ("---",) * 6,
    ]
    lines += [(", ".join(hosts), *cells) for cells, hosts in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
