"""A process of its own for the engine. Knows forks, descriptors and environments; does not know when an engine is needed.

The engine must outlive the client that happened to start it and must inherit nothing of it: neither descriptors (which would keep
the client's pipes open), nor its terminal or process group (whose signals would end it), nor its settings.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from scrubjay.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrubjay.home.paths import Home

_KEPT = (
    *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *(
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
    ),  # for a store in a bucket
    *(
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT",
        "AWS_ENDPOINT_URL",
        "AWS_ALLOW_HTTP",
        "AWS_CA_BUNDLE",
    ),
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    *("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HF_HOME"),
    *("SYSTEMROOT", "WINDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT"),
)


class Spawned(NamedTuple):
    """A process that was started, and where its words end up."""

    pid: int
    log: str
    log_start: int  # bytes in the log before it

    def alive(self) -> bool:
        """Whether the process still runs; one that nobody buried does not."""
        if sys.platform == "win32":  # pragma: no cover - there, signal 0 would end the process
            return _runs_on_windows(self.pid)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                return b") Z " not in file.read()
        except OSError:
            return True  # no /proc on this system

    def last_words(self) -> str:
        """The last line it wrote to the log, or an empty string."""
        try:
            with open(self.log, "rb") as file:
                file.seek(self.log_start)
                lines = file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def engine_command() -> list[str]:
    """How the engine of this installation is started; -P keeps files of the home from shadowing modules."""
    return [sys.executable, "-P", "-m", "scrubjay", "serve", "--auto"]


def engine_log(home: Home) -> str:
    """The file that takes what an engine writes to its standard error."""
    return os.path.join(home.log, "engine.log")


def spawn(home: Home, command: list[str], env: Mapping[str, str]) -> Spawned:
    """Start `command` detached, with cwd = home, umask 077, its own session and the few variables it may know.

    Raises:
        EngineError: the command cannot be run.
    """
    log = engine_log(home)
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        start = os.fstat(fd).st_size
        child_env = {name: env[name] for name in _KEPT if name in env} | {"SCRUBJAY_HOME": home.root}
        pid = (_on_windows if sys.platform == "win32" else _on_posix)(home, command, child_env, fd)
    finally:
        os.close(fd)
    return Spawned(pid, log, start)


def _on_posix(home: Home, command: list[str], env: dict[str, str], log_fd: int) -> int:
    """Fork twice, so that the engine is nobody's child and can have no terminal. Returns its pid."""
    listener, teller = (
        os.pipe()
    )  # the first child tells the pid, the second what stops it; a successful exec closes it
    first = os.fork()
    if first == 0:
        _become(home, command, env, log_fd, teller)
    os.close(teller)
    with os.fdopen(listener, "rb") as file:
        told = file.read().decode("utf-8", "replace")
    os.waitpid(first, 0)
    news = dict(line.split(" ", 1) for line in told.splitlines())
    if "pid" not in news or "trouble" in news:
        raise EngineError(
            f"The engine cannot be started: {command[0]}: {news.get('trouble', 'no process')}. Install scrubjay again."
        )
    return int(news["pid"])


def _become(home: Home, command: list[str], env: dict[str, str], log_fd: int, teller: int) -> None:
    """Turn this fork into the engine; never returns, and never lets an exception climb into the code of the parent."""
    try:
        os.setsid()
        second = os.fork()
        if second:
            os.write(teller, b"pid %d\n" % second)
            os._exit(0)
        os.chdir(home.root)
        os.umask(0o077)
        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (nothing, 1), (log_fd, 2)):
            os.dup2(source, target)
        for name in os.listdir("/dev/fd"):
            if int(name) > 2:
                with contextlib.suppress(OSError):  # the descriptor with which the list was read
                    os.set_inheritable(int(name), False)
        os.execve(command[0], command, env)
    except OSError as error:
        os.write(teller, f"trouble {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _on_windows(home: Home, command: list[str], env: dict[str, str], log_fd: int) -> int:  # pragma: no cover
    """Start in a process group without a console, outside the client's job where the job lets it go."""
    import subprocess

    flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    for extra in (subprocess.CREATE_BREAKAWAY_FROM_JOB, 0):
        try:
            return subprocess.Popen(
                command,
                cwd=home.root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log_fd,
                close_fds=True,
                creationflags=flags | extra,
            ).pid
        except PermissionError:
            continue  # the client's job forbids leaving it
        except OSError as error:
            raise EngineError(
                f"The engine cannot be started: {command[0]}: {error}. Install scrubjay again."
            ) from error
    raise EngineError(f"The engine cannot be started: {command[0]}: access denied.")


def _runs_on_windows(pid: int) -> bool:  # pragma: no cover
    import ctypes

    kernel = ctypes.windll.kernel32
    handle = kernel.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
    if not handle:
        return False
    try:
        return kernel.WaitForSingleObject(handle, 0) == 0x102  # WAIT_TIMEOUT: it has not ended
    finally:
        kernel.CloseHandle(handle)
