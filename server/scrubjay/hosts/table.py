"""The table of hosts: one row each, with functions where data is not enough.

Rows say where a host keeps its configuration on each platform, what we add to it, and what it cannot do.
Sources: the hosts' documentation and measurements with real hosts; `proof` says which.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from scrubjay import VERSION
from scrubjay.errors import ScrubjayError
from scrubjay.histories.machine import Machine
from scrubjay.hosts.changes import (
    JSON,
    JSONC,
    TOML,
    YAML,
    Change,
    Entry,
    Format,
    OwnFile,
    at,
    ours,
    parsed,
    read,
)
from scrubjay.hosts.installation import at_home, console_command, hook_command, hooks_folder, line

Where = Callable[[Machine], str]
SECONDS = 10  # that a host waits for a hook, which gives up long before
_COMMENT = "Scrubjay remembers these conversations. `scrubjay setup --remove` removes this."


@dataclass(frozen=True)
class Ours:
    """What a host runs: our server, and our hook. `root`: a non-default home, or None."""

    machine: Machine
    host: str
    root: str | None = None

    def server(self) -> tuple[str, list[str], dict[str, str]]:
        """Return the command of the server, its arguments, and the variables it needs."""
        command, *arguments = console_command()
        return command, arguments, {"SCRUBJAY_HOME": self.root} if self.root else {}

    def hook(self, event: str | None = None, *, stable: bool = False) -> list[str]:
        """Return the command of the hook; see `hook_command`."""
        return at_home(hook_command(self.host, event, stable=stable), self.root, self.machine.platform)

    def line(self, event: str | None = None, *, stable: bool = False) -> str:
        """Return the same as a line for the platform's shell."""
        return line(self.hook(event, stable=stable), self.machine.platform)


Shape = Callable[[Ours, str], Any]  # the host's format of a handler for an event


class Server(NamedTuple):
    """Our server in a host's configuration: the member `scrubjay` of `key`, if the folder `within` exists.

    Of several files, the first that exists is used, else the last.
    """

    files: tuple[Where, ...]
    form: Format
    key: str
    shape: Callable[[Ours], Any]
    within: Where | None = None

    def changes(self, us: Ours) -> Iterator[Change]:
        """Yield the entry, if it has a place."""
        if self.within is None or os.path.isdir(self.within(us.machine)):
            files = [file(us.machine) for file in self.files]
            file = next((file for file in files if os.path.exists(file)), files[-1])
            yield Entry(file, self.form, (self.key, "scrubjay"), self.shape(us))


class Hooks(NamedTuple):
    """Our hook at each event: another element of the list `hooks.EVENT`, and what else the file needs."""

    file: Where
    form: Format
    events: tuple[str, ...]
    shape: Shape
    frame: tuple[tuple[str, Any], ...] = ()
    host: str = ""  # the host that the hook is registered as, if not the row's own

    def changes(self, us: Ours) -> Iterator[Change]:
        """Yield the frame and an entry for each event."""
        file = self.file(us.machine)
        us = Ours(us.machine, self.host or us.host, us.root)
        for name, value in self.frame:
            yield Entry(file, self.form, (name,), value, "frame")
        for event in self.events:
            yield Entry(file, self.form, ("hooks", event), self.shape(us, event), "element")


class Member(NamedTuple):
    """Our hooks as one member with our name."""

    file: Where
    form: Format
    shape: Callable[[Ours], Any]

    def changes(self, us: Ours) -> Iterator[Change]:
        """Yield the entry."""
        yield Entry(self.file(us.machine), self.form, ("scrubjay",), self.shape(us))


class Own(NamedTuple):
    """A file of our own in a folder that the host reads."""

    file: Where
    content: Callable[[Ours], str]

    def changes(self, us: Ours) -> Iterator[Change]:
        """Yield the file."""
        yield OwnFile(self.file(us.machine), self.content(us).encode())


