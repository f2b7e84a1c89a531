"""The process side of the engine, in this process: locks, the socket, hellos, limits, idleness. Real files and real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from scrubjay.engine.address import engine_facts
from scrubjay.engine.connection import Connection
from scrubjay.engine.greeting import Identity, greet
from scrubjay.engine.lifetime import Lifetime
from scrubjay.engine.listener import listen
from scrubjay.engine.lock import FileLock, check_filesystem, is_held, take
from scrubjay.errors import EngineError, HomeError
from scrubjay.hello import Hello, encode, fields_of
from scrubjay.home import Home, open_home

PATIENCE = 10.0  # seconds; the bound of every wait
HELLO = Hello("pipe", "/p", "/p", 7)


@pytest.fixture
def home(tmp_path_factory) -> Home:
    return open_home(str(tmp_path_factory.mktemp("h") / "home"))


# Locks.


def test_a_lock_excludes_until_it_is_released(home):
    first, second = FileLock(home.engine_lock), FileLock(home.engine_lock)
    assert not is_held(home.engine_lock)
    assert first.acquire() and first.held and is_held(home.engine_lock)
    assert not second.acquire()
    first.release()
    assert not first.held and second.acquire()
    second.release()


def test_a_lock_dies_with_its_process(home):
    code = f"from scrubjay.engine.lock import take; import sys; take({home.engine_lock!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(EngineError, match="Another engine already serves this home"):
            take(home.engine_lock, wait_seconds=0)
        holder.kill()
    take(home.engine_lock).release()


def test_a_lock_on_a_deleted_file_is_not_held(home):
    lock = take(home.engine_lock)
    os.unlink(home.engine_lock)
    assert not lock.held
    lock.release()


def test_the_probe_of_a_filesystem_leaves_nothing_behind(home):
    before = sorted(os.listdir(home.root))
    check_filesystem(home.root)
    assert sorted(os.listdir(home.root)) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a filesystem that takes no files")
def test_a_filesystem_that_takes_no_files_is_refused():
    with pytest.raises(HomeError, match="cannot be opened"):
        check_filesystem("/proc/self")


# The socket.


def test_the_socket_is_for_its_owner_only(home):
    listener = listen(home, {}, loopback=False)
    assert listener.facts == {"socket": home.socket}
    assert stat.S_IMODE(os.stat(home.socket).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(home.socket)


def test_a_long_path_moves_the_socket_to_a_folder_of_ours(tmp_path_factory):
    base = tmp_path_factory.mktemp("h")
    home = open_home(str(base / ("long" * 30)))
    listener = listen(home, {"XDG_RUNTIME_DIR": str(base / "run")}, loopback=False)
    path = listener.facts["socket"]
    assert os.path.dirname(path) == str(base / "run" / "scrubjay")
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    listener.close()


def test_a_runtime_folder_open_to_others_is_refused(tmp_path_factory):
    base = tmp_path_factory.mktemp("h")
    home = open_home(str(base / ("long" * 30)))
    (base / "scrubjay").mkdir(mode=0o755)
    os.chmod(base / "scrubjay", 0o755)
    with pytest.raises(HomeError, match="is not yours alone"):
        listen(home, {"XDG_RUNTIME_DIR": str(base)}, loopback=False)


def test_the_token_of_a_port_is_for_its_owner_only(home):
    listener = listen(home, {}, loopback=True)
    assert listener.facts["address"][0] == "127.0.0.1"
    assert stat.S_IMODE(os.stat(listener.facts["token_file"]).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(listener.facts["token_file"])


def test_a_damaged_engine_json_is_no_hint(home):
    for junk in ("", "[]", '{"pid": 4}', "{"):
        with open(home.engine_json, "w") as file:
            file.write(junk)
        assert engine_facts(home) == {"socket": home.socket}


# Greetings.

AUTO, BY_HAND = Identity("0.2.0", 5, True, [1, 2]), Identity("0.2.0", 5, False, [1, 2])


def greeting(hello: Hello, me: Identity = AUTO, token: str | None = None):
    return greet(hello, me, ready=True, token=token, env={"SCRUBJAY_SAME": "1"})


def test_a_client_of_the_same_protocol_is_welcome_whatever_its_version():
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        answer = greeting(HELLO.but(version=version))
        assert answer.accepted and answer.fields["version"] == "0.2.0" and "error" not in answer.fields


def test_a_client_of_an_older_protocol_is_told_what_to_upgrade():
    answer = greeting(HELLO.but(protocol=0, version="0.0.9"))
    assert not answer.accepted
    assert "client 0.0.9 registered for /p is too old" in answer.fields["error"] and not answer.fields["retry"]


def test_only_an_engine_started_by_a_pipe_makes_room():
    answer = greeting(HELLO.but(replace=True))
    assert answer.make_room and not answer.accepted and answer.fields["retry"]
    answer = greeting(HELLO.but(replace=True), BY_HAND)
    assert not answer.make_room and not answer.accepted and "(pid 5) was started by hand" in answer.fields["error"]


def test_a_newer_client_of_an_engine_started_by_hand_is_told_so():
    assert "restart it to use 0.3.0" in greeting(HELLO.but(version="0.3.0"), BY_HAND).fields["notices"][0]
    assert greeting(HELLO.but(version="0.3.0")).fields["notices"] == []


def test_settings_in_a_clients_environment_are_named_and_their_values_are_not():
    env = {"SCRUBJAY_SAME": "1", "SCRUBJAY_TOKEN": "s3cret", "SCRUBJAY_SCOPE": "mine"}
    (notice,) = greeting(HELLO.but(env=env)).fields["notices"]
    assert notice.startswith("SCRUBJAY_TOKEN has no effect here") and "s3cret" not in notice


def test_a_port_asks_for_its_token():
    assert not greeting(HELLO, token="right").accepted
    assert not greeting(HELLO.but(token="wrong"), token="right").accepted
    assert greeting(HELLO.but(token="right"), token="right").accepted


# A served engine.


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
        await self.say(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")

    async def answer(self) -> dict:
        return json.loads(await self.hear())


class Served:
    """A Lifetime at work in this test's event loop, whose face answers each request when `gate` is open."""

    def __init__(self, home: Home, **options: object) -> None:
        self.home = home
        self.lock = take(home.engine_lock)
        self.life = Lifetime(home, self.lock, **{"auto": True, "idle_seconds": 60.0, "grace_seconds": 5.0, "env": {}} | options)
        self.gate = asyncio.Event()
        self.gate.set()
        self.clients: list[Client] = []

    async def face(self, connection: Connection) -> None:
        if connection.hello.pid == 666:
            raise RuntimeError("a face with a fault")
        async with asyncio.TaskGroup() as tasks:
            async for line in connection.lines():
                tasks.create_task(self.reply(connection, json.loads(line)))

    async def reply(self, connection: Connection, message: dict) -> None:
        await self.gate.wait()
        if "id" in message:
            text = "x" * message["params"].get("bytes", 0)
            await connection.writer().write(json.dumps({"id": message["id"], "result": text}) + "\n")

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
    engine.ended = asyncio.create_task(engine.life.serve({"pipe": lambda connection: engine.face(connection)}, background))
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


