"""The engine's answer to a client's hello."""

import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple

from scrubjay.wire.hello import PROTOCOL, Hello, is_newer

_CLIENT_VARIABLES = {"SCRUBJAY_SCOPE"}  # these belong in the environment of a client


class Identity(NamedTuple):
    """An engine's description of itself."""

    version: str
    pid: int
    auto: bool  # started by a pipe: ends when idle, and makes room for a newer engine
    home: list[int]  # see `lock.identity`: an address may belong to another home
    protocol: int = PROTOCOL

    def fields(self, *, ready: bool) -> dict[str, Any]:
        """Return the part of an engine's hello that does not depend on the client."""
        return {**self._asdict(), "kind": "engine", "ready": ready, "beats": True}


class Greeting(NamedTuple):
    """The answer to one hello, as the fields of a line, and its consequences."""

    fields: dict[str, Any]
    accepted: bool
    make_room: bool = False  # the client asked this engine to finish


def greet(hello: Hello, me: Identity, *, ready: bool, token: str | None, env: Mapping[str, str]) -> Greeting:
    """Answer a hello with the version of this engine, so that a newer client may replace it.

    `token` is what a client on a loopback port must send; None on a Unix socket, which has permissions. `env`
    has the engine's own SCRUBJAY_* variables, for comparison with the client's.
    """
    fields = me.fields(ready=ready)
    if token is not None and not hmac.compare_digest((hello.token or "").encode(), token.encode()):
        why = "This port belongs to the Scrubjay engine of another user, or its token file is out of date."
        return _refusal(fields, why, retry=True)
    if hello.replace and me.auto:
        why = f"The engine {me.version} is finishing to make room."
        return _refusal(fields, why, retry=True, make_room=True)
    if hello.replace:
        why = f"The engine {me.version} (pid {me.pid}) was started by hand, so it keeps running."
        return _refusal(fields, f"{why} Stop it where it was started.")
    client, engine = f"client {hello.version}", f"engine {me.version} (pid {me.pid})"
    where = hello.project_dir or hello.cwd
    if hello.protocol < me.protocol:
        advice = "Upgrade the scrubjay that this client starts."
        return _refusal(fields, f"The {client} registered for {where} is too old for the {engine}. {advice}")
    if hello.protocol > me.protocol:
        advice = "Restart it, upgraded."
        return _refusal(fields, f"The {engine} is too old for the {client} of {where}. {advice}")
    return Greeting({**fields, "notices": _notices(hello, me, env)}, True)


def _refusal(
    fields: dict[str, Any], sentence: str, *, retry: bool = False, make_room: bool = False
) -> Greeting:
    return Greeting({**fields, "error": sentence, "retry": retry}, False, make_room)


def _notices(hello: Hello, me: Identity, env: Mapping[str, str]) -> list[str]:
    """Return notices for the client's user, about ignored settings or an engine that cannot be replaced."""
    notices = []
    other = {name for name, value in hello.env.items() if env.get(name) != value}
    if ignored := sorted(other - _CLIENT_VARIABLES):
        what = f"{', '.join(ignored)} has no effect here: one engine serves all clients."
        notices.append(f"{what} Use `scrubjay config` instead.")
    if is_newer(hello.version, me.version) and not me.auto:
        what = f"The engine (pid {me.pid}) is version {me.version} and was started by hand"
        notices.append(f"{what}; restart it to use {hello.version}.")
    return notices