class Plugin(NamedTuple):
    """An enabled plugin of ours, which brings server and hooks: its name, and the host's copy of it."""

    name: str
    folder: str


Part = Server | Hooks | Member | Own
# Session, folder, prompt -> the payload that the host gives its hook.
Trial = Callable[[str, str, str], dict[str, Any]]


@dataclass(frozen=True)
class Host:
    """One assistant: how it is recognised, what it gets, and what it cannot do."""

    name: str  # used everywhere: on the wire, in records, on the command line
    title: str
    signs: tuple[Where, ...]  # files and folders that exist where it is used
    commands: tuple[str, ...] = ()  # its commands on the PATH
    tools: tuple[Part, ...] = ()
    capture: tuple[Part, ...] = ()
    recall: str = ""  # when it adds recalled text to a conversation by itself
    click: str = ""  # what the user has to do
    lacks: str = ""  # what is missing, and why
    proof: Literal["run", "parts", "documents"] = (
        "documents"  # proof: a whole session with the real host, or parts of one
    )
    traces: Callable[[Machine], list[Change]] = lambda _: []  # entries the host itself added about Scrubjay
    plugins: Callable[[Machine], list["Plugin"]] = lambda _: []  # enabled plugins of ours
    trial: tuple[str | None, Trial] | None = None  # the --event, and a prompt's payload in this host's format

    def changes(self, machine: Machine, root: str | None = None) -> list[Change]:
        """Return all our changes to this host's files."""
        us = Ours(machine, self.name, root)
        return [change for part in (*self.tools, *self.capture) for change in part.changes(us)]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the events that its hook file names, if it names each separately."""
        return tuple(event for part in self.capture if isinstance(part, Hooks) for event in part.events)

    def found_by(self, machine: Machine) -> str | None:
        """Return the file, folder or command that shows that it is installed, or None."""
        signs = (sign(machine) for sign in self.signs)
        path = machine.env.get("PATH", os.defpath)
        commands = (shutil.which(command, path=path) for command in self.commands)
        return next((sign for sign in signs if os.path.exists(sign)), next(filter(None, commands), None))


def home(*parts: str) -> Where:
    """Return a path below the user's home."""
    return lambda machine: machine.home(*parts)


def settings(*parts: str) -> Where:
    """Return a path where graphical programs keep their settings."""
    return lambda machine: machine.settings(*parts)


def config(*parts: str) -> Where:
    """Return a path where terminal programs keep their settings, on every platform."""
    return lambda machine: machine.join(machine.named("XDG_CONFIG_HOME", ".config"), *parts)


def named(variable: str, default: str) -> Callable[..., Where]:
    """Return paths in the folder that a variable names, else in one below the user's home."""
    return lambda *parts: lambda machine: machine.join(machine.named(variable, default), *parts)


def on_windows(there: Where, elsewhere: Where) -> Where:
    """Return one path on Windows and another elsewhere."""
    return lambda machine: (there if machine.platform == "win32" else elsewhere)(machine)


def _claude(*parts: str) -> Where:
    return lambda machine: machine.claude(*parts)


def _codex(*parts: str) -> Where:
    return lambda machine: machine.codex(*parts)


def _copilot(*parts: str) -> Where:
    return lambda machine: machine.copilot(*parts)


def _gemini(*parts: str) -> Where:
    return lambda machine: machine.gemini(*parts)


def _code(*parts: str) -> Where:
    return lambda machine: machine.join(*machine.editors("Code"), *parts)


def _opencode(*parts: str) -> Where:
    return lambda m: m.join(m.env.get("OPENCODE_CONFIG_DIR") or config("opencode")(m), *parts)


CLAUDE_SETTINGS = _claude("settings.json")
_goose = on_windows(settings("Block", "goose", "config"), config("goose"))
_zed = on_windows(settings("Zed"), config("zed"))
_cline_in_code = _code("globalStorage", "saoudrizwan.claude-dev")
_roo_in_code = _code("globalStorage", "rooveterinaryinc.roo-cline")


