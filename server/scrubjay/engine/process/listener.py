"""The socket on which an engine waits for its clients, accessible to its owner only.

Only the holder of the engine's lock may call `listen`, which removes the files of an earlier engine at the
same path.
"""

import contextlib
import hashlib
import os
import secrets
import socket
from typing import Any, NamedTuple

from scrubjay.errors import HomeError
from scrubjay.home.paths import SOCKET_PATH_LIMIT, Home
from scrubjay.wire.address import HAS_UNIX_SOCKETS, make_private_folder, runtime_folder, token_path

_BACKLOG = 128  # clients that may connect at once; a machine that wakes up with 20 editors open sends 20


class Listener(NamedTuple):
    """An open socket, its entry in `engine.json`, and the files to remove when it closes."""

    socket: socket.socket
    facts: dict[str, Any]
    token: str | None
    files: tuple[str, ...]

    def close(self, *, remove_files: bool = True) -> None:
        """Stop listening. Clients that were not accepted yet see the end of the connection and retry."""
        self.socket.close()
        if remove_files:
            _remove(*self.files)


def listen(home: Home, env: dict[str, str], *, loopback: bool = not HAS_UNIX_SOCKETS) -> Listener:
    """Listen on a Unix socket, or with `loopback` (always on Windows) on a port with a token."""
    return _on_loopback(home) if loopback else _on_path(home, env)


def _on_path(home: Home, env: dict[str, str]) -> Listener:
    path = socket_path(home, env)
    _make_room(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o177)  # the socket is created with 0600, so that others can never connect
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        advice = "Set SCRUBJAY_HOME to a folder on a local disk."
        raise HomeError(f"No socket can be created at {path}: {error.strerror}. {advice}") from error
    finally:
        os.umask(previous)
    listener.listen(_BACKLOG)
    return Listener(listener, {"socket": path}, None, (path,))


def _on_loopback(home: Home) -> Listener:
    token = secrets.token_urlsafe(32)
    path = token_path(home)
    _make_room(path)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(token)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    return Listener(listener, {"address": list(listener.getsockname()), "token_file": path}, token, (path,))


def _make_room(path: str) -> None:
    """Remove the file of an earlier engine at our path; move a folder away, because no engine made it."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            os.rename(path, f"{path}.{secrets.token_hex(4)}")
        _remove(path)
    except OSError as error:
        sentence = f"The engine's path {path} is taken: {error.strerror}."
        raise HomeError(f"{sentence} Move it away.") from error


def _remove(*paths: str) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def socket_path(home: Home, env: dict[str, str]) -> str:
    """Return the path of the Unix socket: in the home, or if that is too long, in a runtime folder.

    Raises:
        HomeError: the runtime folder belongs to another user or is open to others.
    """
    if len(os.fsencode(home.socket)) <= SOCKET_PATH_LIMIT:
        return home.socket
    name = hashlib.sha256(os.fsencode(home.root)).hexdigest()[:16]
    folder = runtime_folder(env)
    path = os.path.join(folder, f"{name}.sock")
    if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
        problem = f"No socket is possible: both {home.socket} and {path} are over {SOCKET_PATH_LIMIT} bytes."
        raise HomeError(f"{problem} Shorten SCRUBJAY_HOME.")
    make_private_folder(folder)
    return path
