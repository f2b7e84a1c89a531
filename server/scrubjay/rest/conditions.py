"""On what conditions HTTP is served: where, to whom, under which names, how often. Parsed once from the command line."""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace

from scrubjay.errors import InputError
from scrubjay.rest.address import Address
from scrubjay.rest.rate import PER_SECOND
from scrubjay.rest.tokens import Token


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
