"""Projects are isolated: four of them in one engine, and each tries to reach the others' records by every
interface.

The interfaces: tools and resources of a project and of a token's tag, `/mcp`, what hooks inject into a prompt,
and the opening of a session. A project may name another's scope explicitly, which is allowed; nothing else
here does. `http_api/test_isolation` tries every HTTP route.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from fastapi import FastAPI
from hashing_encoder import HashingEncoder
from http_api.tenants import OWN
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from said import document, fact, forget, turn

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.home import openings
from scrubjay.home.paths import open_home
from scrubjay.http_api import tokens
from scrubjay.http_api.app import build_app
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.options import Options, parse_address
from scrubjay.mcp_server import resources
from scrubjay.mcp_server.calls import call
from scrubjay.mcp_server.server import build_server
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.text.short_ids import short_id

pytestmark = pytest.mark.long
PROJECTS = [f"repo_{name}__0123456789abcdef" for name in ("wren", "teal", "rook", "dove")]


class Owned(NamedTuple):
    """The records of a project: `secret` is in all of them and nowhere else, `ids` are theirs by kind."""

    scope: str
    secret: str
    session: str
    ids: dict[str, list[str]]


class House(NamedTuple):
    """The engine with all projects, and the records stored before the first call."""

    engine: Engine
    core: Core
    app: FastAPI
    owned: dict[str, Owned]
    before: dict[str, Any]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[House]:
    home = open_home(str(tmp_path_factory.mktemp("i") / "home"))
    engine = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await engine.load()
    core = await engine.core()
    owned = {scope: await _settle(core, scope) for scope in PROJECTS}
    await fact(core, f"The {OWN} is the user's own.", scope="user")
    app = build_app(engine, build_server(engine))
    async with app.router.lifespan_context(app):
        await core.consolidation.process_all()
        yield House(engine, core, app, owned, await _stored(core))
    await engine.close()


_OPEN = Options(parse_address("127.0.0.1:80"), per_second=0)


def _visitor(gateway: Gateway, key: str) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=gateway, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)


async def _settle(core: Core, scope: str) -> Owned:
    """Store something of every kind in a project, with words that all projects share in addition to its
    own.
    """
    secret = f"vex{scope.split('_')[1]}um"
    session = f"session-{PROJECTS.index(scope)}"
    said = f"The zebra of {secret}"
    asked = f"Which zebra, {secret}?"
    turns = [
        await turn(core, where, scope=scope, user=asked, assistant=f"{said} number {n}.")
        for n, where in enumerate((session, session, session, "everybodys"))
    ]
    old = await fact(core, f"{said} was striped.", scope=scope, tags=["zebra", secret])
    new = await fact(core, f"{said} is plain.", scope=scope, updates=[old.id], metadata={"who": secret})
    gone = await fact(core, f"{said} is lost.", scope=scope)
    await forget(core, gone.id)
    kept = await document(core, f"# Zebra {secret}\n\n{said} lives here.", scope=scope, title=f"Of {secret}")
    ids = {
        "turn": [each.id for each in turns],
        "memory": [old.id, new.id, gone.id, short_id("memory", new.id)],
        "document": [kept.id, short_id("chunk", kept.id)],
    }
    return Owned(scope, secret, session, ids)


# of a record; counts and links change within a project by themselves
_LASTING = set("scope content user assistant text title forgotten_at is_latest tags session_id".split())


async def _stored(core: Core) -> dict[str, Any]:
    await core.writer.settle()
    found: dict[str, Any] = {}
    for scope in (*PROJECTS, "user"):
        for kind in (Turn, Memory, Document):
            rows = await core.store.select(kind, conditions.equal("scope", scope))
            found |= {row.id: row.model_dump(include=_LASTING) for row in rows}
    return found


def _leaks(house: House, viewer: str, shown: str, asked: str) -> list[str]:
    """Text of other projects in an answer that was not in the question."""
    others = [each for each in house.owned.values() if each.scope != viewer]
    words = [each.secret for each in others]
    ids = [id for each in others for kind in each.ids.values() for id in kind]
    return [word for word in words + ids if word in shown and word not in asked]


def _calls(other: Owned) -> list[tuple[str, dict[str, Any]]]:
    """Tool calls with which one project tries to reach another's records; writes go to its own scope."""
    turns, facts, documents = (other.ids[kind] for kind in ("turn", "memory", "document"))
    said = f"The zebra of {other.secret}"
    wide = {"top_k": 100, "search_mode": "hybrid", "prev_turns": 5, "next_turns": 5}
    searches = [
        *(
            {"query": query}
            for query in (said, other.secret, "zebra", "Which zebra?", "what did we do today?")
        ),
        *({"query": "zebra", "session_id": id} for id in (other.session, "everybodys")),
        {"query": "zebra", "tags": ["zebra"]},
        {"query": said, "include": {"forgotten": True, "documents": True}},
        {"query": "zebra", "filters": {"key": "who", "value": other.secret}},
    ]
    links = [{link: [id]} for id in facts for link in ("updates", "extends")]
    turn = {"user": "Which?", "turn": 1}
    return [
        *(("search_memories", {**each, **wide}) for each in searches),
        *(("add_memory", {"content": "A zebra.", **link}) for link in links),
        *(("record_turn", {"session_id": id, **turn}) for id in (other.session, "everybodys")),
        *(("forget", {"id": id}) for id in (*turns, *facts, *documents, f"{other.session}/0")),
        ("forget", {"content": f"{said} is plain."}),
        ("forget", {"query": said, "dry_run": True}),
        *(("search_documents", {"query": query, "limit": 100}) for query in (said, "zebra lives")),
        *(("search_documents", {"query": "zebra", "doc_id": id}) for id in documents),
    ]


