"""A home and a project that exist for one measurement. Knows folders, environments and the processes that
belong to a home; does not know the measurements.

    with Place() as place:
        client = place.client()
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psutil
from rpc import Client

from scrubjay.home.paths import open_home
from scrubjay.pipe.client import open_client
from scrubjay.wire.hello import hello_from

if TYPE_CHECKING:
    from kept import Said

COMMAND = shutil.which("scrubjay", path=os.path.dirname(sys.executable)) or ""
STOP_SECONDS = 40.0  # an engine first finishes its current work


def need_command(parser: argparse.ArgumentParser) -> None:
    """End the program if the project is not installed next to its interpreter."""
    if not COMMAND:
        parser.error(f"there is no command `scrubjay` next to {sys.executable}; install the project there")


class Place:
    """A temporary home, and a project folder with a scope of its own; on exit, every process of that home is
    ended.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="scrubjay-bench-"))
        self.home = self.folder / "home"
        self.project = self.folder / "orchard"
        git = self.project / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (git / "config").write_text(
            '[remote "origin"]\n\turl = https://git.example/bench/orchard.git\n', encoding="utf-8"
        )
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("SCRUBJAY_", "PYTHON"))
        }
        self.env = inherited | {"SCRUBJAY_HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(self.project)}
        self._clients: list[Client] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        end_all("SCRUBJAY_HOME", self.home)
        shutil.rmtree(self.folder)

    def client(self) -> Client:
        """Spawn the installed command as a client does. Its clock starts before the spawn."""
        client = Client([COMMAND], self.env, str(self.project))
        self._clients.append(client)
        return client

    def keep(self, said: Iterable[Said]) -> None:
        """Write over MCP, and wait until all of it has its vectors."""
        with self.client() as client:
            client.initialize()
            for each in said:
                client.call({"turn": "record_turn", "memory": "add_memory"}[each.kind], each.arguments)
        self.until("embedded", is_embedded, 120)

    def engines(self) -> list[psutil.Process]:
        """The engines of this home that run now."""
        return [process for process in self._processes() if "serve" in process.cmdline()]

    def pipes(self) -> list[psutil.Process]:
        """The pipes of this home that run now."""
        return [process for process in self._processes() if "serve" not in process.cmdline()]

    def start_engine(self) -> psutil.Process:
        """The engine of this home with everything loaded; started if none is running."""
        with self.client() as client:
            client.initialize()
            client.call("search_memories", {"query": "anything at all"})
        return self.engines()[0]

    def stop_engine(self) -> None:
        """Shut the engine down cleanly, so that the next client has to start one."""
        engines = self.engines()
        for process in engines:
            process.terminate()
        _, left = psutil.wait_procs(engines, timeout=STOP_SECONDS)
        if left:
            raise TimeoutError(
                f"Engine {left[0].pid} did not end within {STOP_SECONDS:g} s; see {self.home}/log."
            )

    def status(self) -> dict[str, Any]:
        """The data behind `scrubjay status`."""
        hello = hello_from("cli", self.env, str(self.project), os.getpid())
        with open_client(open_home(str(self.home)), hello, self.env, start=False) as engine:
            return engine.call("status", {})

    def until(self, what: str, reached: Any, seconds: float, step: float = 0.5) -> float:
        """Wait until `reached(status)`; the seconds it took.

        Raises:
            TimeoutError: it never happened; the last status is in the message.
        """
        start = time.perf_counter()
        while not reached(status := self.status()):
            if time.perf_counter() - start > seconds:
                raise TimeoutError(f"After {seconds:g} s still not {what}: {status}")
            time.sleep(step)
        return time.perf_counter() - start

    def _processes(self) -> Iterator[psutil.Process]:
        return processes_with("SCRUBJAY_HOME", self.home)


def processes_with(variable: str, home: Path) -> Iterator[psutil.Process]:
    """The processes that run with this home in a variable of their environment."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_ended = process.status() == psutil.STATUS_ZOMBIE
            if process.environ().get(variable) == str(home) and not is_ended:
                yield process


def end_all(variable: str, home: Path) -> None:
    """Ask the processes with this home to end, and kill any that stay."""
    processes = list(processes_with(variable, home))
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=STOP_SECONDS)
    for process in stubborn:
        process.kill()
    psutil.wait_procs(stubborn, timeout=5)


def is_embedded(status: Mapping[str, Any]) -> bool:
    """Return True if everything written has its vectors."""
    return status["records"]["waiting_for_vector"] == 0 and status["spool"]["waiting"] == 0


def peak_memory(process: psutil.Process) -> int:
    """The greatest resident memory a process ever had, in bytes: VmHWM on Linux, the peak working set on
    Windows.

    Raises:
        OSError: the system does not keep it.
    """
    if sys.platform == "win32":
        return process.memory_info().peak_wset
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        (line,) = (line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def rested(engine: psutil.Process, most: float = 60.0) -> None:
    """Wait until the engine has worked for less than .3 s in 6: its background work pauses for 3 at a time."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        before = sum(engine.cpu_times()[:2])
        time.sleep(6)
        if sum(engine.cpu_times()[:2]) - before < 0.3:
            return
