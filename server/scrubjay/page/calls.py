"""The calls that the page can make: each runs a few operations of the engine and returns JSON values."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.engine.verbs.facts import Rival, Which
from scrubjay.errors import InputError, NotFound
from scrubjay.home import given, undo
from scrubjay.home.capture import CAPTURES, INJECTIONS
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, display_name, search_scopes
from scrubjay.home.settings import Settings, change, describe, typed
from scrubjay.mcp_server import render
from scrubjay.mcp_server.calls import fitted
from scrubjay.models.fields import Name, OneScope
from scrubjay.models.records import Memory
from scrubjay.models.requests import AddMemory, Forget, Query, Reason, Request, SearchRecords, Tags, parse
from scrubjay.models.results import Restored
from scrubjay.records.exchange import values_of
from scrubjay.search.hits import as_hit
from scrubjay.search.marking import marked

SOURCE = "page"
MORE = 30  # hits, if the user also wants hits that a model would not get
PATIENCE = 0.25  # seconds that the list of sessions waits for the latest turns; it is drawn again soon
LONGEST_PART = 200_000  # characters of a document that are sent at once
MOST_AT_ONCE = 200  # records that one call may change

Ids = Annotated[list[Name], Field(min_length=1, max_length=MOST_AT_ONCE)]
Size = Annotated[int, Field(ge=1, le=200)]
Start = Annotated[int, Field(ge=0, le=1_000_000_000)]

Hosts = Callable[[], list[dict[str, Any]]]  # returns the state of each host on this machine


class Call(NamedTuple):
    """One call of the page: the engine and its opened core, and the callbacks."""

    engine: Engine
    core: Core
    report: Callable[[int, int, str], None]
    hosts: Hosts


class Listing(Request):
    """A page of the records of one project, or of all."""

    scope: str | None = None
    start: Start = 0
    size: Size = 40


class Sessions(Listing):
    host: str | None = None
    day: str | None = None  # a local date


class OneSession(Listing):
    """A part of a session, from `start` or around the turn numbered `turn`."""

    scope: str
    session_id: str
    turn: Start | None = None


class OneRecord(Request):
    id: str
    start: Start = 0


class Records(Request):
    ids: Ids
    reason: Reason | None = None


class SearchInput(Request):
    query: Query
    kinds: tuple[Literal["memory", "turn", "chunk"], ...] = ("memory", "turn", "chunk")
    scope: str | None = None
    host: str | None = None
    since: str | None = None
    until: str | None = None
    tags: Tags | None = None
    more: bool = False  # also hits that a model would not get


class TextsToMark(Request):
    query: Query
    texts: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=12)]


class Facts(Listing):
    """A page of facts, filtered by the fields that are set; a fact must contain each word of `words`."""

    which: Which = "current"
    words: Annotated[str, Field(max_length=500)] = ""
    kind: str | None = None
    tag: str | None = None
    source: str | None = None
    sort: Literal["created_at", "updated_at"] = "updated_at"


class NewFact(AddMemory):
    scope: OneScope = USER_SCOPE


class FactChange(Request):
    id: str
    content: str


class GivenLog(Listing):
    """The last `size` times that models were given memories: anywhere, in a project, or in a session."""

    session_id: str | None = None
    size: Size = 8


class TakeBack(Request):
    """Distilled facts of a project to take back; without ids, those of the last run."""

    scope: OneScope
    ids: Annotated[tuple[Name, ...], Field(max_length=MOST_AT_ONCE)] = ()


class Path(Request):
    path: str
    scope: OneScope


class Setting(Request):
    key: str
    value: str


async def _home(call: Call, _: Request) -> Any:
    """Return what the frame of the page shows: the projects and the version of the engine."""
    counts = await call.core.counts.summary()
    order = sorted(counts, key=lambda scope: (-counts[scope]["turns"], display_name(scope)))
    scopes = [{"scope": scope, "name": display_name(scope), **counts[scope]} for scope in order]
    return {"scopes": scopes, "user": USER_SCOPE, "version": call.engine.facts()["version"]}


async def _status(call: Call, _: Request) -> Any:
    return {**call.engine.facts(), **await call.core.status.report()}


async def _hosts(call: Call, _: Request) -> Any:
    """Return the state of each host on this machine, with the problems that `doctor` reports."""
    return {"hosts": await asyncio.to_thread(call.hosts)}


async def _sessions(call: Call, request: Sessions) -> Any:
    filters = request.model_dump(exclude={"scope"})
    return await call.core.sessions.overview(request.scope, **filters, patience=PATIENCE)


async def _session(call: Call, request: OneSession) -> Any:
    window = request.model_dump(include={"start", "size", "turn"})
    return await call.core.sessions.read(request.scope, request.session_id, **window)


async def _outline(call: Call, request: OneSession) -> Any:
    return await call.core.sessions.outline(request.scope, request.session_id)


async def _given(call: Call, request: GivenLog) -> Any:
    name = request.session_id and given.name_of(request.session_id)
    lines = [
        line
        for line in await asyncio.to_thread(given.read, call.engine.home)
        if request.scope in (None, line.scope) and name in (None, line.session)
    ]
    newest = [line._asdict() for line in lines[: -request.size - 1 : -1]]
    return {"results": newest, "total": len(lines), "tokens": sum(line.tokens for line in lines)}


async def _record(call: Call, request: OneRecord) -> Any:
    detail = (await call.core.lists.detail(await call.core.ids.full(request.id, None))).wire()
    if detail["kind"] == "document":
        text = detail["record"]["content"]
        detail["record"]["content"] = text[request.start : request.start + LONGEST_PART]
        detail["length"] = len(text)
    return detail


async def _search(call: Call, form: SearchInput) -> Any:
    """Search as the tool of a model does, and also return the exact text that a model would get."""
    scope = form.scope or EVERY_SCOPE
    values: dict[str, Any] = {"query": form.query, "srcs": form.kinds, "include": {"explain": True}}
    values |= form.model_dump(include={"since", "until", "tags", "host"}, exclude_none=True)
    values |= {} if form.scope else {"scope": EVERY_SCOPE}
    values |= {"top_k": MORE} if form.more else {}
    request = parse(SearchRecords, values)
    frame = render.Frame(search_scopes(request.scope, scope))
    hits = await call.core.search.recall(request, scope, measure=lambda hit: render.length(hit, frame))
    hits = await call.core.marking.marked(hits, None)
    hits, answer = fitted(hits, partial(render.memory_hits, frame=frame), render.trimmed)
    result = hits.wire()
    for hit in [*result["results"], *result["related"]]:
        hit["marked"] = marked(form.query, hit.get("memory") or hit.get("chunk") or "")
    result["tokens"]["rendered"] = -(-len(answer.text) // 4)
    return {**result, "text": answer.text}


async def _marked(call: Call, request: TextsToMark) -> Any:
    """Mark matches by word and by meaning; a separate call, because meaning takes longer than the search."""
    return {"results": await call.core.search.marked(request.query, request.texts)}


async def _facts(call: Call, request: Facts) -> Any:
    scopes = [request.scope] if request.scope else await call.core.counts.scopes()
    page = await call.core.facts.page(scopes, **request.model_dump(exclude={"scope"}))
    results = [values_of(fact) for fact in page.results]
    rivals = {fact_id: rival._asdict() for fact_id, rival in page.rivals.items()}
    return {**page._asdict(), "results": results, "rivals": rivals}


async def _alike(call: Call, request: Records) -> Any:
    """Return, by the id of a given fact, the first fact that may contradict it or says something newer."""
    rivals: dict[str, Any] = {}
    for fact in (await call.core.lists.get(Memory, request.ids)).values():
        for hit in await call.core.lists.similar_facts(fact):
            if hit.reason == "contradict" or (hit.reason == "update" and hit.date > fact.created_at):
                reason: Literal["contradict", "newer"] = "newer" if hit.reason == "update" else "contradict"
                rivals.setdefault(fact.id, Rival(hit.id, hit.memory or "", hit.date, reason)._asdict())
    return rivals


async def _keep(call: Call, request: Records) -> Any:
    await call.core.facts.keep(request.ids, SOURCE)
    return {}


async def _take_back(call: Call, request: TakeBack) -> Any:
    facts = await call.core.distilling.take_back(request.scope, request.ids, SOURCE)
    return {"ids": [fact.id for fact in facts]}


async def _fact(call: Call, request: OneRecord) -> Any:
    """Return a fact with its versions, newest first, its links, and similar facts."""
    lists = call.core.lists
    fact = await lists.find(await call.core.ids.full(request.id, None))
    if not isinstance(fact, Memory):
        raise NotFound(f"No fact has the id {request.id[:80]!r}. It may be purged.")
    newest = await lists.newest_version(fact)
    context = (await lists.links([newest], newest.scope)).get(newest.id)
    like = [] if newest.forgotten_at else await lists.similar_facts(newest)
    repeats = await lists.get(Memory, newest.alike)
    documents = await lists.cited_documents(newest.document_ids)
    mark = (await call.core.marking.marks([as_hit(newest)], None)).get(newest.id)
    return {
        "fact": values_of(newest),
        "mark": mark.wire() if mark else None,
        "versions": [values_of(older) for older in await lists.older_versions(newest)],
        "related": [link.wire() for link in context.related] if context else [],
        "like": [hit.wire() for hit in like if hit.id not in newest.alike],
        "repeats": [values_of(repeat) for repeat in repeats.values() if repeat.forgotten_at is None],
        "documents": [{"id": row.id, "title": row.title, "path": row.place} for row in documents.values()],
    }


async def _add(call: Call, request: NewFact) -> Any:
    core = call.core
    at = core.clock()
    sealed = await core.writer.seal("memory", request, scope=request.scope, source=SOURCE, at=at)
    return (await core.write(sealed)).wire()


async def _change(call: Call, request: FactChange) -> Any:
    lists = call.core.lists
    record_id = await call.core.ids.full(request.id, None)
    fact = await lists.find(record_id)
    if isinstance(fact, Memory) and (newest := await lists.newest_version(fact)).id != fact.id:
        raise InputError(
            f"Not saved: this fact got version {newest.version} meanwhile, from {newest.source}. "
            "Copy your words, reload the page, and change that version."
        )
    return (await call.core.changes.edit(record_id, request.content, SOURCE)).wire()


async def _forget(call: Call, request: Records) -> Any:
    """Forget each record, as one change that can be undone; return the ids of the changed records."""
    changed: list[str] = []
    for record_id in request.ids:
        with contextlib.suppress(NotFound):  # already gone
            forget = Forget(id=record_id, reason=request.reason)
            result = await call.core.removal.forget(forget, USER_SCOPE, SOURCE, noted=False)
            changed += result.ids if result.forgotten else []
    if changed:
        await call.core.removal.note(undo.Step("forget", changed))
    return {"ids": changed}


async def _would_purge(call: Call, request: Records) -> Any:
    """Return all records that a purge would delete, also older versions, turns, and facts of documents."""
    return {"results": [as_hit(record).wire() for record in await call.core.removal.purgeable(request.ids)]}


async def _purge(call: Call, request: Records) -> Any:
    """Purge all records at once, because each purge writes the tables again; return their ids."""
    removal = call.core.removal
    removal.refuse_purge()
    records = await removal.purgeable(request.ids)
    return {"ids": (await removal.purge(records, SOURCE)).ids if records else []}


async def _restore(call: Call, request: Records) -> Any:
    """Restore records; return the ids that were restored or are gone, and why searches still omit some."""
    results: list[Restored] = []
    gone: list[str] = []
    for record_id in request.ids:
        try:
            results.append(await call.core.removal.restore(record_id, SOURCE, noted=False))
        except InputError:  # no record has the id, or the texts of a turn were purged
            gone.append(record_id)
    restored = [result for result in results if result.restored]
    if restored:
        await call.core.removal.note(undo.Step("restore", [result.id for result in restored]))
    unseen = {result.id: result.unseen for result in restored if result.unseen}
    return {"ids": [result.id for result in restored], "gone": gone, "unseen": unseen}


async def _documents(call: Call, request: Listing) -> Any:
    scope = request.scope or EVERY_SCOPE
    return {"results": [row.wire() for row in await call.core.ingest.list_documents(scope, 2_000)]}


async def _chunks(call: Call, request: OneRecord) -> Any:
    chunks = await call.core.lists.chunks_of(request.id, start=request.start, size=50)
    results = [{"text": chunk.text, "lines": [chunk.line_start, chunk.line_end]} for chunk in chunks]
    return {"results": results}


async def _index(call: Call, request: Path) -> Any:
    options: dict[str, Any] = {"scope": request.scope, "source": SOURCE, "report": _ignore, "again": True}
    return (await call.core.ingest.run([request.path], **options)).wire()


async def _ignore(done: int, total: int, path: str) -> None:
    """The page shows no progress while it reads a file or folder again."""


async def _reindex(call: Call, _: Request) -> Any:
    return {"passages": await call.core.reindex.run(call.report)}


async def _settings(call: Call, _: Request) -> Any:
    choices = {"capture": CAPTURES, "chat_capture": CAPTURES, "inject": INJECTIONS}
    rows = []
    for key, default, description in describe():
        row = {"key": key, "default": default, "says": description, **_value(call.engine.settings, key)}
        rows.append(row | ({"choices": choices[key]} if key in choices else {}))
    return {"settings": rows, "hosts": await asyncio.to_thread(call.hosts)}


async def _set(call: Call, request: Setting) -> Any:
    """Write one setting, and return its value and whether it applies only after a restart of the engine."""
    home = call.engine.home
    settings = await asyncio.to_thread(change, home.config, request.key, request.value)
    write_capture(home, settings, call.core.clock())
    return {"restart": request.key in call.engine.reload(), **_value(settings, request.key)}


def _value(settings: Settings, key: str) -> dict[str, Any]:
    value = getattr(settings, key)
    return {"value": typed(value), **({"folders": value} if isinstance(value, tuple) else {})}


# Each call by its name: its arguments, and the function that runs it.
CALLS: dict[str, tuple[type[Request], Callable[[Call, Any], Awaitable[Any]]]] = {
    "home": (Request, _home),
    "status": (Request, _status),
    "hosts": (Request, _hosts),
    "sessions": (Sessions, _sessions),
    "session": (OneSession, _session),
    "outline": (OneSession, _outline),
    "given": (GivenLog, _given),
    "record": (OneRecord, _record),
    "search": (SearchInput, _search),
    "marked": (TextsToMark, _marked),
    "facts": (Facts, _facts),
    "fact": (OneRecord, _fact),
    "alike": (Records, _alike),
    "keep": (Records, _keep),
    "take-back": (TakeBack, _take_back),
    "add": (NewFact, _add),
    "change": (FactChange, _change),
    "forget": (Records, _forget),
    "would-purge": (Records, _would_purge),
    "purge": (Records, _purge),
    "restore": (Records, _restore),
    "documents": (Listing, _documents),
    "chunks": (OneRecord, _chunks),
    "index": (Path, _index),
    "reindex": (Request, _reindex),
    "settings": (Request, _settings),
    "set": (Setting, _set),
}
