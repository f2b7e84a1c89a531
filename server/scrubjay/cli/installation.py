"""How this installation is called from outside: the console command, the hook scripts, the hosts' handlers.

Knows where its own files lie; reads no configuration.
"""

import importlib.util
import os
import shutil
import sys
from typing import Any

from scrubjay.errors import HomeError

SCRIPTS = {
    "SessionStart": "session_start.py",
    "UserPromptSubmit": "user_prompt_submit.py",
    "Stop": "stop.py",
}  # event -> its script
TIMEOUT = 10  # seconds; the scripts give up by themselves long before


def console_command() -> list[str]:
    """The command that a client registers, as it is installed beside the running interpreter."""
    name = "scrubjay.exe" if os.name == "nt" else "scrubjay"
    beside = os.path.join(os.path.dirname(sys.executable), name)
    found = beside if os.path.exists(beside) else shutil.which("scrubjay")
    return [os.path.abspath(found)] if found else [sys.executable, "-P", "-m", "scrubjay"]


def hook_command(event: str) -> list[str]:
    """How a host runs our script for an event.

    The script itself under `-I -S` and not the console command: 21 ms against 28 ms for a whole Stop hook,
    because site-packages are never looked at.
    """
    return [sys.executable, "-I", "-S", os.path.join(hooks_folder(), SCRIPTS[event])]


def hooks_folder() -> str:
    """Where the hook scripts of this installation lie.

    Raises:
        HomeError: they are not installed.
    """
    spec = importlib.util.find_spec("scrubjay.hooks")
    if spec is None or not spec.submodule_search_locations:
        raise HomeError("The hook scripts are not installed. Install scrubjay again.")
    return os.path.abspath(next(iter(spec.submodule_search_locations)))


def hook_entries() -> dict[str, dict[str, Any]]:
    """Claude Code's settings entry for each event: one handler in exec form (no shell, absolute paths)."""
    entries = {}
    for event in SCRIPTS:
        command, *arguments = hook_command(event)
        entries[event] = {
            "hooks": [{"type": "command", "command": command, "args": arguments, "timeout": TIMEOUT}]
        }
    return entries


def is_our_hook(handler: Any) -> bool:
    """Whether a host's handler is ours, of any installation: the console command or one of our scripts."""
    if (
        not isinstance(handler, dict)
        or handler.get("type", "command") != "command"
        or not isinstance(handler.get("command"), str)
    ):
        return False
    arguments = _texts(handler.get("args"))
    if _base(handler["command"]) == "scrubjay" and arguments[:1] == ["hook"]:
        return True
    return any(_is_our_script(one) for one in arguments)


def is_our_server(server: Any) -> bool:
    """Whether an entry of `mcpServers` starts scrubjay, directly or through a runner such as uvx."""
    if not isinstance(server, dict) or not isinstance(server.get("command"), str):
        return False
    named = (
        one for one in _texts(server.get("args")) if one.partition("@")[0].partition("==")[0] == "scrubjay"
    )
    return _base(server["command"]) == "scrubjay" or any(named)


def _is_our_script(path: str) -> bool:
    folder, name = os.path.split(path)
    if name not in SCRIPTS.values():
        return False
    holder, last = os.path.split(folder)
    return folder == hooks_folder() or (last == "hooks" and _base(holder) == "scrubjay")


def _texts(given: Any) -> list[str]:
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _base(command: str) -> str:
    return os.path.basename(command).removesuffix(".exe")