def _in(folder: Where, *parts: str) -> Where:
    return lambda machine: machine.join(folder(machine), *parts)


def _plain(us: Ours) -> dict[str, Any]:
    command, arguments, variables = us.server()
    return {"command": command, "args": arguments, **({"env": variables} if variables else {})}


def _typed(us: Ours) -> dict[str, Any]:
    return {"type": "stdio", **_plain(us)}


def _copilot_server(us: Ours) -> dict[str, Any]:
    return {"type": "local", **_plain(us), "tools": ["*"]}


def _opencode_server(us: Ours) -> dict[str, Any]:
    command, arguments, variables = us.server()
    more = {"environment": variables} if variables else {}
    return {"type": "local", "command": [command, *arguments], "enabled": True, **more}


def _goose_server(us: Ours) -> dict[str, Any]:
    command, arguments, variables = us.server()
    where = {"cmd": command, "args": arguments, "envs": variables}
    return {"enabled": True, "type": "stdio", "name": "scrubjay", **where, "timeout": 300}


def _claude_shape(us: Ours, event: str) -> dict[str, Any]:
    """One line, because other hosts read this file too; on Windows a list, because the shell is unknown."""
    if us.machine.platform == "win32":
        command, *arguments = us.hook()
        return _group({"command": command, "args": arguments})
    return _group({"command": us.line()})


def _codex_shape(us: Ours, event: str) -> dict[str, Any]:
    """Codex caps SessionEnd at 3 s with a warning. It trusts a hash of the command, which must not change."""
    return _group({"command": us.line(stable=True)}, 3 if event == "SessionEnd" else SECONDS)


def _group(handler: Mapping[str, Any], timeout: int = SECONDS) -> dict[str, Any]:
    return {"hooks": [{"type": "command", **handler, "timeout": timeout}]}


def _cursor_shape(us: Ours, event: str) -> dict[str, Any]:
    return {"command": us.line(), "timeout": SECONDS}


def _windsurf_shape(us: Ours, event: str) -> dict[str, Any]:
    name = "powershell" if us.machine.platform == "win32" else "command"
    return {name: us.line(), "show_output": False}


def _antigravity_shape(us: Ours) -> dict[str, Any]:
    """Keyed by the name of the hook; its payloads name no event."""
    events = ("PreInvocation", "Stop")
    handler = {e: [{"type": "command", "command": us.line(e), "timeout": SECONDS}] for e in events}
    return {"enabled": True, **handler}


def _copilot_hooks(us: Ours) -> str:
    """Its payloads name no event; bash and PowerShell have a line each."""
    shell = "powershell" if us.machine.platform == "win32" else "bash"
    events = ("sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd")
    hooks = {e: [{"type": "command", shell: us.line(e), "timeoutSec": SECONDS}] for e in events}
    return _page({"version": 1, "hooks": hooks})


def _kiro_hooks(us: Ours) -> str:
    action = {"type": "command", "command": us.line()}
    hooks = [
        {"name": f"scrubjay-{event}", "trigger": event, "action": action, "timeout": SECONDS, "enabled": True}
        for event in ("SessionStart", "UserPromptSubmit", "Stop")
    ]
    return _page({"version": "v1", "hooks": hooks})


def _gemini_manifest(us: Ours) -> str:
    return _page({"name": "scrubjay", "version": VERSION, "mcpServers": {"scrubjay": _plain(us)}})


def _gemini_hooks(us: Ours) -> str:
    """Gemini counts in milliseconds."""
    events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
    return _page({"hooks": {event: [_group({"command": us.line()}, SECONDS * 1000)] for event in events}})


def _qwen_shape(us: Ours, event: str) -> dict[str, Any]:
    return _group({"command": us.line()}, SECONDS * 1000)  # milliseconds


def _goose_manifest(us: Ours) -> str:
    return _page({"name": "scrubjay", "version": VERSION, "description": _COMMENT})


