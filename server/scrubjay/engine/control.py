"""The faces of hooks and of the command line: JSON lines over the engine's socket.

A hook says one event and leaves. The command line calls methods: {"id", "method", "params"} -> {"id", "result" | "error" | "progress"}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from scrubjay.engine.engine import Engine
from scrubjay.engine.process.connection import Connection
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import (
    AddMemory,
    AskProfile,
    DocumentText,
    Forget,
    Restore,
    SearchMemories,
    parse,
)

log = logging.getLogger("scrubjay.engine.control")

Finish = Callable[[str], None]
Report = Callable[..., None]  # (done, total, what is in hand)
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
            case "profile":
                await connection.write_line(
                    json.dumps({"text": await core.search.opening(event, engine.scope_of(connection.hello))})
                )
            case "inject":
                text = await core.search.injection(event, engine.scope_of(connection.hello))
                await connection.write_line(json.dumps({"text": text}))


async def serve_cli(engine: Engine, finish: Finish, connection: Connection) -> None:
    """Answer one client of kind `cli`, one call after another."""
    scope = engine.scope_of(connection.hello)
    async for line in connection:
        call = _object(line)
        id, name = call.get("id"), call.get("method")
        key = ("cli", id)
        connection.begin(key, str(name))

        def progress(done: int, total: int, what: str = "", id: Any = id) -> None:
            connection.say({"id": id, "progress": {"done": done, "total": total, "what": what}})

        try:
            if name == "finish":
                finish("asked by the command line")
                answer: dict[str, Any] = {"result": {}}
            elif name in METHODS:
                work = METHODS[name](engine, scope, call.get("params") or {}, progress)
                answer = {
                    "result": await (_while_there(connection, work) if name in _INTERRUPTIBLE else work)
                }
            else:
                answer = {
                    "error": {
                        "message": f"This engine knows no method {name!r}. It may be older than your command line."
                    }
                }
        except (ScrubjayError, OSError) as error:
            answer = {"error": {"message": str(error), "kind": type(error).__name__}}
        except _Left:
            return
        except (
            Exception
        ) as error:  # the outermost edge: who typed the command gets a sentence, and the connection stays
            answer = {"error": {"message": engine.unforeseen(str(name), error)}}
        finally:
            connection.end(key)
        await connection.write_line(json.dumps({"id": id, **answer}))


class _Left(Exception):
    """The client went away before its answer was there."""


async def _while_there(connection: Connection, work: Awaitable[Any]) -> Any:
    """What the work gives; it is cancelled when the client leaves, which is how a person interrupts a command."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(connection.ended())
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        doing.cancel()
        await asyncio.wait({doing})
        raise _Left
    finally:
        doing.cancel()
        leaving.cancel()


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
    return {**facts, **await (await engine.core()).status.report()}


async def _scopes(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """How many turns, memories and documents each scope holds."""
    return await (await engine.core()).counts.summary()


async def _list(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    last, wanted = params.get("last", 10), params.get("scope")
    if not isinstance(last, int) or not 1 <= last <= 1000:
        raise InputError(f"last = {last!r}: must be a whole number from 1 to 1000.")
    hits = await (await engine.core()).lists.latest(last, wanted or scope)
    return [hit.wire() for hit in hits]


async def _search(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).search.memories(parse(SearchMemories, params), scope)).wire()


async def _add(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    request = parse(AddMemory, params)
    made = envelope("memory", request, scope=request.scope or scope, source="cli", at=engine.clock())
    return (await (await engine.core()).write(made)).wire()


async def _forget(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).removal.forget(parse(Forget, params), scope, "cli")).wire()


async def _restore(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).removal.restore(parse(Restore, params).id, "cli")).wire()


async def _profile(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    request = parse(AskProfile, params)
    return (await (await engine.core()).search.profile(request.scope or scope, request.max_tokens)).wire()


async def _reindex(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return {"passages": await (await engine.core()).reindex.run(progress)}


async def _reload(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """Read config.toml again; says which settings need another engine to take effect."""
    return {"restart": engine.reload()}


async def _merge_scopes(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return {"moved": await (await engine.core()).scopes.merge(str(params.get("old")), str(params.get("new")))}


async def _index(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """Bring the documents of files and folders up to date: {paths, scope?, again?}, paths absolute."""
    paths = params.get("paths")
    if (
        not isinstance(paths, list)
        or not paths
        or not all(isinstance(path, str) and os.path.isabs(path) for path in paths)
    ):
        raise InputError("paths must be a list of absolute paths of files and folders.")

    async def report(done: int, total: int, path: str) -> None:
        progress(done, total, os.path.basename(path))

    core = await engine.core()
    again = params.get("again") is True
    return (
        await core.ingest.run(
            paths, scope=params.get("scope") or scope, source="cli", report=report, again=again
        )
    ).wire()


async def _add_document(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    request = parse(DocumentText, params)
    stamped = partial(envelope, "document", request, scope=scope, source="cli", at=engine.clock())
    return (await (await engine.core()).write(await asyncio.to_thread(stamped))).wire()


async def _documents(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    last = params.get("last", 20)
    if not isinstance(last, int) or not 1 <= last <= 100_000:
        raise InputError(f"last = {last!r}: must be a whole number from 1 to 100,000.")
    return [
        each.wire()
        for each in await (await engine.core()).ingest.list_documents(params.get("scope") or scope, last)
    ]


async def _show(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).lists.detail(str(params.get("id")))).wire()


async def _export(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    """Everything recorded into a file: {path, scope?}, the path absolute; without a scope, that of all scopes."""
    wanted = None if params.get("scope") in (None, EVERY_SCOPE) else str(params["scope"])
    return (await (await engine.core()).exchange.export(_path(params), wanted, progress)).wire()


async def _import(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    return (await (await engine.core()).exchange.load(_path(params), "cli", progress)).wire()


async def _backup(engine: Engine, scope: str, params: dict[str, Any], progress: Report) -> Any:
    loop = asyncio.get_running_loop()  # the copy is made in a thread, the connection lives here
    core = await engine.core()

    def report(done: int, total: int) -> None:
        loop.call_soon_threadsafe(progress, done, total)

    return (await core.backup.make(_path(params), report)).wire()


def _path(params: dict[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not os.path.isabs(path):
        raise InputError("path must be the absolute path of a file or folder.")
    return path


_INTERRUPTIBLE = frozenset(
    {"index", "export", "import"}
)  # what ends with its caller; a reindex that has begun is better finished
METHODS: dict[str, Method] = {
    "show": _show,
    "export": _export,
    "import": _import,
    "backup": _backup,
    "index": _index,
    "add_document": _add_document,
    "documents": _documents,
    "status": _status,
    "scopes": _scopes,
    "list": _list,
    "search": _search,
    "add": _add,
    "forget": _forget,
    "restore": _restore,
    "profile": _profile,
    "reindex": _reindex,
    "reload": _reload,
    "merge_scopes": _merge_scopes,
}
