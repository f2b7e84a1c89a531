"""Keeps copies of those files of a home that cannot be derived: settings, scopes, keys.

The copies are in `<home>/kept`. They show that a file was removed, and are used until it is back.
Standard library only and Python 3.9 syntax, because hooks read scopes.
"""

from __future__ import annotations

import os

from scrubjay.home.files import parse_json, read_whole, write_whole
from scrubjay.home.paths import Home
from scrubjay.home.spool import durable_write


def copy_of(path: str) -> str:
    """Return the path of the copy of a home's file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, "kept", name)


def read_kept(path: str) -> bytes:
    """Read a file, or its copy if the file is missing. Raises as `read_whole` does."""
    try:
        return read_whole(path)
    except FileNotFoundError:
        return read_whole(copy_of(path))


def write_kept(home: Home, path: str, content: bytes) -> None:
    """Write the copy of a file, then the file, so that a copy never restores an older key or setting.

    Raises OSError if the disk refuses.
    """
    write_copy(path, content)
    durable_write(home, path, content)


def write_copy(path: str, content: bytes) -> None:
    """Write the copy of a file. Raises OSError if the disk refused."""
    copy = copy_of(path)
    os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
    write_whole(copy, content)


def missing(home: Home) -> list[str]:
    """Return the paths of missing files that have a copy."""
    return [path for path in _files(home) if os.path.isfile(copy_of(path)) and not os.path.lexists(path)]


def restore(home: Home) -> list[str]:
    """Restore the `missing` files from their copies; return the paths. Raises OSError if the disk refuses."""
    paths = missing(home)
    for path in paths:
        durable_write(home, path, read_whole(copy_of(path)))
    return paths


def refresh(home: Home) -> None:
    """Copy the files, also capture.json, that have no copy or were edited; the caller checked the settings.

    Raises OSError if the disk refuses.
    """
    for path in (*_files(home), home.capture):
        try:
            content = read_whole(path)
            if path != home.config:
                parse_json(content)
        except (OSError, ValueError):  # the file is missing or damaged: keep the copy
            continue
        try:
            is_current = read_whole(copy_of(path)) == content
        except (OSError, ValueError):
            is_current = False
        if not is_current:
            write_copy(path, content)


def _files(home: Home) -> tuple[str, ...]:
    return home.config, home.scopes, home.scope_settings, home.partitions, home.tokens