def _goose_hooks(us: Ours) -> str:
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    return _page({"hooks": {event: [_group({"command": us.line()})] for event in events}})


def _plugin(us: Ours) -> str:
    """Return the plugin that ships with the hooks, for this host and with this installation's command."""
    ships, name = ("amp.ts", "amp") if us.host == "amp" else ("opencode.js", "opencode")
    with open(os.path.join(hooks_folder(), "plugins", ships), encoding="utf-8") as file:
        text = file.read()
    command = us.hook()[: -len(["--host", us.host])]
    text = text.replace(f'const HOST = "{name}";', f"const HOST = {json.dumps(us.host)};")
    return text.replace('const COMMAND = ["scrubjay-hook"];', f"const COMMAND = {json.dumps(command)};")


def _page(held: Any) -> str:
    return json.dumps(held, indent=2) + "\n"


def _claude_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    return {"session_id": session, "cwd": folder, "hook_event_name": "UserPromptSubmit", "prompt": prompt}


def _codex_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    return {**_claude_trial(session, folder, prompt), "turn_id": session, "transcript_path": None}


def _vscode_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    about = {"timestamp": stamp, "sessionId": session, "cwd": folder, "transcript_path": ""}
    return {**about, "hookEventName": "UserPromptSubmit", "prompt": prompt}


def _cursor_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    ids = {"conversation_id": session, "generation_id": session, "cursor_version": "3.24.18"}
    return {**ids, "hook_event_name": "beforeSubmitPrompt", "workspace_roots": [folder], "prompt": prompt}


def _copilot_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    return {"sessionId": session, "timestamp": int(time.time() * 1000), "cwd": folder, "prompt": prompt}


def _gemini_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    about = {"hook_event_name": "BeforeAgent", "timestamp": stamp, "transcript_path": ""}
    return {"session_id": session, "cwd": folder, **about, "prompt": prompt}


def _qwen_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    return {**_claude_trial(session, folder, prompt), "prompt_id": session, "submitted_prompt": prompt}


def _windsurf_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    about = {"agent_action_name": "pre_user_prompt", "trajectory_id": session, "execution_id": session}
    return {**about, "tool_info": {"user_prompt": prompt}}


def _goose_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    return {"event": "UserPromptSubmit", "session_id": session, "matcher_context": "", "message": prompt}


def _antigravity_trial(session: str, folder: str, prompt: str) -> dict[str, Any]:
    ids = {"conversationId": session, "invocationNum": 0, "artifactDirectoryPath": folder}
    return {**ids, "transcriptPath": "", "workspacePaths": [folder]}


def codex_waiting(machine: Machine) -> list[str]:
    """Return the events whose hook the user of Codex has not approved yet, or has switched off."""
    path = _codex("config.toml")(machine)
    waiting = []
    try:
        states = at(parsed(read(path), TOML, path), ("hooks", "state"))
        keys = _codex_keys(machine)
    except ScrubjayError:
        return []  # the caller that parses the file reports the error
    for event, key in keys:
        state = at(states, (key,))
        if not isinstance(state, dict) or "trusted_hash" not in state or state.get("enabled") is False:
            waiting.append(event)
    return waiting


def _codex_approvals(machine: Machine) -> list[Change]:
    """Return the entries that Codex added about the approval of our hooks."""
    file = _codex("config.toml")(machine)
    return [Entry(file, TOML, ("hooks", "state", key), None, "trace") for _, key in _codex_keys(machine)]


def _codex_plugin_traces(machine: Machine) -> list[Change]:
    """Return the entries that Codex added about our plugins, and about marketplaces that have no others."""
    file, names = machine.codex("config.toml"), [plugin.name for plugin in _codex_plugins(machine)]
    ways = [("plugins", name) for name in names]
    ways += [("marketplaces", "scrubjay")] if "scrubjay@scrubjay" in names else []
    return [Entry(file, TOML, way, None, "trace") for way in ways]


