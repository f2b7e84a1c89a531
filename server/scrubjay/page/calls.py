"""The page's calls to an engine: each uses one of its operations, or a few, and answers in JSON values."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.engine.verbs.facts import Rival
from scrubjay.errors import InputError, NotFound
from scrubjay.home import given
from scrubjay.home.capture import CAPTURES, INJECTIONS
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, display_name, search_scopes
from scrubjay.home.settings import change, describe, typed, write_capture
from scrubjay.mcp_server import render
from scrubjay.mcp_server.calls import fitted
from scrubjay.models.records import Memory
from scrubjay.models.requests import (
    Forget,
    Request,
    SearchRecords,
    parse,
)
from scrubjay.models.results import Hit, Restored
from scrubjay.page.arguments import (
    Asked,
    AskedGiven,
    ChangedFact,
    Facts,
    Marked,
    NewFact,
    OneRecord,
    OneSession,
    Path,
    Records,
    Scoped,
    Sessions,
    Setting,
    TakenBack,
)
from scrubjay.records.exchange import values_of
from scrubjay.search.hits import as_hit
from scrubjay.search.marking import marked

SOURCE = "page"
MORE = 30  # hits, including those that a model would not be shown
LONGEST_STRETCH = 200_000  # characters of a document sent at once

Report = Callable[[int, int, str], None]
Hosts = Callable[[], list[dict[str, Any]]]  # returns the state of each host on this machine
R = TypeVar("R", bound=Request)


class Call(NamedTuple):
    """One call: the engine, its opened core, its arguments, and its callbacks."""

    engine: Engine
    core: Core
    params: Mapping[str, Any]
    report: Report
    hosts: Hosts

    def request(self, kind: type[R]) -> R:
        """Return the arguments as a request.

        Raises:
            InputError: they are wrong.
        """
        return parse(kind, dict(self.params))


async def _home(call: Call) -> Any:
    """Return the data of the page's frame: the projects, and the state of the engine."""
    counts = await call.core.counts.summary()
    order = sorted(counts, key=lambda scope: (-counts[scope]["turns"], display_name(scope)))
    scopes = [{"scope": scope, "name": display_name(scope), **counts[scope]} for scope in order]
    return {"scopes": scopes, "user": USER_SCOPE, "version": call.engine.facts()["version"]}


async def _status(call: Call) -> Any:
    return {**call.engine.facts(), **await call.core.status.report()}


async def _hosts(call: Call) -> Any:
    """Return the state of each host on this machine, with its problems in the words of `doctor`."""
    return {"hosts": await asyncio.to_thread(call.hosts)}


async def _sessions(call: Call) -> Any:
    asked = call.request(Sessions)
    chosen = asked.model_dump(exclude={"scope"})
    return (await call.core.sessions.overview(asked.scope, **chosen)).model_dump(mode="json")


async def _session(call: Call) -> Any:
    asked = call.request(OneSession)
    window = asked.model_dump(include={"start", "size", "turn"})
    return (await call.core.sessions.read(asked.scope, asked.session_id, **window)).model_dump(mode="json")


async def _outline(call: Call) -> Any:
    asked = call.request(OneSession)
    return (await call.core.sessions.outline(asked.scope, asked.session_id)).model_dump(mode="json")


async def _given(call: Call) -> Any:
    asked = call.request(AskedGiven)
    name = asked.session_id and given.name_of(asked.session_id)
    lines = [
        each
        for each in await asyncio.to_thread(given.read, call.engine.home)
        if asked.scope in (None, each.scope) and name in (None, each.session)
    ]
    shown = [each._asdict() for each in lines[: -asked.size - 1 : -1]]
    return {"results": shown, "total": len(lines), "tokens": sum(each.tokens for each in lines)}


async def _record(call: Call) -> Any:
    asked = call.request(OneRecord)
    whole = (await call.core.lists.detail(await call.core.ids.full(asked.id, None))).wire()
    if whole["kind"] == "document":
        text = whole["record"]["content"]
        whole["record"]["content"] = text[asked.start : asked.start + LONGEST_STRETCH]
        whole["length"] = len(text)
    return whole


