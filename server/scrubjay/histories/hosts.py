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
    readers = [_OF_ONE_HOST.get(name) or partial(_OF_SEVERAL[name], host) for name in _all(stores, "reader")]
    patterns = [re.compile(pattern, re.DOTALL) for pattern in _all(stores, "files")]

    def places(machine: Machine) -> Iterable[str]:
        return dict.fromkeys(
            path for store in stores for place in store["places"] for path in machine.paths(place)
        )

    def store_index_of(path: str) -> int | None:
        name = path.replace(os.sep, "/")
        return next((index for index, pattern in enumerate(patterns) if pattern.fullmatch(name)), None)

    def fits(path: str) -> bool:
        return store_index_of(path) is not None

    def stored(disk: Disk, path: str, at: float) -> Iterable[Stored]:
        index = store_index_of(path)
        return () if index is None else readers[index](disk, path, at)

    return History(host, places, fits, stored, deep=stores[0].get("deep", 20))


def _all(stores: list[dict[str, Any]], name: str) -> list[str]:
    return [each[name] for each in stores]


HISTORIES = tuple(_history(host, facts["history"]) for host, facts in HOSTS.items() if "history" in facts)
