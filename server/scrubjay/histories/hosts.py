"""Lists the histories of hosts: the stores in `hosts.json`, each with the function that reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from scrubjay.histories import aider, cursor, exports, goose, opencode, tasks, transcripts, vscode, zed
from scrubjay.histories.disk import Disk
from scrubjay.histories.stored import History, Reader, Stored, at_once
from scrubjay.hosts.facts import HOSTS
from scrubjay.hosts.machine import Machine

_READERS: dict[str, Reader] = {
    **{name: at_once(partial(transcripts.sessions, head)) for name, head in transcripts.HEADS.items()},
    "cursor-lines": at_once(partial(transcripts.sessions, transcripts.cursor_head), is_timed=False),
    "aider": at_once(aider.sessions),
    "cursor-state": cursor.stored,
    "goose": goose.stored,
    "opencode": opencode.stored,
    "tasks": at_once(tasks.sessions),
    "vscode": at_once(vscode.sessions),
    "zed": zed.stored,
    "claude-ai": partial(exports.stored, exports.claude_ai),
    "chatgpt": partial(exports.stored, exports.chatgpt),
}


def _history(host: str, stores: list[dict[str, Any]]) -> History:
    """Return the history of a host, by its stores in `hosts.json`."""
    readers = [(re.compile(store["files"], re.DOTALL), _READERS[store["reader"]]) for store in stores]

    def places(machine: Machine) -> Iterable[str]:
        return dict.fromkeys(
            path for store in stores for place in store["places"] for path in machine.paths(place)
        )

    def reader_of(path: str) -> Reader | None:
        name = path.replace(os.sep, "/")
        return next((reader for pattern, reader in readers if pattern.fullmatch(name)), None)

    def stored(disk: Disk, path: str, at: float) -> Iterable[Stored]:
        reader = reader_of(path) or readers[0][1]  # the user may name a file with another name
        return reader(host, disk, path, at)

    def fits(path: str) -> bool:
        return reader_of(path) is not None

    return History(host, places, fits, stored, deep=stores[0].get("deep", 20))


HISTORIES = tuple(_history(host, facts["history"]) for host, facts in HOSTS.items() if "history" in facts)
