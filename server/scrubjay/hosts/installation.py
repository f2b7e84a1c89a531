"""The commands of this installation: the server that a client starts, and the hook that a host runs.

This module knows where our files are and which parts of a host's configuration are ours. It reads no
configuration.
"""

import importlib.util
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrubjay.errors import EngineError, HomeError

HOOK_SECONDS = 15.0  # more than the 5 s after which the hook itself gives up
_SCRIPTS = ("hook.py", "session_start.py", "user_prompt_submit.py", "stop.py", "session_end.py")


def console_command() -> list[str]:
    """Return the command that a client registers, preferably the one next to the running interpreter."""
    name = "scrubjay.exe" if os.name == "nt" else "scrubjay"
    neighbour = os.path.join(os.path.dirname(sys.executable), name)
    path = neighbour if os.path.exists(neighbour) else shutil.which("scrubjay")
    return [os.path.abspath(path)] if path else [sys.executable, "-P", "-m", "scrubjay"]


def hook_command(host: str, event: str | None = None, *, stable: bool = False) -> list[str]:
    """Return the command that a host runs as our hook; pass `event` if its payload does not name it.

    The command runs the script under `-I -S`: a whole Stop hook takes 21 ms, against 28 ms with the console
    command, because site-packages are never searched. `stable` selects the console command, whose path
    survives upgrades of Python and Scrubjay, for hosts where a user approves the command.
    """
    name = "scrubjay-hook.exe" if os.name == "nt" else "scrubjay-hook"
    neighbour = os.path.join(os.path.dirname(sys.executable), name)
    script = [sys.executable, "-I", "-S", os.path.join(hooks_folder(), "hook.py")]
    command = [neighbour] if stable and os.path.exists(neighbour) else script
    return [*command, "--host", host, *(["--event", event] if event else [])]


def at_home(command: Sequence[str], root: str | None, platform: str) -> list[str]:
    """Return the command with SCRUBJAY_HOME set, for hosts that do not pass on our environment.

    Windows has no command that sets a variable for another command, so users set it for their account.
    """
    return [*(["env", f"SCRUBJAY_HOME={root}"] if root and platform != "win32" else []), *command]


def line(command: Sequence[str], platform: str) -> str:
    """Return a command as one line for the platform's shell."""
    if platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline(command)
    return shlex.join(command)


def run_hook(
    event: str, payload: Mapping[str, Any], env: Mapping[str, str], cwd: str, command: Sequence[str] | str
) -> float:
    """Run a hook's command or shell line with an event in Claude Code's format; return the seconds it took.

    Raises EngineError if the hook cannot be run, or fails.
    """
    event_payload = {**payload, "hook_event_name": event, "cwd": cwd}
    started = time.perf_counter()
    output = hear_hook(event_payload, env, cwd, command)
    if not output.startswith(b"{"):
        raise EngineError(f"The hook for {event} printed {output[-200:]!r}. Install scrubjay again.")
    return time.perf_counter() - started


def hear_hook(
    payload: Mapping[str, Any], env: Mapping[str, str], cwd: str, command: Sequence[str] | str
) -> bytes:
    """Return the output of a hook's command for an event. Raises as `run_hook` does."""
    import subprocess  # takes 3 ms, only when a hook is tried

    command_line = command if isinstance(command, str) else " ".join(command)
    try:
        process = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            env=env,
            cwd=cwd,
            shell=isinstance(command, str),
            capture_output=True,
            timeout=HOOK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no answer within {HOOK_SECONDS:g} s"
        raise EngineError(
            f"The hook cannot be run: {command_line}: {reason}. `scrubjay setup` renews it."
        ) from error
    if process.returncode != 0:
        output = (process.stderr or process.stdout).decode(errors="replace").strip()[-200:]
        sentence = f"The hook {command_line} ended with code {process.returncode} and printed {output!r}."
        raise EngineError(f"{sentence} Install scrubjay again.")
    return process.stdout.strip()


def hooks_folder() -> str:
    """Return the folder of this installation's hook scripts.

    Raises HomeError if the scripts are not installed.
    """
    spec = importlib.util.find_spec("scrubjay.hooks")
    if spec is None or not spec.submodule_search_locations:
        raise HomeError("The hook scripts are not installed. Install scrubjay again.")
    return os.path.abspath(next(iter(spec.submodule_search_locations)))


def is_our_hook(handler: Any) -> bool:
    """Return True if a host's handler is ours, from any installation and in any host's format."""
    if not isinstance(handler, dict) or handler.get("type", "command") != "command":
        return False
    return any(_is_hook_command(words) for words in hook_lines(handler))


def hook_lines(handler: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the words of each command of a handler; it has one command, or one for each kind of shell."""
    for name in ("command", "bash", "powershell"):
        command = handler.get(name)
        if isinstance(command, str):
            arguments = _texts(handler.get("args"))
            yield [command, *arguments] if "args" in handler else _words(command)


def is_our_server(server: Any) -> bool:
    """Return True if a host's server entry starts scrubjay, directly or through a runner such as uvx."""
    command, *arguments = server_command(server) or [""]
    names = (word.partition("@")[0].partition("==")[0] for word in arguments)
    return _base(command) == "scrubjay" or "scrubjay" in names


def server_command(server: Any) -> list[str] | None:
    """Return the command that starts the server of an entry; None if it is not a server entry."""
    if not isinstance(server, dict):
        return None
    command = server.get("command", server.get("cmd"))
    if isinstance(command, list):
        return _texts(command) or None
    return [command, *_texts(server.get("args"))] if isinstance(command, str) else None


def _is_hook_command(words: list[str]) -> bool:
    if words and _base(words[0]) == "scrubjay" and words[1:2] == ["hook"]:
        return True
    names_host = "--host" in words
    return any(_base(word) == "scrubjay-hook" or _is_our_script(word, names_host) for word in words)


def _is_our_script(word: str, names_host: bool) -> bool:
    """Return True if a word is the path of our script, installed or (if `names_host`) in a checkout."""
    folder, name = os.path.split(word.strip("\"'").replace("\\", "/"))
    if name not in _SCRIPTS:
        return False
    parent, folder_name = os.path.split(folder)
    if folder == hooks_folder().replace("\\", "/"):
        return True
    return folder_name == "hooks" and ((names_host and name == "hook.py") or _base(parent) == "scrubjay")


def _words(line: str) -> list[str]:
    """Split a shell line into words; an invalid line is split at spaces."""
    try:
        return shlex.split(line, posix="\\" not in line)
    except ValueError:
        return line.split()


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _base(command: str) -> str:
    return os.path.basename(command.strip("\"'").replace("\\", "/")).removesuffix(".exe")
