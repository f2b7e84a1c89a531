"""Where the HTTP face listens. Knows host and port and whether others can reach them; standard library only."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from scrubjay.errors import EngineError, InputError

_BACKLOG = 128


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    def bind(self) -> socket.socket:
        """A socket that listens here.

        Raises:
            EngineError: somebody listens here already, or the machine has no such address.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio turns Nagle's algorithm off only where TCP is named; with it an answer on a kept connection waits 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self.host, self.port))
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            raise EngineError(f"{self} cannot be listened at: {error.strerror}. Give --http another port, or end what uses it.") from error
        return listening


def parse_address(text: str) -> Address:
    """`HOST:PORT` or `PORT` alone (of 127.0.0.1); an IPv6 host stands in brackets. Port 0 is any free one.

    Raises:
        InputError: it is not of that form, or the host is a name.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InputError(f"--http {text!r}: the port must be a number up to 65535. Write it as 127.0.0.1:6767.")
    try:
        if host != "localhost":
            ipaddress.ip_address(host)
    except ValueError:
        raise InputError(f"--http {text!r}: the host must be localhost or an IP address. Write it as 127.0.0.1:6767.") from None
    return Address(host, int(port))
