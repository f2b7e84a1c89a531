"""A client of the HTTP interface, in memory: the application behind its gateway, over a real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from current import CURRENT
from fastapi import FastAPI
from mcp.server import Server
from spellings import V4, V5, Hebb

from scrubjay.engine.engine import Engine
from scrubjay.http_api.app import build_app
from scrubjay.http_api.gateway import Gateway


@pytest.fixture(scope="session")
def app(mcp_server: Server[Any]) -> FastAPI:
    """The application over the engine of the current test."""
    return build_app(CURRENT, mcp_server)


@pytest.fixture
async def http(engine: Engine, app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    CURRENT.engine = engine
    transport = httpx2.ASGITransport(app=Gateway(app), raise_app_exceptions=False)
    key = {"Authorization": "Bearer any"}  # as every official client sends one
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=key) as client:
        yield client


@pytest.fixture
def v4(http: httpx2.AsyncClient) -> V4:
    return V4(http)


@pytest.fixture
def v5(http: httpx2.AsyncClient) -> V5:
    return V5(http)


@pytest.fixture
def hebb(http: httpx2.AsyncClient) -> Hebb:
    return Hebb(http)


# the official clients of version 4 are long tests too
@pytest.fixture(params=[pytest.param(V4, id="v4", marks=pytest.mark.long), pytest.param(V5, id="v5")])
def api(http: httpx2.AsyncClient, request: pytest.FixtureRequest) -> V4 | V5:
    """Each version in turn."""
    return request.param(http)
