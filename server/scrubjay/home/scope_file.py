"""A JSON file of a home with one entry per scope: `{"v": 1, "scopes": {scope: entry}}`."""

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from scrubjay.errors import HomeError, InputError
from scrubjay.home.files import move_aside_nonfile, parse_json
from scrubjay.home.kept import copy_of, read_kept, write_kept
from scrubjay.home.paths import Home

log = logging.getLogger("scrubjay.home.scope_file")

T = TypeVar("T")


class ScopeFile(Generic[T]):
    """One file, in memory and on disk. The engine has the only instance and is the only writer.

    `decode` turns the JSON of an entry into a value; it raises InputError, or what invalid JSON raises.
    `encode` is the reverse, and may leave times as they are.
    """

    def __init__(
        self, home: Home, path: str, *, decode: Callable[[Any], T], encode: Callable[[T], Any]
    ) -> None:
        self._home, self._path, self._encode = home, path, encode
        self._lock = threading.Lock()  # with two concurrent changes, the second must see the first
        self.scopes: Mapping[str, T] = _read(path, decode)

    async def edit(self, change: Callable[[dict[str, T]], object]) -> None:
        """Let `change` edit the entries, then write all of them to the disk, in a thread.

        Raises HomeError if the file cannot be written. In that case, and if `change` raises, nothing changes.
        """
        await asyncio.to_thread(self._edit, change)

    def _edit(self, change: Callable[[dict[str, T]], object]) -> None:
        with self._lock:
            scopes = dict(self.scopes)
            change(scopes)
            entries = {scope: self._encode(value) for scope, value in sorted(scopes.items())}
            book = {"v": 1, "scopes": entries}
            content = json.dumps(book, indent=1, default=datetime.isoformat).encode("ascii")
            try:
                write_kept(self._home, self._path, content)
            except OSError as error:
                sentence = f"{self._path} cannot be written: {error.strerror or error}."
                raise HomeError(f"{sentence} Free some space or give yourself write permission.") from error
            self.scopes = scopes


def dated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the times `created_at` and `updated_at` of some JSON values; each may be None."""
    times = {name: values[name] for name in ("created_at", "updated_at")}
    return {**values, **{name: text and datetime.fromisoformat(text) for name, text in times.items()}}


def _read(path: str, decode: Callable[[Any], T]) -> dict[str, T]:
    """Read a file, or its copy if it is missing; a damaged file is renamed to `.broken`, to block nothing."""
    if move_aside_nonfile(path):
        log.error("%s was not a file and was moved aside; it starts empty", path)
    try:
        return {scope: decode(entry) for scope, entry in parse_json(read_kept(path))["scopes"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        sentence = f"{path} cannot be read: {error.strerror or error}."
        raise HomeError(f"{sentence} Give yourself read permission.") from error
    except (ValueError, LookupError, TypeError, AttributeError, InputError) as error:
        damaged = path if os.path.exists(path) else copy_of(path)
        os.replace(damaged, damaged + ".broken")
        kind = type(error).__name__
        log.error("%s is damaged (%s) and was kept as .broken; its copy, if any, is used", damaged, kind)
        return _read(path, decode)
