"""Lists the histories of hosts: the stores in `hosts.json`, each with the function that reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from scrubjay.histories import (
    aider,
    cursor,
    exports,
    goose,
    opencode,
    tasks,
    transcripts,
    vscode,
    zed,
)
from scrubjay.histories.disk import Disk
from scrubjay.histories.stored import History, Stored
from scrubjay.hosts.facts import HOSTS
from scrubjay.hosts.machine import Machine

_OF_ONE_HOST: dict[str, Callable[[Disk, str, float], Iterable[Stored]]] = {
    "aider": aider.stored,
    "cursor-state": cursor.stored,
    "goose": goose.stored,
    "vscode": vscode.stored,
    "zed": zed.stored,
}
_OF_SEVERAL: dict[str, Callable[[str, Disk, str, float], Iterable[Stored]]] = {
    **transcripts.READERS,
    "opencode": opencode.stored,
    "tasks": tasks.stored,
    "claude-ai": partial(exports.stored, exports.claude_ai),
    "chatgpt": partial(exports.stored, exports.chatgpt),
}


def _history(host: str, stores: list[dict[str, Any]]) -> History:
    """Return the history of a host, by its stores in `hosts.json`."""
    names = [store["reader"] for store in stores]
    readers = [_OF_ONE_HOST.get(name) or partial(_OF_SEVERAL[name], host) for name in names]
    patterns = [re.compile(store["files"], re.DOTALL) for store in stores]

    def places(machine: Machine) -> Iterable[str]:
        return dict.fromkeys(
            path for store in stores for place in store["places"] for path in machine.paths(place)
        )

    def readers_of(path: str) -> list[Callable[[Disk, str, float], Iterable[Stored]]]:
        name = path.replace(os.sep, "/")
        pairs = zip(patterns, readers, strict=True)
        return [reader for pattern, reader in pairs if pattern.fullmatch(name)]

    def fits(path: str) -> bool:
        return bool(readers_of(path))

    def stored(disk: Disk, path: str, at: float) -> Iterable[Stored]:
        return (each for reader in readers_of(path)[:1] for each in reader(disk, path, at))

    return History(host, places, fits, stored, deep=stores[0].get("deep", 20))


HISTORIES = tuple(_history(host, facts["history"]) for host, facts in HOSTS.items() if "history" in facts)
