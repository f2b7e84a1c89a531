"""Starts the engine in its own process.

The engine must outlive the client that happened to start it and must inherit nothing from it: no descriptors
(which would keep the client's pipes open), no terminal or process group (whose signals would end it), and no
settings.
"""

from __future__ import annotations

import contextlib
import os
import sys

from scrubjay.errors import EngineError
from scrubjay.home.files import is_running, open_log, open_regular

TYPE_CHECKING = False  # instead of typing.TYPE_CHECKING, whose import would slow down every command
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrubjay.home.paths import Home

# The variables that an engine inherits; a store in a bucket needs the AWS variables. TMPDIR is not inherited,
# because a client's temporary folder may vanish with the client, and the engine has its own.
_INHERITED = """
HOME USER LOGNAME PATH LANG LC_ALL LC_CTYPE TZ XDG_RUNTIME_DIR XDG_CACHE_HOME HF_HOME AWS_ACCESS_KEY_ID
AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT
AWS_ENDPOINT_URL AWS_ALLOW_HTTP AWS_CA_BUNDLE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_ROLE_ARN
AWS_WEB_IDENTITY_TOKEN_FILE SYSTEMROOT WINDIR APPDATA LOCALAPPDATA USERPROFILE PATHEXT
""".split()


class Spawned:
    """A process that we started, and the log that it writes to."""

    def __init__(self, pid: int, log: str, log_start: int) -> None:
        self.pid, self.log = pid, log
        self.log_start = log_start  # size of the log in bytes before the process started

    def is_alive(self) -> bool:
        """Return True if the process is still running; a zombie is not."""
        if sys.platform == "win32":  # pragma: no cover - signal 0 would end the process there
            return _runs_on_windows(self.pid)
        return is_running(self.pid)

    def last_words(self) -> str:
        """Return the last line that the process wrote to the log, or an empty string."""
        try:
            with open_regular(self.log) as file:
                file.seek(self.log_start)
                lines = file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def engine_command() -> list[str]:
    """Return the command of this installation's engine; -P keeps files of the home from shadowing modules."""
    return [sys.executable, "-P", "-m", "scrubjay", "serve", "--auto"]


def engine_log(home: Home) -> str:
    """Return the path of the file that receives an engine's standard error."""
    return os.path.join(home.log, "engine.log")


def spawn(home: Home, command: list[str], env: Mapping[str, str]) -> Spawned:
    """Start `command` detached, in the home, with umask 077, its own session and few variables.

    Raises EngineError if the command cannot be run, or the system refuses a file or a process.
    """
    child_env = {name: env[name] for name in _INHERITED if name in env} | {"SCRUBJAY_HOME": home.root}
    try:
        with open(open_log(engine_log(home)), "ab") as log:
            log_start, log_fd = os.fstat(log.fileno()).st_size, log.fileno()
            if sys.platform == "win32":  # pragma: no cover
                pid = _spawn_on_windows(home, command, child_env, log_fd)
            else:
                pid = _spawn_on_posix(home, command, child_env, log_fd)
    except OSError as error:
        refused = error.filename or "the system refused a process"
        advice = "Free disk space or processes, then try again."
        raise EngineError(f"The engine cannot be started: {refused}: {error.strerror}. {advice}") from error
    return Spawned(pid, engine_log(home), log_start)


def _spawn_on_posix(home: Home, command: list[str], env: dict[str, str], log_fd: int) -> int:
    """Fork twice, so that the engine is not our child and can have no terminal; return its pid."""
    # The child reports the grandchild's pid, and the grandchild any error; a successful exec closes the pipe.
    read_fd, report_fd = os.pipe()
    child = os.fork()
    if child == 0:
        _become_engine(home, command, env, log_fd, report_fd)
    os.close(report_fd)
    with os.fdopen(read_fd, "rb") as file:
        report = dict(line.split(" ", 1) for line in file.read().decode("utf-8", "replace").splitlines())
    os.waitpid(child, 0)
    if "pid" not in report or "trouble" in report:
        trouble = report.get("trouble", "no process")
        raise EngineError(f"The engine cannot be started: {command[0]}: {trouble}. Install scrubjay again.")
    return int(report["pid"])


def _become_engine(home: Home, command: list[str], env: dict[str, str], log_fd: int, report_fd: int) -> None:
    """Turn this fork into the engine. Never return or raise into the parent's code."""
    try:
        os.setsid()
        engine_pid = os.fork()
        if engine_pid:
            os.write(report_fd, b"pid %d\n" % engine_pid)
            os._exit(0)
        os.chdir(home.root)
        os.umask(0o077)
        devnull = os.open(os.devnull, os.O_RDWR)
        for source, target in ((devnull, 0), (devnull, 1), (log_fd, 2)):
            os.dup2(source, target)
        for name in os.listdir("/dev/fd"):
            if int(name) > 2:
                with contextlib.suppress(OSError):  # the descriptor that read this list is closed
                    os.set_inheritable(int(name), False)
        os.execve(command[0], command, env)
    except OSError as error:
        os.write(report_fd, f"trouble {error.strerror}\n".encode())
    finally:
        os._exit(127)


if sys.platform == "win32":  # pragma: no cover

    def _spawn_on_windows(home: Home, command: list[str], env: dict[str, str], log_fd: int) -> int:
        """Start the engine in a process group without a console and, if allowed, outside the client's job."""
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
                sentence = f"The engine cannot be started: {command[0]}: {error}. Install scrubjay again."
                raise EngineError(sentence) from error
        raise EngineError(f"The engine cannot be started: {command[0]}: access denied.")

    def _runs_on_windows(pid: int) -> bool:
        import ctypes

        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == 0x102)  # WAIT_TIMEOUT: it has not ended
        finally:
            kernel.CloseHandle(handle)
