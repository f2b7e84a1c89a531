"""The process side of an engine, run in a test's own event loop, and clients connected by real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator

import pytest

from scrubjay.engine.process.connection import Connection
from scrubjay.engine.process.lifetime import Lifetime
from scrubjay.home.paths import Home, open_home
from scrubjay.wire.address import engine_facts
from scrubjay.wire.hello import Hello, encode, fields_of
from scrubjay.wire.lock import take

PATIENCE = 10.0  # seconds; the bound of every wait
HELLO = Hello("pipe", "/p", "/p", 7)


@pytest.fixture
def home(tmp_path_factory) -> Home:
    """A home with a path short enough for its socket."""
    return open_home(str(tmp_path_factory.mktemp("h") / "home"))


class Client:
    """One end of a real connection to a served engine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, line: bytes) -> None:
        self.writer.write(line)
        await self.writer.drain()

    async def hear(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), PATIENCE)

    async def ask(self, id: object, method: str = "echo", **params: object) -> None:
        await self.say(
            json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"
        )

    async def answer(self) -> dict:
        return json.loads(await self.hear())


class Served:
    """A Lifetime running in this test's event loop, whose interface answers each request when `gate` is
    open.
    """

    def __init__(self, home: Home, **options: object) -> None:
        self.home = home
        self.lock = take(home.engine_lock)
        self.life = Lifetime(
            home, self.lock, **{"auto": True, "idle_seconds": 60.0, "grace_seconds": 5.0, "env": {}} | options
        )
        self.gate = asyncio.Event()
        self.gate.set()
        self.clients: list[Client] = []

    async def face(self, connection: Connection) -> None:
        if connection.hello.pid == 666:
            raise RuntimeError("a face with a fault")
        async with asyncio.TaskGroup() as tasks:
            async for line in connection:
                tasks.create_task(self.reply(connection, json.loads(line)))

    async def reply(self, connection: Connection, message: dict) -> None:
        await self.gate.wait()
        if "id" in message:
            text = "x" * message["params"].get("bytes", 0)
            await connection.write_line(json.dumps({"id": message["id"], "result": text}))

    async def knock(self) -> Client:
        facts = engine_facts(self.home)
        limit = {"limit": 128 * 1024 * 1024}
        if "socket" in facts:
            client = Client(*await asyncio.open_unix_connection(facts["socket"], **limit))
        else:
            client = Client(*await asyncio.open_connection(*facts["address"], **limit))
        self.clients.append(client)
        return client

    async def client(self, hello: Hello = HELLO) -> Client:
        client = await self.knock()
        await client.say(encode(hello))
        assert fields_of(await client.hear())["kind"] == "engine"
        return client


@contextlib.asynccontextmanager
async def served(home: Home, background=None, **options: object) -> AsyncIterator[Served]:
    engine = Served(home, **options)
    engine.ended = asyncio.create_task(
        engine.life.serve(
            dict.fromkeys(("pipe", "cli"), lambda connection: engine.face(connection)), background
        )
    )
    async with asyncio.timeout(PATIENCE):
        while not os.path.exists(home.engine_json):
            await asyncio.sleep(0)
    try:
        yield engine
    finally:
        engine.gate.set()
        for client in engine.clients:
            client.writer.close()
        engine.life.finish("the test is over")
        with contextlib.suppress(ZeroDivisionError):
            await asyncio.wait_for(engine.ended, PATIENCE)
        engine.lock.release()
