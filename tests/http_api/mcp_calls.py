"""Calls of MCP tools over HTTP, and the engine that answers them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from answering import answering
from assistant import until
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from node import CALL_SECONDS
from user import User, make_user

TOOLS = ["search_memories", "search_documents", "add_memory", "record_turn", "add_document", "forget"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[User, str]]:
    """A user and the URL of the engine that all these tests share; it has no token."""
    owner = make_user(tmp_path_factory.mktemp("m"))
    with answering(owner) as url:
        warm(url)
        yield owner, url


def warm(url: str, key: str = "local") -> None:
    """Make an engine import its MCP code; on a busy machine that may take longer than a request may wait."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=CALL_SECONDS) as http:
        until(lambda: http.post("/mcp", json={}).status_code != 503, "MCP is answered")


@contextlib.asynccontextmanager
async def connected(
    url: str, mode: str = "auto", key: str = "local", **headers: str
) -> AsyncIterator[Client]:
    sent = {"Authorization": f"Bearer {key}", **headers}
    async with (
        httpx2.AsyncClient(headers=sent, timeout=CALL_SECONDS) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return str(result.content[0].text)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The error message of a call that is refused."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return str(result.content[0].text)


async def kept(client: Client, content: str, **arguments: Any) -> str:
    """The id of a fact that is added."""
    result = await client.call_tool("add_memory", {"content": content, **arguments})
    assert not result.is_error, result.content
    return str(result.structured_content["id"])
