"""The options of `scrubjay serve --http`: address, token, host names, origins and rate limit."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass, replace
from typing import NamedTuple

from scrubjay.errors import EngineError, InputError
from scrubjay.http_api.tokens import Token

PER_SECOND = 500.0  # stops only runaway loops: two cores answer fewer searches per second
_ORIGIN = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Address(NamedTuple):
    """Where the server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Return the address as clients write it."""
        return f"http://{self}"

    @property
    def is_loopback(self) -> bool:
        """Return True if only programs on this machine can reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback


@dataclass(frozen=True)
class Options:
    """Where and to whom HTTP is served.

    `token` is from the command line; `names` are additional host names of this server; pages of `origins`
    may read answers; `per_second` limits the average rate of one caller, where 0 means no limit.
    """

    address: Address
    token: Token | None = None
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    per_second: float = PER_SECOND

    def bind(self) -> tuple[Options, socket.socket]:
        """Return the options with the actual port, and a socket that listens there.

        Raises EngineError if another program listens there, or the machine has no such address.
        """
        host, port = self.address
        # asyncio turns Nagle's algorithm off only if the protocol is given as TCP; otherwise an answer on a
        # reused connection waits 40 ms.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()
        except OSError as error:
            listening.close()
            advice = "Give --http another port, or end what uses it."
            raise EngineError(f"{self.address} cannot be listened at: {error.strerror}. {advice}") from error
        return replace(self, address=Address(host, listening.getsockname()[1])), listening

    def check(self, tokens: int) -> None:
        """Raise InputError if other machines can reach the address, and the number of `tokens` is 0."""
        if not self.address.is_loopback and not tokens:
            raise InputError(
                f"{self.address} can be reached from other machines, so it needs a token. Make one with "
                "`scrubjay token add`, which prints its key, and start again; "
                f"or listen at 127.0.0.1:{self.address.port}."
            )


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`, or `PORT` for 127.0.0.1; an IPv6 host is in brackets, port 0 is any free one.

    Raises InputError for another form, and for a host that is a name.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise InputError(
            f"--http {text!r}: the port must be a number up to 65535. Write it as 127.0.0.1:6767."
        )
    try:
        if host != "localhost":
            ipaddress.ip_address(host)
    except ValueError:
        raise InputError(
            f"--http {text!r}: the host must be localhost or an IP address. Write it as 127.0.0.1:6767."
        ) from None
    return Address(host, int(port))


def parse_origin(text: str) -> str:
    """Parse `https://name:port`, as browsers write it in `Origin`.

    Raises InputError for anything else, such as `*`, with which every page could read memories.
    """
    origin = text.lower().removesuffix("/")
    if not _ORIGIN.fullmatch(origin):
        examples = "https://app.example.com or http://localhost:3000"
        raise InputError(f"--cors {text!r}: must be one exact origin, such as {examples}.")
    return origin


def parse_name(text: str) -> str:
    """Parse an additional host name of this server, without a port; raises InputError for another form."""
    if not text or any(character in text for character in "/:@*? "):
        raise InputError(
            f"--allow-host {text!r}: must be one name without scheme and port, such as memory.example.com."
        )
    return text.lower()
