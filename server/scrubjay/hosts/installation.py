"""The commands of this installation: the server that a client starts, and the hook that a host runs.

Knows where its own files are, and which parts of a host's configuration are ours; reads no configuration.
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

HOOK_SECONDS = 15.0  # the hook gives up after 5 s
_SCRIPTS = ("hook.py", "session_start.py", "user_prompt_submit.py", "stop.py", "session_end.py")


def console_command() -> list[str]:
    """Return the command that a client registers, as it is installed next to the running interpreter."""
    name = "scrubjay.exe" if os.name == "nt" else "scrubjay"
    neighbour = os.path.join(os.path.dirname(sys.executable), name)
    path = neighbour if os.path.exists(neighbour) else shutil.which("scrubjay")
    return [os.path.abspath(path)] if path else [sys.executable, "-P", "-m", "scrubjay"]


def hook_command(host: str, event: str | None = None, *, stable: bool = False) -> list[str]:
    """Return the command that a host runs as our hook; `event` if its payload names none.

    It runs the script under `-I -S`, not the console command: 21 ms against 28 ms for a whole Stop hook,
    because site-packages are never searched. `stable` is for hosts where a user approves the command: the
    console command, whose path survives upgrades of Python and Scrubjay.
    """
    name = "scrubjay-hook.exe" if os.name == "nt" else "scrubjay-hook"
    neighbour = os.path.join(os.path.dirname(sys.executable), name)
    script = [sys.executable, "-I", "-S", os.path.join(hooks_folder(), "hook.py")]
    command = [neighbour] if stable and os.path.exists(neighbour) else script
    return [*command, "--host", host, *(["--event", event] if event else [])]


def at_home(command: Sequence[str], root: str | None, platform: str) -> list[str]:
    """Return a command that sets the home, for hosts that do not pass our environment on.

    Windows has no command that sets a variable for another command; there the user sets it for the account.
    """
    return [*(["env", f"SCRUBJAY_HOME={root}"] if root and platform != "win32" else []), *command]


def line(command: Sequence[str], platform: str) -> str:
    """Return a command as one line for the shell of a platform."""
    if platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline(command)
    return shlex.join(command)


def run_hook(
    event: str, payload: Mapping[str, Any], env: Mapping[str, str], cwd: str, command: Sequence[str] | str
) -> float:
    """Run a hook's command, or shell line, with an event in Claude Code's format; return its seconds.

    Raises:
        EngineError: it cannot be run, or fails.
    """
    told = {**payload, "hook_event_name": event, "cwd": cwd}
    started = time.perf_counter()
    said = hear_hook(told, env, cwd, command)
    if not said.startswith(b"{"):
        raise EngineError(f"The hook for {event} printed {said[-200:]!r}. Install scrubjay again.")
    return time.perf_counter() - started


def hear_hook(
    payload: Mapping[str, Any], env: Mapping[str, str], cwd: str, command: Sequence[str] | str
) -> bytes:
    """Return the output of a hook's command for an event. Raises as `run_hook` does."""
    import subprocess  # takes 3 ms, only when a hook is tried

    shown = command if isinstance(command, str) else " ".join(command)
    try:
        done = subprocess.run(
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
            f"The hook cannot be run: {shown}: {reason}. `scrubjay setup` renews it."
        ) from error
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()[-200:]
        sentence = f"The hook {shown} ended with code {done.returncode} and printed {output!r}."
        raise EngineError(f"{sentence} Install scrubjay again.")
    return done.stdout.strip()


def hooks_folder() -> str:
    """Return the folder of this installation's hook scripts.

    Raises:
        HomeError: they are not installed.
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
    """Yield the words of each command of a handler: one, or one for each kind of shell."""
    for name in ("command", "bash", "powershell"):
        said = handler.get(name)
        if isinstance(said, str):
            arguments = _texts(handler.get("args"))
            yield [said, *arguments] if "args" in handler else _words(said)


def is_our_server(server: Any) -> bool:
    """Return True if a host's server entry starts scrubjay, directly or through a runner such as uvx."""
    command, *arguments = server_command(server) or [""]
    names = (word.partition("@")[0].partition("==")[0] for word in arguments)
    return _base(command) == "scrubjay" or "scrubjay" in names


def server_command(server: Any) -> list[str] | None:
    """Return the command with which an entry starts its server; None if it is not a server entry."""
    if not isinstance(server, dict):
        return None
    said = server.get("command", server.get("cmd"))
    if isinstance(said, list):
        return _texts(said) or None
    return [said, *_texts(server.get("args"))] if isinstance(said, str) else None


def _is_hook_command(words: list[str]) -> bool:
    if words and _base(words[0]) == "scrubjay" and words[1:2] == ["hook"]:
        return True
    named = "--host" in words
    return any(_base(word) == "scrubjay-hook" or _is_our_script(word, named=named) for word in words)


def _is_our_script(word: str, *, named: bool) -> bool:
    """Return True if a word is the path of our script: installed, or if a host is `named`, checked out."""
    folder, name = os.path.split(word.strip("\"'").replace("\\", "/"))
    if name not in _SCRIPTS:
        return False
    holder, last = os.path.split(folder)
    if folder == hooks_folder().replace("\\", "/"):
        return True
    return last == "hooks" and ((named and name == "hook.py") or _base(holder) == "scrubjay")


def _words(line: str) -> list[str]:
    """Split a shell line into words; at spaces if it is not a valid one."""
    try:
        return shlex.split(line, posix="\\" not in line)
    except ValueError:
        return line.split()


def _texts(given: Any) -> list[str]:
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _base(command: str) -> str:
    return os.path.basename(command.strip("\"'").replace("\\", "/")).removesuffix(".exe")
