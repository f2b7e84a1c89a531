"""What a pipe's client gets from an engine: the same as from the SDK's server, mostly without it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hashing_encoder import HashingEncoder
from mcp.types import INVALID_PARAMS
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from offering import engine_answers, envelope, hello, request
from said import SCOPE
from served import PATIENCE

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.engine import Engine
from scrubjay.engine.process.connection import Connection
from scrubjay.home.paths import Home
from scrubjay.mcp_server.calls import call
from scrubjay.mcp_server.face import serve_pipe
from scrubjay.mcp_server.server import build_server
from scrubjay.wire.hello import Hello, line_of
from scrubjay.wire.messages import LARGE

pytestmark = pytest.mark.long

MODERN = MODERN_PROTOCOL_VERSIONS[-1]
OPEN = hello("2025-11-25")


class Talk:
    """The client's end of a served connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.connection: Connection

    def say(self, message: dict[str, Any]) -> None:
        self.writer.write(line_of(message))

    async def hear(self) -> dict[str, Any]:
        return json.loads(await asyncio.wait_for(self.reader.readline(), PATIENCE))

    async def answers(self, requests: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        for each in requests:
            self.say(each)
        heard = [await self.hear() for each in requests if "id" in each]
        return {answer.pop("id"): answer for answer in heard}


@contextlib.asynccontextmanager
async def talk(
    engine: Engine, project: Path, sdk: Callable[[], Any] | None = None, scope: str | None = "user"
) -> AsyncIterator[Talk]:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(lambda _: None), sock=ours)
    connection.hello = Hello("pipe", str(project), str(project), 7, scope)
    served = asyncio.create_task(serve_pipe(engine, sdk or (lambda: build_server(engine)), connection))
    reader, writer = await asyncio.open_connection(sock=theirs, limit=1 << 20)
    client = Talk(reader, writer)
    client.connection = connection
    yield client
    writer.close()
    await asyncio.wait_for(served, PATIENCE)
    connection.close()


def never() -> Any:
    raise AssertionError("the SDK's server was asked for")


CALLS = [
    {"name": "search_memories", "arguments": {"query": "zebra"}},
    {"name": "search_documents", "arguments": {"query": "zebra"}, "_meta": {"progressToken": "a"}},
    {"name": "add_memory", "arguments": {"content": ""}},
    {"name": "forget", "arguments": None},
]
UNUSUAL = [
    ("tools/call", {"name": "recall"}),
    ("tools/call", {"name": 5}),
    ("tools/call", {"arguments": {}}),
    ("tools/call", {"name": "forget", "arguments": []}),
    ("resources/read", {"uri": "scrubjay://turn/none"}),
    *((method, {"cursor": "x"}) for method in ("tools/list", "resources/list", "resources/templates/list")),
    ("prompts/get", {"name": "x"}),
    ("logging/setLevel", {"level": "info"}),
    ("nonsense", {}),
    ("tools/list", envelope(MODERN)),
]


def tool(name: str, **arguments: object) -> Any:
    return request("tools/call", {"name": name, "arguments": arguments}, 1)


async def said(engine: Engine, project: Path, *asked: Any) -> list[str]:
    """The text answer to a client in a folder that names no scope."""
    async with talk(engine, project, never, None) as client:
        await client.answers([OPEN])
        return [(await client.answers([each]))[1]["result"]["content"][0]["text"] for each in asked]


async def test_a_large_line_waits_for_another_clients_large_line_and_a_small_one_does_not(
    engine: Engine, tmp_path: Path
) -> None:
    large = request("tools/call", {"name": "add_memory", "arguments": {"content": "x" * LARGE}}, 2)
    async with talk(engine, tmp_path, never) as one, talk(engine, tmp_path, never) as other:
        for client in (one, other):
            await client.answers([OPEN])
        async with engine.large:
            one.say(large)
            assert 1 in await other.answers([tool("search_memories", query="zebra")])
            assert not one.reader._buffer  # type: ignore[attr-defined]
        answer = await one.hear()
        assert answer["id"] == 2 and "characters" in answer["result"]["content"][0]["text"]
        await other.answers([large])  # the lock was released
    assert not engine.large.locked()