def _codex_keys(machine: Machine) -> list[tuple[str, str]]:
    """Return each event that has our hook, with Codex's key for it: its position in the file."""
    path = _codex("hooks.json")(machine)
    keys = []
    for way in reversed(list(ours(parsed(read(path), JSON, path).get("hooks")))):
        event, group, *_, handler = way
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(event))[1:]
        keys.append((str(event), f"{path}:{name}:{group}:{handler}"))
    return keys


def _claude_plugins(machine: Machine) -> list[Plugin]:
    return [
        Plugin(name, _cached(machine.claude, name))
        for name, on in _named(CLAUDE_SETTINGS(machine), JSON, "enabledPlugins").items()
        if on is True and name.startswith(_OURS)
    ]


def _codex_plugins(machine: Machine) -> list[Plugin]:
    """A plugin is on unless its table says otherwise."""
    return [
        Plugin(name, _cached(machine.codex, name))
        for name, state in _named(machine.codex("config.toml"), TOML, "plugins").items()
        if name.startswith(_OURS) and not (isinstance(state, dict) and state.get("enabled") is False)
    ]


def _gemini_plugins(machine: Machine) -> list[Plugin]:
    """Gemini records the source next to an extension; those that `setup` installed have no such record."""
    folder = machine.gemini("extensions", "scrubjay")
    installed = os.path.exists(machine.join(folder, ".gemini-extension-install.json"))
    return [Plugin("scrubjay", folder)] if installed else []


def _cached(folder: Callable[..., str], plugin: str) -> str:
    name, _, market = plugin.partition("@")
    return folder("plugins", "cache", market, name)


def _named(path: str, form: Format, key: str) -> dict[str, Any]:
    try:
        held = parsed(read(path), form, path).get(key)
    except ScrubjayError:
        return {}  # the caller that parses the file reports the error
    return held if isinstance(held, dict) else {}


def _claude_plugin_traces(machine: Machine) -> list[Change]:
    """Return what Claude Code added about our plugins, and about marketplaces that have no others."""
    settings, folder = CLAUDE_SETTINGS(machine), _claude("plugins")(machine)
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


_OURS = "scrubjay@"  # followed by the plugin's marketplace
_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
_START = "session start"
_BOTH = "session start, prompt"
_NO_HOOKS = "It has no hooks: it recalls and records only through the tools."
_NO_RECALL = "Its hooks cannot add to a conversation: it recalls through the tools."
CLAUDE_HOOKS = Hooks(CLAUDE_SETTINGS, JSON, _EVENTS, _claude_shape, host="claude-code")

