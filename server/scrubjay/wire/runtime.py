"""The folder of what lives only while engines run: sockets, and locks that all engines of a user share.

Standard library only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrubjay.errors import HomeError

if TYPE_CHECKING:
    from collections.abc import Mapping


def runtime_folder(env: Mapping[str, str]) -> str:
    """Return where the runtime folder of this user belongs; touch no disk.

    It is the same for all engines of a user, so TMPDIR, which each client may set, does not count.
    """
    if runtime := env.get("XDG_RUNTIME_DIR"):
        return os.path.join(runtime, "scrubjay")
    if hasattr(os, "getuid"):  # the temporary folder is everybody's, so ours carries the user's number
        return f"/tmp/scrubjay-{os.getuid()}"
    local = env.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    return os.path.join(local, "Temp", "scrubjay")


def own_folder(folder: str) -> None:
    """Make a folder that only we can enter, or refuse an existing one that others may have made.

    Raises:
        HomeError: it cannot be made, belongs to somebody else, or is open to others.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        facts = os.lstat(folder)
    except OSError as error:
        raise HomeError(
            f"The runtime folder {folder} cannot be made: {error.strerror}. Set XDG_RUNTIME_DIR or shorten "
            "SCRUBJAY_HOME."
        ) from error
    if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o170077 != 0o040000):
        raise HomeError(
            f"The runtime folder {folder} is not yours alone. Remove it, or set XDG_RUNTIME_DIR to a folder "
            "of your own."
        )
