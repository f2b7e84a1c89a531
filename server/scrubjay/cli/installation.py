"""How this installation is called from outside: the console command, the hook scripts, the hosts' handlers.

Knows where its own files lie; reads no configuration.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.errors import EngineError, HomeError

# event -> its script
SCRIPTS = dict(
    SessionStart="session_start.py",
    UserPromptSubmit="user_prompt_submit.py",
    Stop="stop.py",
    SessionEnd="session_end.py",
)
HOOK_SECONDS = 15.0  # the scripts give up after 5 s
TIMEOUT = 10  # seconds; the scripts give up by themselves long before


def console_command() -> list[str]:
    """The command that a client registers, as it is installed beside the running interpreter."""
    name = "scrubjay.exe" if os.name == "nt" else "scrubjay"
    beside = os.path.join(os.path.dirname(sys.executable), name)
    path = beside if os.path.exists(beside) else shutil.which("scrubjay")
    return [os.path.abspath(path)] if path else [sys.executable, "-P", "-m", "scrubjay"]


def hook_command(event: str) -> list[str]:
    """How a host runs our script for an event.

    The script itself under `-I -S` and not the console command: 21 ms against 28 ms for a whole Stop hook,
    because site-packages are never looked at.
    """
    return [sys.executable, "-I", "-S", os.path.join(hooks_folder(), SCRIPTS[event])]


def run_hook(
    event: str, payload: Mapping[str, Any], env: Mapping[str, str], cwd: str, command: Sequence[str]
) -> float:
    """Run a hook's command on an event; the seconds it took.

    Raises:
        EngineError: it cannot be run, or fails.
    """
    told = json.dumps({**payload, "hook_event_name": event, "cwd": cwd}).encode()
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, input=told, env=env, cwd=cwd, capture_output=True, timeout=HOOK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no answer within {HOOK_SECONDS:g} s"
        sentence = f"The hook for {event} cannot be run: {' '.join(command)}: {reason}."
        raise EngineError(f"{sentence} `scrubjay hooks add` renews it.") from error
    if done.returncode != 0 or not done.stdout.strip().startswith(b"{"):
        output = (done.stderr or done.stdout).decode(errors="replace").strip()[-200:]
        sentence = f"The hook for {event} ended with {done.returncode} and said {output!r}."
        raise EngineError(f"{sentence} Install scrubjay again.")
    return time.perf_counter() - started


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
        handler = {"type": "command", "command": command, "args": arguments, "timeout": TIMEOUT}
        entries[event] = {"hooks": [handler]}
    return entries


def is_our_hook(handler: Any) -> bool:
    """Whether a host's handler is ours, of any installation: the console command or one of our scripts."""
    if not isinstance(handler, dict) or not isinstance(handler.get("command"), str):
        return False
    arguments = _texts(handler.get("args"))
    by_name = _base(handler["command"]) == "scrubjay" and arguments[:1] == ["hook"]
    is_command = handler.get("type", "command") == "command"
    return is_command and (by_name or any(map(_is_our_script, arguments)))


def is_our_server(server: Any) -> bool:
    """Whether an entry of `mcpServers` starts scrubjay, directly or through a runner such as uvx."""
    if not isinstance(server, dict) or not isinstance(server.get("command"), str):
        return False
    names = (word.partition("@")[0].partition("==")[0] for word in _texts(server.get("args")))
    return _base(server["command"]) == "scrubjay" or "scrubjay" in names


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