async def test_an_engine_answers_says_where_it_is_and_leaves_nothing(home):
    async with served(home, http="127.0.0.1:80") as engine:
        client = await engine.client()
        await client.ask("1")
        assert await client.answer() == {"id": "1", "result": ""}
        facts = engine_facts(home)
        assert facts["pid"] == os.getpid() and facts["http"] == "127.0.0.1:80" and not facts["finishing"]
        assert stat.S_IMODE(os.stat(home.engine_json).st_mode) == 0o600
        engine.life.finish("asked")
        assert json.loads(await client.hear()) == {"scrubjay": "goodbye", "lines": 1, "reason": "asked"}
        assert await client.hear() == b""
        assert await engine.ended == "asked"
    assert not {"engine.sock", "engine.json"} & set(os.listdir(home.root))


async def test_a_stale_socket_file_is_replaced(home):
    stale = listen(home, {}, loopback=False)
    stale.socket.close()  # as after kill -9: the file stays
    assert os.path.exists(home.socket)
    async with served(home) as engine:
        await engine.client()


async def test_a_port_with_a_token_serves_like_a_socket(home):
    async with served(home, loopback=True) as engine:
        stranger = await engine.knock()
        await stranger.say(encode(HELLO))
        assert "error" in fields_of(await stranger.hear())
        with open(engine_facts(home)["token_file"]) as file:
            client = await engine.client(HELLO.but(token=file.read()))
        await client.ask(1)
        assert await client.answer() == {"id": 1, "result": ""}


