"""A JSON file of a home in which something is said of each scope: `{"v": 1, "scopes": {scope: …}}`. Knows how it is read, changed and
kept; does not know what is said.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home
from scrubjay.home.spool import durable_write

log = logging.getLogger("scrubjay.home.pages")

T = TypeVar("T")


class Pages(Generic[T]):
    """One file, in memory and on disk. The engine holds the only one, so nobody else changes the file meanwhile.

    Args:
        read: what JSON says of a scope, as a value; raises what wrong JSON raises, or InputError.
        spelled: the reverse.
    """

    def __init__(
        self, home: Home, path: str, *, read: Callable[[Any], T], spelled: Callable[[T], Any]
    ) -> None:
        self._home, self._path, self._spelled = home, path, spelled
        self._lock = threading.Lock()  # of two changes at once, the second sees the first
        self.scopes: Mapping[str, T] = _read(path, read)

    def edit(self, change: Callable[[dict[str, T]], object]) -> None:
        """Let `change` edit what is said; on disk when this returns, all of it or nothing.

        Raises:
            HomeError: the file cannot be written; nothing is changed then, nor where `change` raises.
        """
        with self._lock:
            scopes = dict(self.scopes)
            change(scopes)
            said = {scope: self._spelled(value) for scope, value in sorted(scopes.items())}
            try:
                durable_write(
                    self._home, self._path, json.dumps({"v": 1, "scopes": said}, indent=1).encode("ascii")
                )
            except OSError as error:
                raise HomeError(
                    f"{self._path} cannot be written: {error.strerror or error}. Free some space or give yourself write permission."
                ) from error
            self.scopes = scopes


def _read(path: str, read: Callable[[Any], T]) -> dict[str, T]:
    """What a file says. A damaged one is kept as `.broken`, so that it stops nothing."""
    try:
        with open(path, "rb") as file:
            return {scope: read(value) for scope, value in json.loads(file.read())["scopes"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise HomeError(
            f"{path} cannot be read: {error.strerror or error}. Give yourself read permission."
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError, InputError) as error:
        os.replace(path, path + ".broken")
        log.error(
            "%s is damaged (%s) and was kept as .broken; what it said begins anew", path, type(error).__name__
        )
        return {}
