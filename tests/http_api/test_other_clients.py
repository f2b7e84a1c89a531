"""Requests as the official clients send them, byte for byte (`clients/recorded/`), against the application:
the status, and every key that the client parses. DELETE with a body, DELETE with a content type and none,
multipart forms, filters, and an unescaped `/`; and in `others.json` those of programs without an official
client, written from their documentation.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hashing_encoder import HashingEncoder

from scrubjay.engine.engine import Engine
from scrubjay.home.paths import open_home
from scrubjay.http_api.app import build_app
from scrubjay.http_api.door import Door
from scrubjay.mcp_server.server import build_server

pytestmark = pytest.mark.long

RECORDED = Path(__file__).parent.parent / "clients" / "recorded"
EMPTYING = ("documents.delete_bulk, tags", "namespaces.delete")  # leave nothing in the tag
CLIENTS = ("python-3.62.0", "python-5.0.1", "npm-4.25.4", "others")
ANSWERS: dict[str, dict[str, list[Any]]] = json.loads((RECORDED / "answers.json").read_text())


def requests(client: str) -> list[dict[str, Any]]:
    return json.loads((RECORDED / f"{client}.json").read_text())


CALLS = [
    pytest.param(client, each, id=f"{client} {each['call']}")
    for client in CLIENTS
    for each in requests(client)
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def http(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of one engine for all requests."""
    engine = Engine(
        open_home(str(tmp_path_factory.mktemp("r") / "home")), open_model=lambda *_, **__: HashingEncoder()
    )
    await engine.load()
    transport = httpx2.ASGITransport(
        app=Door(build_app(engine, build_server(engine))), raise_app_exceptions=False
    )
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        await settle_in(client, "the first")
        yield client
    await engine.close()


async def settle_in(http: httpx2.AsyncClient, which: str) -> dict[str, str]:
    """The records that the recorded requests refer to: a new document and a new memory of the tag `a`."""
    metadata = {"kind": "bird", "n": 2}
    added = await http.post(
        "/v3/documents",
        json={"content": f"The heron of {which} waits.", "containerTag": "a", "metadata": metadata},
    )
    made = await http.post(
        "/v4/memories", json={"memories": [{"content": f"A heron of {which}."}], "containerTag": "a"}
    )
    change = {
        "id": made.json()["memories"][0]["id"],
        "newContent": f"Two herons of {which}.",
        "containerTag": "a",
        "metadata": metadata,
    }
    new = await http.request("PATCH", "/v4/memories", json=change)
    return {"DOCUMENT": added.json()["id"], "MEMORY": new.json()["id"]}


@pytest.mark.parametrize(("client", "request_"), CALLS)
async def test_a_recorded_request_is_answered_as_the_client_parses_it(
    http: httpx2.AsyncClient, client: str, request_: dict[str, Any]
):
    call, path, body = request_["call"], request_["path"], request_["body"]
    if "DOCUMENT" in path + body or "MEMORY" in path + body:
        for name, id in (await settle_in(http, f"{client} {call}")).items():
            path, body = path.replace(name, id), body.replace(name, id)
    answer = await http.request(request_["method"], path, content=body.encode(), headers=request_["headers"])
    if call in EMPTYING:
        await settle_in(http, f"those after {client}")
    status, keys = ANSWERS[client][call]
    assert answer.status_code == status, answer.text
    shown = keys_of(answer.json()) if answer.content else set()
    assert set(keys.split()) <= shown, (set(keys.split()) - shown, answer.text)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_recorded_call_has_an_answer(client: str):
    assert [each["call"] for each in requests(client)] == list(ANSWERS[client])


def keys_of(answer: Any, path: str = "") -> set[str]:
    """The paths of all keys of an answer; elements of a list share one path, `results.id`."""
    if isinstance(answer, list):
        return set().union(*(keys_of(each, path) for each in answer))
    if not isinstance(answer, dict):
        return set()
    found = {f"{path}{key}" for key in answer}
    return found.union(*(keys_of(each, f"{path}{key}.") for key, each in answer.items()))
