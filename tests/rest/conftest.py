"""A client of the HTTP face, in memory: the application behind its door, over a real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from scrubjay.engine.engine import Engine
from scrubjay.http_api.app import build_app
from scrubjay.http_api.door import Door
from scrubjay.mcp_server.server import build_server


@pytest.fixture
async def http(engine: Engine) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(
        app=Door(build_app(engine, build_server(engine))), raise_app_exceptions=False
    )
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
