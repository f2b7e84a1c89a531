"""Installations that tests need: each in a folder of the user's cache, once for all runs and all workers."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from scrubjay.wire.lock import FileLock

INSTALL_SECONDS = 300


def installation(
    name: str, identity: bytes, install: Callable[[Path], None], unpack: Path | None = None
) -> Path:
    """The folder with the installation that `identity` describes.

    The first caller installs and concurrent ones wait; a marker file records success. The files of `unpack`
    are updated in it each time.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scrubjay-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{name}-{hashlib.sha256(identity).hexdigest()[:16]}"
    with FileLock(f"{folder}.lock") as lock:
        assert lock.acquire(2 * INSTALL_SECONDS), f"{folder} is being installed for too long"
        mark = folder / "complete"
        if unpack is not None:
            shutil.copytree(unpack, folder, copy_function=_copy_if_changed, dirs_exist_ok=True)
        if not mark.exists():
            install(folder)
            mark.touch()
    return folder


def _copy_if_changed(source: str, target: str) -> str:
    """Copy as `shutil.copy2` does, except for an unchanged file, which another worker may be running."""
    new = Path(source).read_bytes()
    if not os.path.exists(target) or Path(target).read_bytes() != new:
        shutil.copy2(source, f"{target}.new")
        os.replace(f"{target}.new", target)
    return target
