"""MCP over HTTP to an engine in a process of its own: the Python client in both protocol eras, and what
scopes and tokens let it reach.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from answering import answering
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_calls import TOOLS, connected, kept, refused, said, served, warm
from node import CALL_SECONDS
from offering import hello, request
from user import User, make_user

pytestmark = pytest.mark.long

__all__ = ["served"]  # a fixture

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of an engine with tokens, and their keys: for everything, for a tag, and to read it."""
    owner = make_user(tmp_path_factory.mktemp("k"))
    options = {"all": [], "ours": ["--tag", "ours"], "reader": ["--tag", "ours", "--read-only"]}
    made = {
        name: owner.gets("token", "add", "--name", name, *words).strip() for name, words in options.items()
    }
    with answering(owner) as url:
        warm(url, made["all"])
        yield url, made


# -- the same server as over the pipe ------------------------------------------------------------------------


@ERAS
async def test_a_client_calls_every_tool_and_reads_their_results_as_resources(
    served: tuple[User, str], mode: str
):
    async with connected(served[1], mode) as client:
        assert (client.protocol_version < "2026") == (mode == "legacy")
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        fact = await kept(client, f"The {mode} heron nests in reeds.")
        talk = {"user": "Where is the heron?", "assistant": "In the reeds."}
        assert "heron" in await said(client, "record_turn", session_id=f"heron {mode}", **talk)
        text = f"# Heron\n\nThe {mode} heron stands still."
        assert "done, 1 chunk." in await said(client, "add_document", content=text, custom_id=mode)
        nests = await said(client, "search_memories", query="where does the heron nest?")
        stands = await said(client, "search_documents", query=f"does the {mode} heron stand still?")
        assert f"{mode} heron nests" in nests and f"{mode} heron stands" in stands
        read = await client.read_resource(f"scrubjay://memory/{fact}")
        assert f"The {mode} heron nests in reeds." in read.contents[0].text
        assert "Forgotten" in await said(client, "forget", id=fact)
        assert "top_k = 0" in await refused(client, "search_memories", query="x", top_k=0)
        with pytest.raises(MCPError, match="not a resource here"):
            await client.read_resource("file:///etc/passwd")


@ERAS
async def test_a_folder_that_the_user_allowed_is_read(served: tuple[User, str], mode: str):
    user, url = served
    folder = user.folder / f"notes-{mode}"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nThe {mode} dipper dives {number} times.\n")
    async with connected(url, mode) as client:
        assert "outside the project" in await refused(client, "add_document", path=str(folder))
        user.gets("config", "roots", str(folder))
        result = await client.call_tool("add_document", {"path": str(folder)})
    assert not result.is_error and result.structured_content["ingested"]["added"] == 3


async def test_a_client_with_a_session_cancels_its_call(served: tuple[User, str]):
    user, url = served
    folder = user.folder / "many"
    folder.mkdir()
    for number in range(600):
        (folder / f"{number}.md").write_text(
            "\n\n".join(f"Dipper {number} dives {n} times." for n in range(100))
        )
    user.gets("config", "roots", str(folder))
    add = {"name": "add_document", "arguments": {"path": str(folder)}, "_meta": {"progressToken": 1}}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer key"}
    async with httpx2.AsyncClient(headers=headers, base_url=url, timeout=CALL_SECONDS) as client:
        opened = await client.post("/mcp", json=hello("2025-11-25"))
        client.headers |= {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
        async with client.stream("POST", "/mcp", json=request("tools/call", add, 7)) as answer:
            lines = answer.aiter_lines()
            while "notifications/progress" not in await anext(lines):
                pass
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            assert (await client.post("/mcp", json=cancel)).status_code == 202
            rest = [line async for line in lines]
        assert '"id":7,"error":{"code":-32800' in "".join(rest)


async def test_a_scope_is_named_by_header_or_query_and_defaults_to_that_of_supermemorys_tools(
    served: tuple[User, str],
):
    _, url = served
    async with connected(url) as client:
        await kept(client, "The siskin is where nobody named a scope.")
        assert "nobody named" in await said(client, "search_memories", query="where is the siskin?")
        await kept(client, "The siskin likes alder.", scope="user")
    async with connected(url, **{"X-Scrubjay-Scope": "siskins"}) as client:
        await kept(client, "The siskin is in a scope of its own.")
        text = await said(client, "search_memories", query="where is the siskin?")
        assert "of its own" in text and "likes alder" in text and "nobody named" not in text
        everywhere = await said(client, "search_memories", query="where is the siskin?", top_k=9, scope="*")
        assert "nobody named" in everywhere and " in sm_project_default" in everywhere
    async with Client(f"{url}/mcp?scope=siskins") as client:
        assert "of its own" in await said(client, "search_memories", query="where is the siskin?")
    async with connected(url, **{"X-Scrubjay-Scope": "user"}) as client:
        assert "likes alder" in (await client.read_resource("scrubjay://profile")).contents[0].text


async def test_a_body_that_is_not_a_message_is_refused(served: tuple[User, str]):
    url = f"{served[1]}/mcp"
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=CALL_SECONDS) as client:
        for version in ("2025-11-25", "2026-07-28"):
            for body in (
                b"{",
                b"\xff\xfe",
                b"[" * 100_000,
                b"null",
                b"{}",
                b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
                b"",
            ):
                answer = await client.post(url, content=body, headers={"MCP-Protocol-Version": version})
                assert 400 <= answer.status_code < 500, (version, body[:20], answer.text)
        for verb in ("GET", "DELETE", "PUT"):
            answer = await client.request(verb, url)
            assert answer.status_code == 405 and answer.headers["Allow"] == "POST"


# -- tokens --------------------------------------------------------------------------------------------------


@ERAS
async def test_a_read_only_token_changes_nothing(keys: tuple[str, dict[str, str]], mode: str):
    url, key = keys
    async with connected(url, mode, key["ours"]) as us:
        fact = await kept(us, f"The {mode} turnstone turns stones.")
    async with connected(url, mode, key["reader"]) as reader:
        assert "turns stones" in await said(reader, "search_memories", query="what does the turnstone do?")
        assert await said(reader, "search_documents", query="turnstone")
        for tool, arguments in {
            "add_memory": {"content": "x is y"},
            "record_turn": {"session_id": "s", "user": "x"},
            "add_document": {"content": "x"},
            "forget": {"id": fact},
        }.items():
            assert "may only read" in await refused(reader, tool, **arguments)
        assert "turns stones" in (await reader.read_resource(f"scrubjay://memory/{fact}")).contents[0].text
