"""The faces of hooks and of the command line: JSON lines over the engine's socket.

A hook says one event and leaves. The command line calls methods: {"id", "method", "params"} -> {"id", "result" | "error" | "progress"}.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from scrubjay.engine.connection import Connection
from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.models.requests import AddMemory, Forget, SearchMemories, parse
from scrubjay.writes import envelope

log = logging.getLogger("scrubjay.control")

Finish = Callable[[str], None]
Report = Callable[[int, int], None]
Method = Callable[[Engine, str, dict[str, Any], Report], Awaitable[Any]]


async def serve_hook(engine: Engine, connection: Connection) -> None:
    """Hear one client of kind `hook`. It does not wait, so nothing it asks for is lost with it."""
    async for line in connection:
        event = _object(line)
        core = await engine.core()
        match event.get("event"):
            case "drain":
                await core.writer.drain()
            case "session_start":
                await core.writer.drain()
                core.completion.reconcile(event)
            case "inject":
                text = await core.injection(event, engine.scope_of(connection.hello))
                await connection.write_line(json.dumps({"text": text}))


async def serve_cli(engine: Engine, finish: Finish, connection: Connection) -> None:
    """Answer one client of kind `cli`, one call after another."""
    scope = engine.scope_of(connection.hello)
    async for line in connection:
        call = _object(line)
        id, name = call.get("id"), call.get("method")
        key = ("cli", id)
        connection.begin(key, str(name))

        def progress(done: int, total: int, id: Any = id) -> None:
            connection.say({"id": id, "progress": {"done": done, "total": total}})

        try:
            if name == "finish":
                finish("asked by the command line")
                answer: dict[str, Any] = {"result": {}}
            elif name in METHODS:
                answer = {"result": await METHODS[name](engine, scope, call.get("params") or {}, progress)}
            else:
                answer = {"error": {"message": f"This engine knows no method {name!r}. It may be older than your command line."}}
        except (ScrubjayError, OSError) as error:
            answer = {"error": {"message": str(error), "kind": type(error).__name__}}
        finally:
            connection.end(key)
        await connection.write_line(json.dumps({"id": id, **answer}))


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


async def _status(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """What can be said at once; with `wait`, what can be said when loading is over."""
    if params.get("wait") is True:
        await engine.loaded()
    facts = {**engine.facts(), "scope": scope, "busy": engine.busy}
    if not engine.ready or engine.failure is not None:
        return facts
    return {**facts, **await (await engine.core()).status()}


async def _scopes(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """How many turns, memories and documents each scope holds."""
    return await (await engine.core()).counts()


async def _list(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    last, wanted = params.get("last", 10), params.get("scope")
    if not isinstance(last, int) or not 1 <= last <= 1000:
        raise InputError(f"last = {last!r}: must be a whole number from 1 to 1000.")
    hits = await (await engine.core()).latest(last, wanted or scope)
    return [hit.wire() for hit in hits]


async def _search(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).search_memories(parse(SearchMemories, params), scope)).wire()


async def _add(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    request = parse(AddMemory, params)
    made = envelope("memory", request, id=uuid4().hex, scope=request.scope or scope, source="cli", at=engine.clock())
    return (await (await engine.core()).write(made)).wire()


async def _forget(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    request = parse(Forget, params)
    made = envelope("forget", request, id=uuid4().hex, scope=scope, source="cli", at=engine.clock())
    return (await (await engine.core()).write(made)).wire()


async def _reindex(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return {"passages": await (await engine.core()).reindex(progress)}


async def _reload(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """Read config.toml again; says which settings need another engine to take effect."""
    return {"restart": engine.reload()}


async def _merge_scopes(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return {"moved": await (await engine.core()).merge_scopes(str(params.get("old")), str(params.get("new")))}


METHODS: dict[str, Method] = {
    "status": _status,
    "scopes": _scopes,
    "list": _list,
    "search": _search,
    "add": _add,
    "forget": _forget,
    "reindex": _reindex,
    "reload": _reload,
    "merge_scopes": _merge_scopes,
}
