"""The interfaces of hooks and of the command line: JSON lines over the engine's socket.

A hook sends one event and leaves. The command line calls methods: {"id", "method", "params"} -> {"id",
"result" | "error" | "progress"}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

from scrubjay.engine.engine import Engine
from scrubjay.engine.process.connection import Connection
from scrubjay.errors import EngineError, InputError, NotFound, ScrubjayError
from scrubjay.home import openings
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, write_scope
from scrubjay.models.kept import KeptFacts, KeptMemoryFiles, KeptSessions
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.models.requests import (
    AddMemory,
    AskProfile,
    Commits,
    DocumentText,
    Forget,
    Request,
    Restore,
    SearchDocuments,
    SearchMemories,
    parse,
)
from scrubjay.models.results import Hit, Ingested, Result

if TYPE_CHECKING:
    from scrubjay.engine.core import Core

SOURCE = "cli"
# Methods that are cancelled when their client leaves; a reindex goes on without it until the engine ends, and
# after a restart.
_DEPARTURES: dict[str, Callable[[Connection], Awaitable[None]]] = {
    **dict.fromkeys(("index", "export", "import"), Connection.ended),
    "reindex": Connection.abandoned,
}

_KINDS: dict[str, type[AnyRecord]] = {"facts": Memory, "turns": Turn, "documents": Document}
_TURNS_AT_ONCE = 100  # the most turns of a session in one answer

Finish = Callable[[str], None]
OpenPage = Callable[[], Awaitable[str]]  # returns a link to the page, and starts serving it
Report = Callable[..., None]  # (done, total, current step)
R = TypeVar("R", bound=Request)


async def serve_hook(engine: Engine, connection: Connection) -> None:
    """Process the events of one client of kind `hook`.

    The client does not wait for answers, so nothing that it sent may be lost when it disconnects.
    """
    async for line in connection:
        event = _parsed_object(line)
        core, answer = await engine.core(), None
        match event.get("event"):
            case "drain":
                await core.writer.drain()
            case "opening":
                opening = await core.search.opening(event, engine.scope_of(connection.hello) or USER_SCOPE)
                answer = {field: getattr(opening, field) for field in ("text", *openings.COUNTS)}
            case "inject":
                scope = engine.scope_of(connection.hello) or USER_SCOPE
                answer = {"text": await core.search.injection(event, scope)}
        if answer is not None:
            await connection.write_line(json.dumps(answer))


async def serve_cli(engine: Engine, finish: Finish, open_page: OpenPage, connection: Connection) -> None:
    """Answer the calls of one client of kind `cli`, one after another."""
    async for line in connection:
        message = _parsed_object(line)
        call_id, name = message.get("id"), message.get("method")
        key = ("cli", call_id)
        connection.begin(key, str(name))

        def progress(done: int, total: int, what: str = "", call_id: Any = call_id) -> None:
            connection.say({"id": call_id, "progress": {"done": done, "total": total, "what": what}})

        answer: dict[str, Any]
        try:
            folder = connection.hello.project_dir or connection.hello.cwd
            call = Call(message.get("params") or {}, engine.scope_of(connection.hello), progress, folder)
            if name == "finish":
                finish("asked by the command line")
                answer = {"result": {}}
            elif name == "open":
                answer = {"result": {"link": await open_page()}}
            else:
                work = _result(engine, name, call)
                if name in _DEPARTURES:
                    work = _unless_left(_DEPARTURES[name](connection), work)
                answer = {"result": await work}
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            advice = "Free disk space, or check the permissions there, and try again."
            answer = {"error": {"message": f"The disk refused: {error.strerror or error}{where}. {advice}"}}
        except ScrubjayError as error:
            answer = {"error": {"message": str(error), "kind": type(error).__name__}}
        except _ClientLeft:
            return
        except Exception as error:
            # Last resort: the user gets a sentence, and the connection stays open.
            answer = {"error": {"message": engine.report_bug(str(name), error)}}
        finally:
            connection.end(key)
        await connection.write_line(json.dumps({"id": call_id, **answer}))


class Call(NamedTuple):
    """One call of the command line: its arguments, its client's project (or None), progress and folder."""

    params: dict[str, Any]
    project_scope: str | None
    progress: Report
    folder: str

    @property
    def client_scope(self) -> str:
        """The client's default scope: its project, or the user's own scope outside a project."""
        return self.project_scope or USER_SCOPE

    @property
    def scope(self) -> str:
        """The scope to read: the one that the call names, or else its client's."""
        return self.params.get("scope") or self.client_scope

    @property
    def one_scope(self) -> str | None:
        """The scope to read, or None for every scope."""
        return None if self.scope == EVERY_SCOPE else self.scope

    @property
    def path(self) -> str:
        """The absolute path that the call names."""
        path = self.params.get("path")
        if not isinstance(path, str) or not os.path.isabs(path):
            raise InputError("path must be the absolute path of a file or folder.")
        return path

    def request(self, kind: type[R]) -> R:
        """Return the call's arguments as a request."""
        return parse(kind, self.params)

    def last(self, default: int, maximum: int) -> int:
        """Return the requested length of a list."""
        last = self.params.get("last", default)
        if not isinstance(last, int) or not 1 <= last <= maximum:
            raise InputError(f"last = {last!r}: must be a whole number from 1 to {maximum:,}.")
        return last