async def _search(call: Call) -> Any:
    """Search as a model's tool does, and return what a model would be shown, word by word."""
    asked = call.request(Asked)
    own = asked.scope or EVERY_SCOPE
    words = {"query": asked.query, "srcs": asked.kinds, "include": {"explain": True}}
    chips = asked.model_dump(include={"since", "until", "tags", "host"}, exclude_none=True)
    every = {} if asked.scope else {"scope": EVERY_SCOPE}
    request = parse(SearchRecords, {**words, **chips, **every, **({"top_k": MORE} if asked.more else {})})
    frame = render.Frame(search_scopes(request.scope, own))
    hits = await call.core.search.recall(request, own, measure=lambda hit: render.length(hit, frame))
    hits = await call.core.marking.marked(hits, None)
    hits, answer = fitted(hits, partial(render.memory_hits, frame=frame), render.trimmed)
    shown = hits.wire()
    for hit in [*shown["results"], *shown["related"]]:
        hit["marked"] = marked(asked.query, hit.get("memory") or hit.get("chunk") or "")
    shown["tokens"]["rendered"] = -(-len(answer.text) // 4)
    return {**shown, "text": answer.text}


async def _marked(call: Call) -> Any:
    """Mark matches by meaning too, which takes longer than the search."""
    asked = call.request(Marked)
    return {"results": await call.core.search.marked(asked.query, asked.texts)}


async def _facts(call: Call) -> Any:
    asked = call.request(Facts)
    scopes = [asked.scope] if asked.scope else await call.core.counts.scopes()
    page = await call.core.facts.page(scopes, **asked.model_dump(exclude={"scope"}))
    results = [values_of(fact) for fact in page.results]
    rivals = {fact_id: rival._asdict() for fact_id, rival in page.rivals.items()}
    return {**page._asdict(), "results": results, "rivals": rivals}


async def _alike(call: Call) -> Any:
    """Return for each of these facts the first one that it may contradict, or that is newer, and which."""
    found: dict[str, Any] = {}
    for fact in (await call.core.lists.get(Memory, call.request(Records).ids)).values():
        for hit in await call.core.lists.like(fact):
            if hit.reason == "contradict" or (hit.reason == "update" and hit.date > fact.created_at):
                reason: Literal["contradict", "newer"] = "newer" if hit.reason == "update" else "contradict"
                found.setdefault(fact.id, Rival(hit.id, hit.memory or "", hit.date, reason)._asdict())
    return found


async def _keep(call: Call) -> Any:
    await call.core.facts.keep(call.request(Records).ids, SOURCE)
    return {}


async def _take_back(call: Call) -> Any:
    asked = call.request(TakenBack)
    return {"ids": [fact.id for fact in await call.core.distilling.take_back(asked.scope, asked.ids, SOURCE)]}


async def _fact(call: Call) -> Any:
    """Return a fact with its versions, newest first, its links, and similar facts."""
    asked, lists = call.request(OneRecord), call.core.lists
    fact = await lists.find(await call.core.ids.full(asked.id, None))
    if not isinstance(fact, Memory):
        raise NotFound(f"No fact has the id {asked.id[:80]!r}. It may be purged.")
    newest = await lists.newest_version(fact)
    context = (await lists.links([newest], newest.scope)).get(newest.id)
    like = [] if newest.forgotten_at else await lists.like(newest)
    repeats = await lists.get(Memory, newest.alike)
    documents = await lists.cited_documents(newest.document_ids)
    mark = (await call.core.marking.marks([as_hit(newest)], None)).get(newest.id)
    return {
        "fact": values_of(newest),
        "mark": mark.wire() if mark else None,
        "versions": [values_of(each) for each in await lists.older_versions(newest)],
        "related": [link.wire() for link in context.related] if context else [],
        "like": [hit.wire() for hit in like if hit.id not in newest.alike],
        "repeats": [values_of(each) for each in repeats.values() if each.forgotten_at is None],
        "documents": [{"id": row.id, "title": row.title, "path": row.place} for row in documents.values()],
    }


async def _add(call: Call) -> Any:
    asked, core = call.request(NewFact), call.core
    at = core.clock()
    made = await core.writer.sealed("memory", asked, scope=asked.scope, source=SOURCE, at=at)
    return (await core.write(made)).wire()


async def _change(call: Call) -> Any:
    asked = call.request(ChangedFact)
    record_id = await call.core.ids.full(asked.id, None)
    return (await call.core.changes.edit(record_id, asked.content, SOURCE)).wire()


async def _forget(call: Call) -> Any:
    asked = call.request(Records)
    return {"ids": await _each(call, asked.ids, reason=asked.reason)}


async def _would_purge(call: Call) -> Any:
    """Return what a purge of records would also delete: older versions, turns, facts of documents."""
    taken: dict[str, Hit] = {}
    for each in call.request(Records).ids:
        with contextlib.suppress(NotFound):  # already gone
            asked = Forget(id=each, purge=True, dry_run=True)
            dry = await call.core.removal.forget(asked, USER_SCOPE, SOURCE)
            taken.update((hit.id, hit) for hit in dry.candidates)
    return {"results": [hit.wire() for hit in taken.values()]}


async def _purge(call: Call) -> Any:
    return {"ids": await _each(call, call.request(Records).ids, purge=True)}


async def _each(call: Call, ids: Sequence[str], **how: Any) -> list[str]:
    """Forget or purge each record, and return the ids of those that changed."""
    changed: list[str] = []
    for each in ids:
        with contextlib.suppress(NotFound):  # already gone
            done = await call.core.removal.forget(Forget(id=each, **how), USER_SCOPE, SOURCE)
            changed += done.ids if done.forgotten or done.purged else []
    return changed


async def _restore(call: Call) -> Any:
    """Restore each record; return which are purged, and why searches leave out some of the others."""
    done: list[Restored] = []
    gone: list[str] = []
    for each in call.request(Records).ids:
        try:
            done.append(await call.core.removal.restore(each, SOURCE))
        except InputError:  # no record has the id, or the texts of a turn were purged
            gone.append(each)
    restored = [each for each in done if each.restored]
    unseen = {each.id: each.unseen for each in restored if each.unseen}
    return {"ids": [each.id for each in restored], "gone": gone, "unseen": unseen}


async def _documents(call: Call) -> Any:
    scope = call.request(Scoped).scope or EVERY_SCOPE
    return {"results": [each.wire() for each in await call.core.ingest.list_documents(scope, 2_000)]}


async def _chunks(call: Call) -> Any:
    asked = call.request(OneRecord)
    chunks = await call.core.lists.chunks_of(asked.id, start=asked.start, size=50)
    return {"results": [{"text": each.text, "lines": [each.line_start, each.line_end]} for each in chunks]}


async def _index(call: Call) -> Any:
    asked = call.request(Path)

    async def report(done: int, total: int, path: str) -> None:
        call.report(done, total, path)

    run = call.core.ingest.run
    return (await run([asked.path], scope=asked.scope, source=SOURCE, report=report, again=True)).wire()


async def _reindex(call: Call) -> Any:
    return {"passages": await call.core.reindex.run(call.report)}


async def _settings(call: Call) -> Any:
    settings, shown = call.engine.settings, []
    choices = {"capture": CAPTURES, "chat_capture": CAPTURES, "inject": INJECTIONS}
    for key, default, says in describe():
        value = getattr(settings, key)
        extra = {"choices": choices[key]} if key in choices else {}
        extra |= {"folders": value} if isinstance(value, tuple) else {}
        shown.append({"key": key, "value": typed(value), "default": default, "says": says, **extra})
    return {"settings": shown, "hosts": await asyncio.to_thread(call.hosts)}


async def _set(call: Call) -> Any:
    """Write one setting, and return those that the running engine does not use yet."""
    asked, home = call.request(Setting), call.engine.home
    settings = await asyncio.to_thread(change, home.config, asked.key, asked.value)
    write_capture(home, settings, call.core.clock())
    restart = call.engine.reload()
    value = getattr(settings, asked.key)
    folders = {"folders": value} if isinstance(value, tuple) else {}
    return {"value": typed(value), "restart": asked.key in restart, **folders}


CALLS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    "home": _home,
    "status": _status,
    "hosts": _hosts,
    "sessions": _sessions,
    "session": _session,
    "outline": _outline,
    "given": _given,
    "record": _record,
    "search": _search,
    "marked": _marked,
    "facts": _facts,
    "fact": _fact,
    "alike": _alike,
    "keep": _keep,
    "take-back": _take_back,
    "add": _add,
    "change": _change,
    "forget": _forget,
    "would-purge": _would_purge,
    "purge": _purge,
    "restore": _restore,
    "documents": _documents,
    "chunks": _chunks,
    "index": _index,
    "reindex": _reindex,
    "settings": _settings,
    "set": _set,
}
