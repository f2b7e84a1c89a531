"""Updates facts from the memories of the assistants that `setup` connected, while the engine runs.

The files are checked every ten seconds, read when they have changed, and never written.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from scrubjay.engine.background.tasks import failures_logged
from scrubjay.histories import memory_files
from scrubjay.histories.memory_files import MemoryFile
from scrubjay.home.capture import Policy
from scrubjay.home.paths import Home
from scrubjay.home.scopes import project_folders
from scrubjay.hosts.machine import Machine, this_machine
from scrubjay.hosts.table import BY_NAME
from scrubjay.models.kept import KeptMemoryFiles
from scrubjay.models.requests import parse

log = logging.getLogger("scrubjay.engine.background.host_memories")

LOOK_SECONDS = 10.0  # between two checks; a check lists the files, which takes 0.3 ms each
BATCH = 100  # files that are planned together
_FIELDS = ("source", "path", "entries", "is_whole")  # of a `KeptMemoryFile`


class HostMemories:
    """Follows the memory files of hosts. `keep` updates the facts from files that changed."""

    def __init__(
        self,
        home: Home,
        env: Mapping[str, str],
        policy: Callable[[], Policy],
        keep: Callable[[KeptMemoryFiles], Awaitable[Any]],
    ) -> None:
        self._home, self._env, self._policy, self._keep = home, env, policy, keep
        self._seen: dict[str, float] | None = None  # when each file that was read had last changed

    async def run(self) -> None:
        """Check the files forever."""
        while True:
            with failures_logged(log, "the memories of assistants were not read"):
                await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Read the files that changed since the last call."""
        policy = self._policy()
        if policy.paused or policy.capture == "off":
            return
        machine = this_machine(self._env)._replace(projects=tuple(project_folders(self._home)))
        hosts, files = await asyncio.to_thread(self._files, machine)
        times, seen_times = {file.path: file.at for file in files}, self._seen or {}
        if not hosts or times == self._seen:
            return
        changed = [file for file in files if seen_times.get(file.path) != file.at]
        searched = [place for host in hosts for place, _ in memory_files.memory_places(host, machine)]
        for start in range(0, max(1, len(changed)), BATCH):
            batch = changed[start : start + BATCH]
            contents = await asyncio.to_thread(self._read, batch, policy, machine)
            request = {
                "machine": memory_files.THIS_MACHINE,
                "memories": [{name: each[name] for name in _FIELDS} for each in contents],
                "searched": searched if start == 0 else [],
                "redacted": sum(each["redacted"] for each in contents),
            }
            await self._keep(parse(KeptMemoryFiles, request))
        self._seen = times

    def _files(self, machine: Machine) -> tuple[list[str], list[MemoryFile]]:
        """Return the connected hosts that have a memory, and the files of their memories."""
        hosts = [name for name in memory_files.STORES if BY_NAME[name].is_connected(machine, self._home)]
        return hosts, [file for host in hosts for file in memory_files.memory_files(host, machine)]

    def _read(self, files: list[MemoryFile], policy: Policy, machine: Machine) -> list[dict[str, Any]]:
        contents = []
        for file in files:
            try:
                contents.append(memory_files.kept_file(self._home, policy, file, machine))
            except (OSError, ValueError) as error:
                log.info("a file of %s was skipped: %s", file.source, type(error).__name__)
        return [each for each in contents if each is not None]