async def _status(engine: Engine, call: Call) -> dict[str, Any]:
    """Return the status. `wait` waits until loading is over, `brief` leaves out the counts."""
    if call.params.get("wait") is True:
        await engine.loaded()
    is_brief = call.params.get("brief") is True
    if engine.failure is not None and not is_brief:
        with contextlib.suppress(ScrubjayError):
            await engine.core()  # tries again, because the cause may be gone
    facts = {**engine.facts(), "scope": call.project_scope, "busy": engine.busy}
    if is_brief or not engine.ready or engine.failure is not None:
        return facts
    return {**facts, **await (await engine.core()).status.report()}


async def _request(core: Core, call: Call, kind: type[R]) -> R:
    """Return the call's arguments as a request, with full ids."""
    return await core.ids.with_full_ids(call.request(kind), call.client_scope)


async def _show(core: Core, call: Call) -> Result:
    """Return the record with an id, or else the session with that id, with its turns from `start`."""
    short_id = str(call.params.get("id"))
    record_id = await core.ids.full(short_id, call.client_scope)
    if await core.lists.find(record_id) is None:
        with contextlib.suppress(NotFound):
            scope, session_id = await core.ids.session(short_id)
            start = int(call.params.get("start", 0))
            return await core.sessions.read(scope, session_id, start=start, size=_TURNS_AT_ONCE)
    return await core.lists.detail(record_id)


async def _list(core: Core, call: Call) -> list[Hit]:
    """Return the newest records of a scope or a session. Documents do not belong to a session."""
    kinds = [_KINDS[name] for name in call.params.get("kinds", _KINDS)]
    scope, session_id = call.scope, None
    if (session := call.params.get("session")) is not None:
        scope, session_id = await core.ids.session(str(session))
        kinds = [kind for kind in kinds if kind is not Document]
    last, among = call.last(10, maximum=1_000), await _ids_on_branch(core, call)
    return await core.lists.latest(last, scope, kinds=kinds, session_id=session_id, among=among)


async def _sessions(core: Core, call: Call) -> dict[str, Any]:
    overview = await core.sessions.overview(call.one_scope, start=0, size=call.last(20, maximum=1_000))
    return overview.model_dump(mode="json", include={"results", "total", "behind"})


async def _tags(core: Core, call: Call) -> dict[str, int]:
    return dict((await core.counts.tags(call.one_scope)).most_common())


async def _edit(core: Core, call: Call) -> Result:
    record_id = await core.ids.full(str(call.params.get("id")), call.client_scope)
    return await core.changes.edit(record_id, str(call.params.get("content")), SOURCE)


async def _search(core: Core, call: Call) -> Result:
    among = await _ids_on_branch(core, call)
    request = await _request(core, call, SearchMemories)
    return await core.search.memories(request, call.client_scope, folder=call.folder, among=among)


async def _ids_on_branch(core: Core, call: Call) -> tuple[str, ...] | None:
    """Return the ids of the records that were made on the branch that a call names; None without a branch."""
    if (branch := call.params.pop("branch", None)) is None:
        return None
    if not (ids := await asyncio.to_thread(core.book.on_branch, str(branch))):
        raise NotFound(f"No turn or fact is from a branch {str(branch)[:100]!r}.")
    return tuple(ids)


async def _why(core: Core, call: Call) -> Result:
    place = call.params.get("place")
    if not isinstance(place, str) or not place.strip():
        raise InputError("place must be a path, with a line or a symbol after a colon if wanted.")
    return await core.why.reasons_for(place, call.folder, call.client_scope, call.last(10, maximum=100))


async def _search_documents(core: Core, call: Call) -> Result:
    return await core.search.documents(await _request(core, call, SearchDocuments), call.client_scope)


async def _forget(core: Core, call: Call) -> Result:
    # With `noted` false, `undo` cannot bring the records back: a command removes what it created itself.
    noted = call.params.pop("noted", True) is not False
    request = await _request(core, call, Forget)
    return await core.removal.forget(request, call.client_scope, SOURCE, noted=noted)


async def _restore(core: Core, call: Call) -> Result:
    return await core.removal.restore((await _request(core, call, Restore)).id, SOURCE)


async def _add(core: Core, call: Call) -> Result:
    request = await _request(core, call, AddMemory)
    return await _write(core, "memory", request, write_scope(request.scope, call.project_scope))


async def _add_document(core: Core, call: Call) -> Result:
    return await _write(core, "document", call.request(DocumentText), write_scope(None, call.project_scope))


async def _write(core: Core, kind: Literal["memory", "document"], request: Request, scope: str) -> Result:
    sealed = await core.writer.seal(kind, request, scope=scope, source=SOURCE, at=core.clock())
    return await core.write(sealed)


