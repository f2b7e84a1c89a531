"""Where the engine of a home listens, written by the engine and read by its clients. Knows paths and ports; opens no connection.

Standard library only. What stands in `engine.json` is a hint: only the lock says whether there is an engine.

    {"socket": PATH} or {"address": [HOST, PORT], "token_file": PATH}, and
    {"version": "0.1.0", "protocol": 1, "pid": 5, "auto": true, "started_at": "2026-03-05T12:00:00Z", "http": null, "finishing": false}
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrubjay.home.paths import Home

HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")
_TRIES, _PAUSE = 50, 0.01  # to replace a file that somebody reads, and the seconds between them


def engine_facts(home: Home) -> dict:
    """What `engine.json` says; without a readable one, that the engine would listen in the home."""
    try:
        with open(home.engine_json, encoding="utf-8") as file:
            facts = json.load(file)
    except (OSError, ValueError):
        facts = None
    return (
        facts
        if isinstance(facts, dict) and ("socket" in facts or "address" in facts)
        else {"socket": home.socket}
    )


def write_facts(home: Home, facts: dict) -> None:
    """Replace `engine.json` in one step, so that no client reads half of it."""
    fresh = f"{home.engine_json}.{os.getpid()}"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(facts, file)
    for patience in range(_TRIES, -1, -1):
        try:
            return os.replace(fresh, home.engine_json)
        except PermissionError:  # Windows, while a client reads the old one
            if not patience:
                raise
            time.sleep(_PAUSE)


def token_path(home: Home) -> str:
    """The file with the token that a loopback port asks for."""
    return os.path.join(home.root, "engine.token")