@pytest.mark.parametrize(
    ("line", "named"),
    [(b"GET / HTTP/1.1\n", "not a JSON object"), (encode(HELLO.but(kind="hook")), "no face"), (b"x" * 70_000 + b"\n", "70000 bytes")],
)
async def test_who_does_not_say_hello_is_told_so_and_cut_off(home, line, named):
    async with served(home) as engine:
        client = await engine.knock()
        await client.say(line)
        assert named in fields_of(await client.hear())["error"]
        assert await client.hear() == b""


async def test_a_face_that_fails_takes_only_its_own_client_with_it(home, caplog):
    async with served(home) as engine:
        good = await engine.client()
        bad = await engine.client(HELLO.but(pid=666))
        assert await bad.hear() == b""
        await good.ask(1)
        assert (await good.answer())["id"] == 1
    assert "a face with a fault" in caplog.text


async def test_a_line_above_the_limit_is_answered_and_the_next_one_works(home):
    async with served(home, line_limit=100_000) as engine:
        client = await engine.client()
        await client.ask(1, text="x" * 100_000)
        error = await client.answer()
        assert error["id"] == 1 and "may have 100000 bytes" in error["error"]["message"]
        await client.ask(2)
        assert (await client.answer())["id"] == 2


async def test_an_answer_above_the_limit_becomes_an_error(home):
    async with served(home, line_limit=100_000) as engine:
        client = await engine.client()
        await client.ask(1, bytes=100_000)
        error = await client.answer()
        assert error["id"] == 1 and "Ask for less" in error["error"]["message"]


async def test_a_large_answer_passes_to_a_client_that_reads(home):
    async with served(home, output_limit=100_000) as engine:
        client = await engine.client()
        await client.ask(1, bytes=20_000_000)
        assert len((await client.answer())["result"]) == 20_000_000


async def test_a_client_that_does_not_read_loses_its_connection_and_others_never_wait(home, caplog):
    async with served(home, output_limit=1_000_000) as engine:
        stalled, lively = await engine.client(), await engine.client()
        stalled.writer.transport.pause_reading()
        for id in range(20):
            await stalled.ask(id, bytes=1_000_000)
        for id in range(20):
            await lively.ask(id)
            assert (await lively.answer())["id"] == id
        async with asyncio.timeout(PATIENCE):
            while len(engine.life.connections) > 1:
                await lively.ask("more")
                await lively.answer()
    assert "left" in caplog.text and "bytes unread" in caplog.text


async def test_requests_in_flight_end_before_the_engine_does(home):
    async with served(home) as engine:
        engine.gate.clear()
        client = await engine.client()
        await client.ask(1)
        async with asyncio.timeout(PATIENCE):
            while not any(connection.in_flight for connection in engine.life.connections):
                await asyncio.sleep(0)
        engine.life.finish("asked")
        async with asyncio.timeout(PATIENCE):
            while os.path.exists(home.socket):
                await asyncio.sleep(0)
        await client.ask(2)  # too late: it is not read, and the goodbye says so
        engine.gate.set()
        assert await client.answer() == {"id": 1, "result": ""}
        assert (await client.answer())["lines"] == 1


