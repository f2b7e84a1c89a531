"""Tags and namespaces are isolated: with every operation of the HTTP interface, one tenant tries to reach the
records of another. An operation without a request fails here, so that none is forgotten.
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
from said import fact
from spellings import with_permissions
from tenants import FIRST, GONE, OWN, SECOND, SECRET, TRIES, Try, settle_in

from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.home.paths import Home, open_home
from scrubjay.http_api import tokens
from scrubjay.http_api.app import build_app
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.options import Options, parse_address
from scrubjay.http_api.permissions import Permissions
from scrubjay.mcp_server.server import build_server
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.store import conditions

pytestmark = pytest.mark.long

OPERATIONS = pytest.mark.parametrize("operation", sorted(TRIES))
GHOSTS = {
    "document": "doc_000000000000000000000000",
    "memory": "mem_000000000000000000000000",
    "old": "mem_111111111111111111111111",
    "episode": "mem_222222222222222222222222",
    "turn": "turn_00000000000000000000000",
    "custom": "nobody-1",
    "text": "Nothing at all.",
    "session": "nothing-1",
}


class House(NamedTuple):
    """One engine, the records of the first tenant, and three clients: without any token, with a token of the
    second tenant alone, and one that may only read, past the gateway.
    """

    core: Core
    app: FastAPI
    words: dict[str, str]
    before: dict[str, Any]
    open_client: httpx2.AsyncClient
    bound: httpx2.AsyncClient
    reader: httpx2.AsyncClient

    async def ask(
        self, gateway: httpx2.AsyncClient, operation: str, each: Try, tag: str, **words: str
    ) -> tuple[httpx2.Response, str]:
        """The answer, and the request as text."""
        arguments = each.filled({**self.words, "tag": tag, **words})
        answer = await gateway.request(operation.partition(" ")[0], **arguments)
        return answer, json.dumps(arguments)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[House]:
    home: Home = open_home(str(tmp_path_factory.mktemp("i") / "home"))
    Path(home.config).write_text('chat_capture = "all"\n')
    engine = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await engine.load()
    core = await engine.core()
    app = build_app(engine, build_server(engine))
    held = tokens.Tokens(open_home(str(tmp_path_factory.mktemp("k") / "keys")))
    _, key = tokens.add(held._home, datetime(2026, 3, 5, tzinfo=UTC), tag=SECOND)
    guarded = Gateway(app, Options(parse_address("127.0.0.1:80"), per_second=0), held.now)
    opened = Gateway(app, Options(parse_address("127.0.0.1:80"), per_second=0))
    async with _client(opened) as open_client, _client(guarded, key) as bound:
        words = await settle_in(open_client)
        await fact(core, f"The {OWN} of the {words['rare']} is the user's own.", scope="user")
        # An engine's own work for every tag is not part of any answer.
        await core.consolidation.process_all()
        async with with_permissions(app, Permissions(read_only=True)) as reader:
            yield House(core, app, words, await kept(core), open_client, bound, reader)
    await engine.close()


def _client(gateway: Gateway, key: str = "sm_any_key_opens") -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=gateway, raise_app_exceptions=False)
    return httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"}
    )


async def kept(core: Core) -> dict[str, Any]:
    """All records of the first tenant and of the user, with the settings of their scopes."""
    await core.writer.settle()
    found: dict[str, Any] = {}
    for scope in (FIRST, "user"):
        for kind in (Turn, Memory, Document):
            rows = await core.store.select(kind, conditions.equal("scope", scope))
            found |= {row.id: row.model_dump(exclude={"access_count", "last_accessed_at"}) for row in rows}
        found[scope] = core.scope_settings.of(scope)
    return found


def test_every_operation_has_a_request(house: House):
    served = {
        f"{method.upper()} {path}" for path, item in house.app.openapi()["paths"].items() for method in item
    }
    assert served == set(TRIES)


@OPERATIONS
async def test_a_tag_sees_and_changes_nothing_of_another(house: House, operation: str):
    for each in TRIES[operation]:
        if each.names_a_tag:
            await _finds_nothing(house, house.open_client, operation, each)
    assert await kept(house.core) == house.before


@OPERATIONS
async def test_a_token_of_a_tag_sees_and_changes_nothing_of_another(house: House, operation: str):
    for each in TRIES[operation]:
        await _finds_nothing(house, house.bound, operation, each)
    assert await kept(house.core) == house.before


@OPERATIONS
async def test_a_token_of_a_tag_may_not_name_another(house: House, operation: str):
    for each in TRIES[operation]:
        if each.names_a_tag:
            answer, request = await house.ask(house.bound, operation, each, FIRST)
            assert answer.status_code == 403, (request, answer.status_code, answer.text)
            assert SECRET not in answer.text
    assert await kept(house.core) == house.before


@OPERATIONS
async def test_a_caller_that_may_only_read_changes_nothing(house: House, operation: str):
    for each in TRIES[operation]:
        answer, request = await house.ask(house.reader, operation, each, FIRST)
        assert operation.startswith(("GET", "POST")) or not answer.is_success, request
    assert await kept(house.core) == house.before


@OPERATIONS
@pytest.mark.parametrize("tag", ["user", "*"])
async def test_reserved_tags_are_refused(house: House, operation: str, tag: str):
    for each in TRIES[operation]:
        if each.names_a_tag:
            answer, request = await house.ask(house.open_client, operation, each, tag)
            assert answer.status_code == 400, (request, answer.status_code, answer.text)
            assert OWN not in answer.text


@OPERATIONS
async def test_no_client_sees_the_user_scope(house: House, operation: str):
    for each in TRIES[operation]:
        if not each.names_a_tag and operation.startswith(("GET", "POST")):
            answer, request = await house.ask(house.open_client, operation, each, "")
            assert OWN not in answer.text, request


async def _finds_nothing(house: House, gateway: httpx2.AsyncClient, operation: str, each: Try) -> None:
    """The answer holds nothing of the first tenant; a record hidden from the second is answered like one that
    does not exist.
    """
    answer, request = await house.ask(gateway, operation, each, SECOND)
    shown = (request, answer.status_code, answer.text)
    wanted = (each.bound if gateway is house.bound else 0) or each.status
    assert answer.status_code == wanted if wanted else answer.is_success or answer.status_code == GONE, shown
    assert SECRET not in answer.text and OWN not in answer.text, shown
    ids = {id for id in house.before if id not in (FIRST, "user")} | {FIRST}
    assert not [id for id in ids if id in answer.text and id not in request], shown
    if answer.status_code == GONE:
        nowhere, _ = await house.ask(gateway, operation, each, SECOND, **GHOSTS)
        said = answer.text
        for name, ghost in GHOSTS.items():
            said = said.replace(house.words[name], ghost)
        assert (nowhere.status_code, nowhere.text) == (GONE, said), shown