async def test_folders_without_git_do_not_see_each_other(engine: Engine, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir(), other.mkdir()
    search = tool("search_memories", query="When does the zebra merger close?")
    fact = "The zebra merger closes in May."
    assert "Saved" in (await said(engine, one, tool("add_memory", content=fact)))[0]
    assert fact in (await said(engine, one, search))[0]
    assert fact not in (await said(engine, other, search))[0]


async def test_outside_a_project_writes_need_a_scope_and_searches_see_the_user_scope(engine: Engine) -> None:
    fact = "I like zebras best of all animals."
    search = tool("search_memories", query="Which animals do I like best?")
    nameless, named, found, turn = await said(
        engine,
        Path("/"),
        tool("add_memory", content=fact),
        tool("add_memory", content=fact, options={"scope": "user"}),
        search,
        tool("record_turn", session_id="s", user="Which animals?", assistant="Zebras, as ever."),
    )
    assert "not projects" in nameless and "not projects" in turn and "Name a scope" in turn
    assert "Saved" in named and fact in found


@pytest.fixture
def timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all searches report the same time."""
    monkeypatch.setattr("time.perf_counter", lambda: 5.0)


async def test_common_calls_are_answered_like_the_sdk_but_without_it(engine: Engine, project: Path, timeless):
    ways = {"handshake": ([OPEN], {}), "modern": ([], envelope(MODERN)["_meta"])}
    for opening, meta in ways.values():
        asked = [
            request("tools/call", params | {"_meta": params.get("_meta", {}) | meta}, number)
            for number, params in enumerate(CALLS, 1)
        ]
        async with talk(engine, project, never) as client:
            heard = await client.answers([*opening, *asked])
        assert heard == await engine_answers([*opening, *asked], build_server(engine))
        assert len(heard) == len(CALLS) + len(opening)


@pytest.mark.parametrize("opening", [[OPEN], []], ids=["open", "not open"])
async def test_uncommon_requests_are_answered_by_the_sdk(engine: Engine, project: Path, opening):
    asked = [*opening, *(request(*each, number) for number, each in enumerate(UNUSUAL, 1))]
    async with talk(engine, project) as client:
        heard = await client.answers(asked)
        client.say(OPEN)
        assert (await client.hear())["id"] == 0
        client.say(request("tools/call", {"name": "recall"}, 99))
        assert (await client.hear())["error"]["code"] == INVALID_PARAMS
        client.say(request("nonsense", {}, 100))
        assert (await client.hear())["id"] == 100
    assert heard == await engine_answers(asked, build_server(engine))
    bogus_cursors = [heard[number] for number, (_, params) in enumerate(UNUSUAL, 1) if "cursor" in params]
    assert [each["error"]["code"] for each in bogus_cursors] == [INVALID_PARAMS] * 3


HALF = "half \ud83d a zebra"


@pytest.mark.parametrize("extra", [{}, {"unusual": 1}], ids=["usual", "the SDK's"])
async def test_a_lone_surrogate_is_replaced_and_the_rest_is_kept(engine: Engine, project: Path, extra):
    add = {"name": "add_memory", "arguments": {"content": HALF + " \U0001f993"}, **extra}
    ask = {"name": "search_memories", "arguments": {"query": HALF}, **extra}
    async with talk(engine, project) as client:
        heard = await client.answers([OPEN, request("tools/call", add, 1)])
        heard |= await client.answers([request("tools/call", ask, 2), request("nonsense" + HALF, {}, 3)])
    assert not heard[1]["result"]["isError"]
    assert "half \ufffd a zebra \U0001f993" in heard[2]["result"]["content"][0]["text"]
    assert "error" in heard[3]


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 1.5, "params": {}},
        {"id": 1, "jsonrpc": "1.0"},
        {"id": 1, "params": [1]},
        {"id": 1, "method": "tools/list", "params": "x"},
    ],
)
async def test_an_unreadable_line_is_answered_under_its_id(engine: Engine, project: Path, odd):
    async with talk(engine, project) as client:
        heard = await client.answers([OPEN, request("tools/call", {"name": "recall"}, 0) | odd])
        client.say(request("tools/call", {"name": "recall"}, 99))
        assert (await client.hear())["id"] == 99
    assert heard[odd["id"]]["error"]["code"] == -32600


async def test_a_client_with_many_calls_does_not_delay_another(engine: Engine, project: Path):
    search = {"name": "search_memories", "arguments": {"query": "zebra"}}
    async with talk(engine, project) as greedy, talk(engine, project) as modest:
        await modest.answers([OPEN])
        await greedy.answers([OPEN])
        for number in range(1, 401):
            greedy.say(request("tools/call", search, number))
        while len(greedy.connection.in_flight) < 200:
            await asyncio.sleep(0)
        heard = await modest.answers([request("tools/call", search, 1)])
        assert not heard[1]["result"]["isError"]
        assert len(greedy.connection.in_flight) > 100  # most of the other's still wait
        assert {(await greedy.hear())["id"] for _ in range(400)} == set(range(1, 401))


@contextlib.asynccontextmanager
async def loading(home: Home, clock: Callable[[], datetime], **limits: float) -> AsyncIterator[Any]:
    """An engine that is loading, and a function that lets it go on and waits until it has loaded."""
    go = threading.Event()

    def open_model(*_: object, **__: object) -> HashingEncoder:
        assert go.wait(PATIENCE)
        return HashingEncoder()

    engine = Engine(home, clock=clock, open_model=open_model, **limits)
    load = asyncio.create_task(engine.load())

    async def finish() -> None:
        go.set()
        await load

    yield engine, finish
    await engine.close()


async def test_a_call_to_a_slowly_loading_engine_is_answered_with_a_notice(
    home: Home, clock: Callable[[], datetime]
):
    async with loading(home, clock, load_seconds=0.05) as (engine, finish):
        set_caller(Caller(scope=SCOPE))
        refused = await call(engine, "add_memory", {"content": "The zebra is called Marty."})
        assert refused["isError"] and "still starting after 0.05 s" in refused["content"][0]["text"]
        await finish()
        assert not (await call(engine, "add_memory", {"content": "The zebra is called Marty."}))["isError"]


async def test_a_failure_of_the_sdks_server_ends_the_connection(engine: Engine, project: Path):
    async with talk(engine, project, never) as client:
        await client.answers([OPEN])
        client.say(request("nonsense", {}, 1))
        assert await asyncio.wait_for(client.reader.readline(), PATIENCE) == b""


async def test_an_unusual_handshake_is_left_to_the_sdk(engine: Engine, project: Path):
    odd = hello("2025-11-25", capabilities={"experimental": None})
    async with talk(engine, project) as client:
        heard = await client.answers([odd, request("tools/call", {"name": "recall"})])
    assert "There is no tool 'recall'" in heard[1]["error"]["message"]
    assert heard[0]["result"]["serverInfo"]["name"] == "scrubjay"


async def test_a_cancelled_call_is_never_answered_and_the_next_one_is(
    engine: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
):
    begun, over = asyncio.Event(), asyncio.Event()

    async def endless(*_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    async with talk(engine, project, never) as client:
        client.say(OPEN)
        await client.hear()
        with monkeypatch.context() as patched:
            patched.setattr("scrubjay.mcp_server.face.call", endless)
            client.say(request("tools/call", CALLS[0], 1))
            await asyncio.wait_for(begun.wait(), PATIENCE)
        client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await asyncio.wait_for(over.wait(), PATIENCE)
        client.say(request("tools/call", CALLS[-1], 2))
        assert (await client.hear())["id"] == 2


async def test_a_client_that_asks_for_progress_gets_it_during_a_long_call(
    home: Home, clock: Callable[[], datetime], project: Path
):
    (project / "docs").mkdir()
    for number in range(3):
        (project / "docs" / f"{number}.md").write_text(f"# Zebras\n\nZebra {number} eats grass.\n")
    arguments = {"name": "add_document", "arguments": {"path": "docs"}, "_meta": {"progressToken": "t"}}
    heard: list[dict[str, Any]] = []
    async with loading(home, clock) as (engine, finish), talk(engine, project, never) as client:
        client.say(OPEN)
        await client.hear()
        client.say(request("tools/call", arguments))
        while "id" not in (said := await client.hear()):
            heard.append(said["params"])
            await finish()
        assert said["result"]["structuredContent"]["ingested"]["added"] == 3
    steps = [each["progress"] for each in heard]
    assert steps[0] == 0.5 and steps[-1] == heard[-1]["total"] == 3 and steps == sorted(set(steps))
    assert {each["progressToken"] for each in heard} == {"t"}


async def test_a_quick_call_reports_no_progress(engine: Engine, project: Path):
    async with talk(engine, project, never) as client:
        assert await client.answers([OPEN, request("tools/call", CALLS[1])])


def test_an_engine_serves_its_pipes_without_the_sdk():
    code = (
        "import sys, scrubjay.cli.serve, scrubjay.engine.core, scrubjay.mcp_server.face\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('mcp', 'mcp_types', 'starlette')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
