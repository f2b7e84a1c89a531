"""On what conditions HTTP is served: where, to whom, under which names, how often. Parsed once from the command line."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from scrubjay.errors import EngineError, InputError
from scrubjay.http_api.tokens import Token

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
            raise EngineError(
                f"{self} cannot be listened at: {error.strerror}. Give --http another port, or end what uses it."
            ) from error
        return listening


def parse_address(text: str) -> Address:
    """`HOST:PORT` or `PORT` alone (of 127.0.0.1); an IPv6 host stands in brackets. Port 0 is any free one.

    Raises:
        InputError: it is not of that form, or the host is a name.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
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
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path not in ("", "/")
        or parts.query
        or parts.username
    ):
        raise InputError(
            f"--cors {text!r}: must be one exact origin, such as https://app.example.com or http://localhost:3000."
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


def parse_name(text: str) -> str:
    """A name to answer under, without a port.

    Raises:
        InputError: it is none.
    """
    if not text or any(mark in text for mark in "/:@*? "):
        raise InputError(
            f"--allow-host {text!r}: must be one name without scheme and port, such as memory.example.com."
        )
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


PER_SECOND = 500.0  # what stops a loop that ran away and nobody who works: two cores answer fewer searches a second than that
BURST_SECONDS = 2.0  # of unused allowance that a caller may spend at once
_MOST_CALLERS = 10_000  # remembered; one whose bucket is full again is like one who never came


class Rate:
    """The allowance of each caller. `per_second` 0 allows everything; `time` is a monotonic clock in seconds."""

    def __init__(self, per_second: float, time: Callable[[], float]) -> None:
        self._per_second, self._time = per_second, time
        self._burst = max(1.0, per_second * BURST_SECONDS)
        self._left: dict[str, tuple[float, float]] = {}  # caller -> (allowance, when that was)

    def wait(self, caller: str) -> float:
        """Take one allowance: 0.0, or the seconds until there is one."""
        if not self._per_second:
            return 0.0
        now = self._time()
        left = self._allowance(self._left.get(caller, (self._burst, now)), now)
        if left < 1:
            return (1 - left) / self._per_second
        if caller not in self._left and len(self._left) >= _MOST_CALLERS:
            self._left = {
                name: held for name, held in self._left.items() if self._allowance(held, now) < self._burst
            }
        self._left[caller] = (left - 1, now)
        return 0.0

    def _allowance(self, held: tuple[float, float], now: float) -> float:
        left, then = held
        return min(self._burst, left + (now - then) * self._per_second)


@dataclass(frozen=True)
class Conditions:
    """`token` came with the command line; `names` are more names of this server; pages of `origins` may read answers.

    `per_second` is how many requests one caller may make for long, 0 any number.
    """

    address: Address
    token: Token | None = None
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    per_second: float = PER_SECOND

    def bound(self) -> tuple[Conditions, socket.socket]:
        """The same with the port that was found free, and the socket that listens there.

        Raises:
            EngineError: see `Address.bind`.
        """
        listening = self.address.bind()
        port: int = listening.getsockname()[1]
        return replace(self, address=Address(self.address.host, port)), listening

    def check(self, tokens: int) -> None:
        """Refuse to listen where other machines could come in without a key.

        Raises:
            InputError: the address is not of this machine alone, and there is no token.
        """
        if not self.address.is_loopback and not tokens:
            raise InputError(
                f"{self.address} can be reached from other machines, so it needs a token. Make one with `scrubjay token add`, "
                f"which prints its key, and start again; or listen at 127.0.0.1:{self.address.port}."
            )
