"""The address of a home's engine, and the folder for sockets and shared locks. Standard library only.

`engine.json` is a hint: only the lock shows whether an engine is running. The engine writes into it

    {"socket": PATH} or {"address": [HOST, PORT], "token_file": PATH}, and
    {"version": "0.1.0", "protocol": 1, "pid": 5, "auto": true, "started_at": "2026-03-05T12:00:00Z",
     "http": null, "finishing": false}
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from scrubjay.errors import HomeError
from scrubjay.home.files import move_aside_nonfile, parse_json, read_regular

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrubjay.home.paths import Home

HAS_UNIX_SOCKETS = os.name != "nt"
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


def runtime_folder(env: Mapping[str, str]) -> str:
    """Return the path of this user's runtime folder without touching the disk.

    It must be the same for all engines of a user, so TMPDIR, which each client may set, is ignored.
    """
    if runtime := env.get("XDG_RUNTIME_DIR"):
        return os.path.join(runtime, "scrubjay")
    if hasattr(os, "getuid"):  # the temporary folder is shared by all users
        return f"/tmp/scrubjay-{os.getuid()}"
    local = env.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    return os.path.join(local, "Temp", "scrubjay")


def make_private_folder(folder: str) -> None:
    """Create a folder that only this user can enter, or raise if an existing one is unsafe.

    Raises HomeError if it cannot be created, belongs to another user, or is open to others.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        stat = os.lstat(folder)
    except OSError as error:
        raise HomeError(
            f"The runtime folder {folder} cannot be made: {error.strerror}. Set XDG_RUNTIME_DIR or shorten "
            "SCRUBJAY_HOME."
        ) from error
    if hasattr(os, "getuid") and (stat.st_uid != os.getuid() or stat.st_mode & 0o170077 != 0o040000):
        raise HomeError(
            f"The runtime folder {folder} is open to other users or belongs to one. "
            "Remove it, or set XDG_RUNTIME_DIR to a folder of your own."
        )