async def test_a_client_that_has_said_its_last_word_still_hears_its_answers(home):
    async with served(home) as engine:
        engine.gate.clear()
        client = await engine.client()
        await client.ask(1)
        client.writer.write_eof()
        engine.gate.set()
        assert (await client.answer())["id"] == 1
        assert await client.hear() == b""


async def test_an_engine_nobody_uses_ends_and_one_that_works_does_not(home):
    work = [True]
    looked = asyncio.Event()

    def busy() -> bool:
        looked.set()
        return work[0]

    async with served(home, idle_seconds=0.1, busy=busy) as engine:
        for _ in range(12):  # ticks of a tenth of the idle time each: well past it
            looked.clear()
            await asyncio.wait_for(looked.wait(), PATIENCE)
        assert not engine.ended.done()
        work[0] = False
        assert await asyncio.wait_for(engine.ended, PATIENCE) == "idle"


async def test_a_client_keeps_the_engine_alive(home):
    ticks = asyncio.Semaphore(0)

    def busy() -> bool:
        ticks.release()
        return False

    async with served(home, idle_seconds=0.1, busy=busy) as engine:
        client = await engine.client()
        await client.ask(1)
        await client.answer()
        client.writer.close()
        assert await asyncio.wait_for(engine.ended, PATIENCE) == "idle"


async def test_an_engine_started_by_hand_does_not_end_when_idle(home):
    async with served(home, auto=False, idle_seconds=0.0) as engine:
        client = await engine.client()
        client.writer.close()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(engine.ended), 0.3)


async def test_an_engine_whose_home_was_removed_ends(home):
    async with served(home, idle_seconds=0.5) as engine:
        await engine.client()
        os.rename(home.root, home.root + ".gone")
        assert await asyncio.wait_for(engine.ended, PATIENCE) == "its home was removed"


async def test_a_signal_ends_the_engine_in_order(home):
    async with served(home) as engine:
        client = await engine.client()
        os.kill(os.getpid(), signal.SIGTERM)
        assert json.loads(await client.hear())["reason"] == "SIGTERM"
        assert await asyncio.wait_for(engine.ended, PATIENCE) == "SIGTERM"


async def test_a_failure_in_the_background_ends_the_engine_and_is_raised(home):
    async def background() -> None:
        raise ZeroDivisionError("loading")

    async with served(home, background) as engine:
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(engine.ended, PATIENCE)


async def test_work_in_the_background_is_cancelled_at_the_end(home):
    cancelled = asyncio.Event()

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with served(home, background) as engine:
        await engine.client()
    assert cancelled.is_set()


async def test_the_official_server_runs_on_a_connection_and_finishes_its_answers(home):
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolResult, TextContent

    gate = asyncio.Event()
    started = asyncio.Event()

    async def slow(_context, _params) -> CallToolResult:
        started.set()
        await gate.wait()
        return CallToolResult(content=[TextContent(type="text", text="done")])

    server = Server("on-a-connection", on_call_tool=slow)

    async def face(connection: Connection) -> None:
        async with stdio_server(stdin=connection.lines(), stdout=connection.writer()) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async with served(home) as engine:
        engine.face = face
        client = await engine.client()
        client_info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        await client.ask(0, "initialize", **client_info)
        assert (await client.answer())["result"]["serverInfo"]["name"] == "on-a-connection"
        await client.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        await client.ask(1, "tools/call", name="slow", arguments={})
        await asyncio.wait_for(started.wait(), PATIENCE)
        client.writer.write_eof()
        gate.set()
        assert (await client.answer())["result"]["content"][0]["text"] == "done"
        assert await client.hear() == b""
