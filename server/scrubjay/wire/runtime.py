"""The folder for files needed only while engines run: sockets, and locks shared by a user's engines.

Standard library only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrubjay.errors import HomeError

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    Raises:
        HomeError: it cannot be created, belongs to another user, or is open to others.
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