HOSTS: tuple[Host, ...] = (
    Host(
        "claude-code",
        "Claude Code",
        signs=(_claude(), Machine.claude_json),
        commands=("claude",),
        tools=(Server((Machine.claude_json,), JSON, "mcpServers", _typed),),
        capture=(CLAUDE_HOOKS,),
        recall=_BOTH,
        proof="run",
        traces=_claude_plugin_traces,
        plugins=_claude_plugins,
        trial=(None, _claude_trial),
    ),
    Host(
        "codex",
        "Codex CLI",
        signs=(_codex(),),
        commands=("codex",),
        tools=(Server((_codex("config.toml"),), TOML, "mcp_servers", _plain),),
        capture=(Hooks(_codex("hooks.json"), JSON, _EVENTS, _codex_shape),),
        recall=_BOTH,
        click="Start codex once and choose to trust the hooks: until then it silently runs none.",
        proof="run",
        traces=lambda machine: [*_codex_approvals(machine), *_codex_plugin_traces(machine)],
        plugins=_codex_plugins,
        trial=(None, _codex_trial),
    ),
    Host(
        "cursor",
        "Cursor",
        signs=(home(".cursor"), settings("Cursor")),
        commands=("cursor", "cursor-agent"),
        tools=(Server((home(".cursor", "mcp.json"),), JSONC, "mcpServers", _plain),),
        capture=(
            Hooks(
                home(".cursor", "hooks.json"),
                JSONC,
                ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "stop", "sessionEnd"),
                _cursor_shape,
                frame=(("version", 1),),
            ),
        ),
        recall=_BOTH,
        lacks="Versions before 3.20 drop injected text.",
        trial=(None, _cursor_trial),
    ),
    Host(
        "vscode",
        "VS Code Copilot",
        signs=(_code(),),
        commands=("code",),
        tools=(Server((settings("Code", "User", "mcp.json"),), JSONC, "servers", _typed),),
        capture=(CLAUDE_HOOKS,),
        recall=_START,
        click="VS Code asks whether to trust the server when it first starts it.",
        lacks="Hooks are a preview; it reads those of Claude Code.",
        trial=(None, _vscode_trial),
    ),
    Host(
        "copilot-cli",
        "Copilot CLI",
        signs=(_copilot(),),
        commands=("copilot",),
        tools=(Server((_copilot("mcp-config.json"),), JSON, "mcpServers", _copilot_server),),
        capture=(Own(_copilot("hooks", "scrubjay.json"), _copilot_hooks),),
        recall=_BOTH,
        proof="run",
        trial=("userPromptSubmitted", _copilot_trial),
    ),
    Host(
        "gemini-cli",
        "Gemini CLI",
        signs=(_gemini("settings.json"), _gemini("tmp")),
        commands=("gemini",),
        tools=(Own(_gemini("extensions", "scrubjay", "gemini-extension.json"), _gemini_manifest),),
        capture=(Own(_gemini("extensions", "scrubjay", "hooks", "hooks.json"), _gemini_hooks),),
        plugins=_gemini_plugins,
        recall=_BOTH,
        proof="run",
        trial=(None, _gemini_trial),
    ),
    Host(
        "qwen-code",
        "Qwen Code",
        signs=(home(".qwen"),),
        commands=("qwen",),
        tools=(Server((home(".qwen", "settings.json"),), JSONC, "mcpServers", _plain),),
        capture=(Hooks(home(".qwen", "settings.json"), JSONC, _EVENTS, _qwen_shape),),
        recall=_BOTH,
        proof="run",
        trial=(None, _qwen_trial),
    ),
    Host(
        "opencode",
        "OpenCode",
        signs=(_opencode(),),
        commands=("opencode",),
        tools=(
            Server((_opencode("opencode.jsonc"), _opencode("opencode.json")), JSONC, "mcp", _opencode_server),
        ),
        capture=(Own(_opencode("plugins", "scrubjay.js"), _plugin),),
        recall=_BOTH,
        lacks="Its first start with a plugin downloads a package, which is slow without a network.",
        proof="run",
    ),
    Host(
        "kilo",
        "Kilo",
        signs=(config("kilo"),),
        commands=("kilo",),
        tools=(
            Server(
                (config("kilo", "kilo.jsonc"), config("kilo", "kilo.json")), JSONC, "mcp", _opencode_server
            ),
        ),
        capture=(Own(config("kilo", "plugins", "scrubjay.js"), _plugin),),
        recall=_BOTH,
        proof="parts",
    ),
    Host(
        "kiro",
        "Kiro",
        signs=(home(".kiro"),),
        commands=("kiro", "kiro-cli"),
        tools=(Server((home(".kiro", "settings", "mcp.json"),), JSONC, "mcpServers", _plain),),
        capture=(Own(home(".kiro", "hooks", "scrubjay.json"), _kiro_hooks),),
        recall=_BOTH,
        lacks="Its window shows a card each time a hook runs.",
        trial=(None, _claude_trial),
    ),
    Host(
        "antigravity",
        "Antigravity",
        signs=(_gemini("config"), _gemini("antigravity"), _gemini("antigravity-cli")),
        commands=("agy",),
        tools=(Server((_gemini("config", "mcp_config.json"),), JSON, "mcpServers", _plain),),
        capture=(Member(_gemini("config", "hooks.json"), JSON, _antigravity_shape),),
        recall="prompt",
        trial=("PreInvocation", _antigravity_trial),
    ),
    Host(
        "windsurf",
        "Windsurf",
        signs=(home(".codeium", "windsurf"),),
        commands=("windsurf",),
        tools=(Server((home(".codeium", "windsurf", "mcp_config.json"),), JSON, "mcpServers", _plain),),
        capture=(
            Hooks(
                home(".codeium", "windsurf", "hooks.json"),
                JSON,
                ("pre_user_prompt", "post_cascade_response"),
                _windsurf_shape,
            ),
        ),
        lacks=_NO_RECALL,
        trial=(None, _windsurf_trial),
    ),
    Host(
        "goose",
        "Goose",
        signs=(_goose,),  # a command with this name may be another program
        tools=(Server((_in(_goose, "config.yaml"),), YAML, "extensions", _goose_server),),
        capture=(
            Own(home(".agents", "plugins", "scrubjay", "plugin.json"), _goose_manifest),
            Own(home(".agents", "plugins", "scrubjay", "hooks", "hooks.json"), _goose_hooks),
        ),
        lacks=_NO_RECALL,
        trial=(None, _goose_trial),
    ),
    Host(
        "amp",
        "Amp",
        signs=(config("amp"),),
        tools=(Server((config("amp", "settings.json"),), JSONC, "amp.mcpServers", _plain),),
        capture=(Own(config("amp", "plugins", "scrubjay.ts"), _plugin),),
        recall="prompt",
    ),
    Host(
        "claude-desktop",
        "Claude Desktop",
        signs=(settings("Claude"),),
        tools=(Server((settings("Claude", "claude_desktop_config.json"),), JSON, "mcpServers", _plain),),
        click="Restart it.",
        lacks=_NO_HOOKS,
    ),
    Host(
        "zed",
        "Zed",
        signs=(_zed,),
        tools=(Server((_in(_zed, "settings.json"),), JSONC, "context_servers", _plain),),
        lacks=_NO_HOOKS,
    ),
    Host(
        "roo",
        "Roo Code",
        signs=(_roo_in_code,),
        tools=(Server((_in(_roo_in_code, "settings", "mcp_settings.json"),), JSON, "mcpServers", _plain),),
        lacks=_NO_HOOKS,
    ),
    Host(
        "cline",
        "Cline",
        signs=(home(".cline"), _cline_in_code),
        commands=("cline",),
        tools=(
            Server(
                (home(".cline", "data", "settings", "cline_mcp_settings.json"),),
                JSON,
                "mcpServers",
                _plain,
                within=home(".cline"),
            ),
            Server(
                (_in(_cline_in_code, "settings", "cline_mcp_settings.json"),),
                JSON,
                "mcpServers",
                _plain,
                within=_cline_in_code,
            ),
        ),
        lacks="Its hooks carry no prompt and cannot add to a conversation: it recalls through the tools.",
    ),
)
BY_NAME: Mapping[str, Host] = {host.name: host for host in HOSTS}


def markdown(past: Sequence[str]) -> str:
    """Return the table for users: what works with which hosts, equal ones in one row.

    `past` names the hosts whose history can be imported.
    """
    yes = {True: "yes", False: "-"}
    rows: dict[tuple[str, ...], list[str]] = {}
    for host in HOSTS:
        remembers = (yes[bool(host.tools)], yes[bool(host.capture)], host.recall or "-")
        mark = "" if host.proof != "documents" else "\\*"
        rows.setdefault((*remembers, yes[host.name in past], "yes"), []).append(f"{host.title}{mark}")
    lines: list[tuple[str, ...]] = [
        ("Assistant", "Tools", "Capture", "Recall injected", "Past", "Remove"),
        ("---",) * 6,
    ]
    lines += [(", ".join(hosts), *cells) for cells, hosts in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    from scrubjay.histories.table import HISTORIES

    print(markdown([history.host for history in HISTORIES]), end="")
