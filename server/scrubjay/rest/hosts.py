"""Under which names the HTTP face answers, and pages of which origin may ask it. Knows headers; does not know tokens.

A page that somebody visits can make the browser ask a server on this machine, by a name that it lets point to 127.0.0.1 (DNS
rebinding). Such a request carries that name in `Host`, and the page's own in `Origin`; both are therefore looked at everywhere.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from scrubjay.errors import InputError
from scrubjay.rest.address import Address

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Hosts:
    """The names of one address: `localhost` and its numbers, its own, and those that the user added.

    Where other machines reach it, any number is its name too: only names can be made to point elsewhere.
    """

    def __init__(self, address: Address, more: Iterable[str] = ()) -> None:
        self._names = LOOPBACK_NAMES | {address.host, *(name.lower() for name in more)}
        self._any_number = not address.is_loopback

    def answers(self, host: str) -> bool:
        """Whether a `Host` header, with or without a port, names us."""
        name = _name(host)
        return name in self._names or (self._any_number and _is_number(name))


def is_own(origin: str, host: str) -> bool:
    """Whether an `Origin` header is of a page that this very server answered under this `Host`."""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def parse_origin(text: str) -> str:
    """`https://name:port` as a browser writes it in `Origin`.

    Raises:
        InputError: it is none; `*` is none, because any page could then read what is remembered.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        raise InputError(f"--cors {text!r}: must be one exact origin, such as https://app.example.com or http://localhost:3000.")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def parse_name(text: str) -> str:
    """A name to answer under, without a port.

    Raises:
        InputError: it is none.
    """
    if not text or any(mark in text for mark in "/:@*? "):
        raise InputError(f"--allow-host {text!r}: must be one name without scheme and port, such as memory.example.com.")
    return text.lower()


def _name(host: str) -> str:
    """`[::1]:6767` -> ::1; `LOCALHOST:6767` -> localhost."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
