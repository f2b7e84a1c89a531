"""The address of a home's engine: the engine writes it, its clients read it. Standard library only.

`engine.json` is a hint: only the lock shows whether an engine is running. It holds

    {"socket": PATH} or {"address": [HOST, PORT], "token_file": PATH}, and
    {"version": "0.1.0", "protocol": 1, "pid": 5, "auto": true, "started_at": "2026-03-05T12:00:00Z",
     "http": null, "finishing": false}
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time

from scrubjay.home.files import move_aside_nonfile, parse_json, read_regular

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrubjay.home.paths import Home

HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")
_MAX_BYTES = 64 * 1024  # of engine.json
_TRIES, _PAUSE = 50, 0.01  # attempts to replace a file that a client is reading, and the seconds between them


def engine_facts(home: Home) -> dict[str, Any]:
    """Read `engine.json`; if that fails, assume that the engine listens in the home."""
    try:
        facts = parse_json(read_regular(home.engine_json, _MAX_BYTES))
    except (OSError, ValueError):
        facts = None
    if isinstance(facts, dict) and ("socket" in facts or "address" in facts):
        return facts
    return {"socket": home.socket}


def write_facts(home: Home, facts: Mapping[str, Any]) -> None:
    """Replace `engine.json` in one step, so that no client reads half of it.

    Raises:
        OSError: the disk refused; the file is removed, because it describes an earlier engine.
    """
    temporary = f"{home.engine_json}.{os.getpid()}"
    try:
        move_aside_nonfile(home.engine_json)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(facts, file)
    except OSError:
        for path in (temporary, home.engine_json):
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise
    for tries_left in range(_TRIES, -1, -1):
        try:
            os.replace(temporary, home.engine_json)
            return
        except PermissionError:  # on Windows, while a client is reading the old file
            if not tries_left:
                raise
            time.sleep(_PAUSE)


def token_path(home: Home) -> str:
    """Return the path of the file with the token that a loopback port requires."""
    return os.path.join(home.root, "engine.token")