@pytest.mark.parametrize("confined", [False, True], ids=["a project", "a token of a tag"])
async def test_no_tool_or_resource_returns_another_projects_records(house: House, *, confined: bool) -> None:
    for viewer in PROJECTS:
        set_caller(Caller(scope=viewer, confined=confined))
        for other in (each for each in house.owned.values() if each.scope != viewer):
            asked = _calls(other)
            if confined:  # a token may not even name another scope
                reading = [each for each in asked if each[0].startswith("search")]
                named = [
                    *reading,
                    ("forget", {"query": "zebra", "dry_run": True}),
                    ("add_memory", {"content": "A zebra."}),
                    ("record_turn", {"session_id": other.session, "user": "Which zebra?"}),
                    ("add_document", {"content": "A zebra.", "custom_id": "zebra"}),
                ]
                asked += [
                    (name, {**more, "scope": scope}) for name, more in named for scope in ("*", other.scope)
                ]
            for name, arguments in asked:
                answer = json.dumps(await call(house.engine, name, arguments), ensure_ascii=False)
                assert not (leaks := _leaks(house, viewer, answer, json.dumps(arguments))), (arguments, leaks)
            for kind, ids in other.ids.items():
                ends = ("", "?scope=*", f"?scope={other.scope}") if confined else ("",)
                uris = [f"scrubjay://{kind}/{id}{end}" for id in ids for end in ends]
                for uri in [*uris, *([f"scrubjay://profile/{other.scope}"] if confined else [])]:
                    try:
                        text = (
                            await resources.read(house.engine, uri, Caller(scope=viewer, confined=confined))
                        ).text
                    except ScrubjayError as error:
                        text = str(error)
                    assert not (leaks := _leaks(house, viewer, text, uri)), (uri, leaks)
    await _unchanged(house)


async def test_hooks_and_openings_show_nothing_of_another_project(house: House) -> None:
    Path(house.engine.home.config).write_text('inject = "prompt"\n')
    house.engine.reload()
    for viewer in PROJECTS:
        for other in (each for each in house.owned.values() if each.scope != viewer):
            for prompt in (
                f"What of the zebra of {other.secret}?",
                other.secret,
                *(f"Look at {id}." for ids in other.ids.values() for id in ids),
                "what did we do in the last session?",
            ):
                event = {"session_id": other.session, "prompt": prompt, "max_bytes": 9_000}
                text = await house.core.search.injection(event, viewer)
                assert not (leaks := _leaks(house, viewer, text, prompt)), (prompt, leaks)
            for source in ("startup", "resume", "clear", "compact"):
                event = {"session_id": other.session, "source": source, "max_bytes": 9_000}
                assert not _leaks(house, viewer, (await house.core.search.opening(event, viewer)).text, "")
        lies_ready = openings.read(house.engine.home, viewer, datetime.now(UTC).timestamp()) or {"text": ""}
        assert not _leaks(house, viewer, lies_ready["text"], "")
    await _unchanged(house)


async def test_mcp_over_http_confines_a_token_to_its_tag(house: House, tmp_path_factory: Any) -> None:
    held = tokens.Tokens(open_home(str(tmp_path_factory.mktemp("m") / "keys")))
    for viewer in PROJECTS[:2]:
        _, key = tokens.add(held._home, datetime(2026, 3, 5, tzinfo=UTC), tag=viewer)
        gateway = Gateway(house.app, _OPEN, held.now)
        address = "http://127.0.0.1/mcp"
        async with (
            _visitor(gateway, key) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            for other in (each for each in house.owned.values() if each.scope != viewer):
                for name, arguments in _calls(other):
                    answer = str(await client.call_tool(name, arguments))
                    assert not (leaks := _leaks(house, viewer, answer, json.dumps(arguments))), leaks
                for uri in [
                    f"scrubjay://{kind}/{id}?scope=*" for kind, ids in other.ids.items() for id in ids
                ]:
                    with pytest.raises(MCPError) as refused:
                        await client.read_resource(uri)
                    assert not _leaks(house, viewer, str(refused.value), uri)
        async with _visitor(gateway, key) as http:
            for scope in (PROJECTS[3], "user", "*"):
                headers = {"X-Scrubjay-Scope": scope, "Accept": "application/json, text/event-stream"}
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                assert (await http.post("/mcp", json=body, headers=headers)).status_code in (400, 403)
    await _unchanged(house)


async def _unchanged(house: House) -> None:
    now = await _stored(house.core)
    kept = {id for each in house.owned.values() for ids in each.ids.values() for id in ids}
    changed = [
        (row, now.get(id))
        for id, row in house.before.items()
        if now.get(id) != row
        and (id in kept or row["scope"] not in PROJECTS)  # summaries are the engine's own
    ]
    assert not changed, changed[:3]