async def _index(core: Core, call: Call) -> Ingested:
    """Update the documents of files, folders and commits: {paths, scope?, again?, hidden?, commits?}."""
    paths = call.params.get("paths")
    if not isinstance(paths, list) or not paths or not all(map(_is_absolute, paths)):
        raise InputError("paths must be a list of absolute paths of files and folders.")

    async def report(done: int, total: int, path: str) -> None:
        call.progress(done, total, os.path.basename(path))

    again, hidden = (call.params.get(name) is True for name in ("again", "hidden"))
    commits = call.params.get("commits", "root")
    if commits not in get_args(Commits):
        raise InputError(f"commits = {commits!r}: must be one of {', '.join(get_args(Commits))}.")
    scope = write_scope(call.params.get("scope"), call.project_scope)
    options = {"again": again, "hidden": hidden, "commits": commits}
    return await core.ingest.run(paths, scope=scope, source=SOURCE, report=report, **options)


def _is_absolute(path: object) -> bool:
    return isinstance(path, str) and os.path.isabs(path)


async def _export(core: Core, call: Call) -> Result:
    """Export a scope, or everything, into a file: {path, scope?}. The path is absolute."""
    scope = call.one_scope if call.params.get("scope") else None
    return await core.exchange.export(call.path, scope, call.progress)


async def _backup(core: Core, call: Call) -> Result:
    loop = asyncio.get_running_loop()  # the copy runs in a thread, but the connection belongs to the loop

    def report(done: int, total: int) -> None:
        loop.call_soon_threadsafe(call.progress, done, total)

    return await core.backup.make(call.path, report)


async def _profile(core: Core, call: Call) -> Result:
    request = call.request(AskProfile)
    return await core.search.profile(request.scope or call.client_scope, request.max_tokens)


async def _reindex(core: Core, call: Call) -> dict[str, int]:
    return {"passages": await core.reindex.run(call.progress)}


async def _mend(core: Core, call: Call) -> dict[str, Any]:
    mended = await core.mending.mend()
    await core.writer.try_settle()  # writes that waited because of the damage
    return mended


async def _merge_scopes(core: Core, call: Call) -> dict[str, int]:
    return {"moved": await core.scopes.merge(str(call.params.get("old")), str(call.params.get("new")))}


async def _review(core: Core, call: Call) -> list[Any]:
    """Return the distilled facts of a scope, or those in `ids`; `undo` takes them, or the last run, back."""
    ids = [await core.ids.full(str(each), call.client_scope) for each in call.params.get("ids") or ()]
    if not call.params.get("undo"):
        return await core.distilling.facts(call.scope, ids)
    return await core.distilling.take_back(call.scope, ids, SOURCE)


METHODS: dict[str, Callable[[Core, Call], Awaitable[Any]]] = {
    "show": _show,
    "export": _export,
    "import": lambda core, call: core.exchange.load(call.path, SOURCE, call.progress),
    "backup": _backup,
    "index": _index,
    "add_document": _add_document,
    "documents": lambda core, call: core.ingest.list_documents(call.scope, call.last(20, maximum=100_000)),
    "left_out": lambda core, call: core.ingest.left_out(call.scope),
    "scopes": lambda core, call: core.counts.summary(),
    "list": _list,
    "sessions": _sessions,
    "tags": _tags,
    "search": _search,
    "why": _why,
    "search_documents": _search_documents,
    "add": _add,
    "forget": _forget,
    "restore": _restore,
    "review": _review,
    "effect": lambda core, call: core.effects.measure(),
    "edit": _edit,
    "undo": lambda core, call: core.changes.undo(SOURCE),
    "profile": _profile,
    "record_sessions": lambda core, call: core.past.record(call.request(KeptSessions).sessions),
    "import_facts": lambda core, call: core.past.add(call.request(KeptFacts).facts),
    "import_memories": lambda core, call: core.past.memories(call.request(KeptMemoryFiles)),
    "reindex": _reindex,
    "examine": lambda core, call: core.mending.report(),
    "mend": _mend,
    "merge_scopes": _merge_scopes,
}


async def _result(engine: Engine, name: Any, call: Call) -> Any:
    if name == "status":
        return await _status(engine, call)
    if name == "reload":  # reads config.toml; returns the settings that only a new engine will use
        return {"restart": engine.reload()}
    if name not in METHODS:
        raise EngineError(f"This engine has no method {name!r}. It may be older than your command line.")
    result = await METHODS[name](await engine.core(), call)
    if isinstance(result, list):
        return [each.wire() for each in result]
    return result.wire() if isinstance(result, Result) else result


class _ClientLeft(Exception):
    """The client disconnected before its answer was ready."""


async def _unless_left(departs: Awaitable[None], work: Awaitable[Any]) -> Any:
    """Return the result of the work; cancel it when the client departs, as an interrupted command does."""
    task, departure = asyncio.ensure_future(work), asyncio.ensure_future(departs)
    try:
        await asyncio.wait({task, departure}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait({task})
        raise _ClientLeft
    finally:
        task.cancel()
        departure.cancel()


def _parsed_object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}
