"""The answers of every operation while the engine loads, could not be opened, or is closed: never a 500."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from hashing_encoder import HashingEncoder
from http_api.tenants import SECOND, TRIES, settle_in

from scrubjay.engine.engine import Engine
from scrubjay.home.paths import Home
from scrubjay.http_api.app import build_app
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.options import Options, parse_address
from scrubjay.mcp_server.server import build_server

PLACEHOLDERS: dict[str, str] = defaultdict(lambda: "nobody")


def client_of(engine: Engine) -> httpx2.AsyncClient:
    gateway = Gateway(
        build_app(engine, build_server(engine)), Options(parse_address("127.0.0.1:80"), per_second=0)
    )
    transport = httpx2.ASGITransport(app=gateway, raise_app_exceptions=False)
    key = {"Authorization": "Bearer any"}
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=key)


async def answers(engine: Engine, words: dict[str, str]) -> AsyncIterator[tuple[str, httpx2.Response]]:
    """The answer of every operation to requests that a loaded engine takes."""
    async with client_of(engine) as client:
        for operation, tries in TRIES.items():
            for each in tries:
                yield operation, await client.request(operation.partition(" ")[0], **each.filled(words))


async def test_an_engine_that_is_loading_says_so(home: Home) -> None:
    go = threading.Event()

    def open_model(*_: object, **__: object) -> HashingEncoder:
        go.wait(60)
        return HashingEncoder()

    engine = Engine(home, open_model=open_model, load_seconds=0.01)
    loading = asyncio.create_task(engine.load())
    wrong = [
        (operation, answer.status_code, answer.text)
        async for operation, answer in answers(engine, PLACEHOLDERS)
        if answer.status_code not in (200, 503) or (answer.is_success and "/api/v1/" not in operation)
    ]
    go.set()
    await loading
    await engine.close()
    assert wrong == []


async def test_an_engine_that_cannot_be_opened_says_why(home: Home) -> None:
    Path(home.config).write_text("nonsense = 1\n")
    engine = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await engine.load()
    wrong = [
        (operation, answer.status_code, answer.text)
        async for operation, answer in answers(engine, PLACEHOLDERS)
        if answer.status_code == 500 or (answer.is_success and "/api/v1/" not in operation)
    ]
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("ends", ["before", "meanwhile"])
async def test_an_engine_that_is_closing_answers_or_fails_with_a_sentence(home: Home, ends: str) -> None:
    engine = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await engine.load()
    async with client_of(engine) as client:
        words = await settle_in(client) | {"tag": SECOND}
    closing = asyncio.create_task(engine.close())
    if ends == "before":
        await closing
    wrong = [
        (operation, answer.status_code, answer.text)
        async for operation, answer in answers(engine, words)
        if answer.status_code == 500
    ]
    await closing
    assert wrong == []
