"""The lifetime of an engine, with real files and sockets: idleness, work, signals, failures, leftovers."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hashing_encoder import Gated, HashingEncoder
from said import fact
from served import HELLO, PATIENCE, home, served

from scrubjay.engine.control import serve_cli
from scrubjay.engine.engine import Engine
from scrubjay.engine.process.listener import listen
from scrubjay.wire.address import engine_facts
from scrubjay.wire.hello import encode, fields_of

__all__ = ["home"]  # a fixture


async def test_an_engine_answers_publishes_its_address_and_leaves_nothing_behind(home):
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
            client = await engine.client(HELLO.copy(token=file.read()))
        await client.ask(1)
        assert await client.answer() == {"id": 1, "result": ""}


async def test_requests_in_flight_finish_before_the_engine_ends(home):
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
        await client.ask(2)  # too late: it is not read, which the goodbye reports
        engine.gate.set()
        assert await client.answer() == {"id": 1, "result": ""}
        assert (await client.answer())["lines"] == 1


async def test_a_reindex_whose_client_has_left_does_not_delay_the_end(home):
    encoder = Gated("heron", "mill")
    core = Engine(home, open_model=lambda *_, **__: encoder)
    await core.load()
    await fact(await core.core(), "The heron nests behind the mill.")
    async with served(home, grace_seconds=3600.0) as engine:
        engine.face = partial(serve_cli, core, engine.life.finish, None)
        client = await engine.client(HELLO.copy(kind="cli"))
        await client.ask(1, "reindex")
        assert await asyncio.to_thread(encoder.reached.wait, PATIENCE)
        client.writer.close()
        engine.life.finish("asked")
        assert await asyncio.wait_for(engine.ended, PATIENCE) == "asked"
        encoder.gate.set()
    await core.close()


async def test_a_status_does_not_repeat_a_failure_whose_cause_is_gone(home, monkeypatch):
    monkeypatch.setattr("scrubjay.engine.engine.RETRY_SECONDS", 0.0)
    Path(home.config).write_text("colour = 1\n")
    core = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await core.load()
    async with served(home) as engine:
        engine.face = partial(serve_cli, core, engine.life.finish, None)
        client = await engine.client(HELLO.copy(kind="cli"))
        await client.ask(1, "status")
        assert "'colour'" in (await client.answer())["result"]["failure"]
        Path(home.config).write_text("")
        await client.ask(2, "status")
        assert (await client.answer())["result"]["state"] == "ready"
    await core.close()


@pytest.mark.parametrize("paths", [None, [], 5, "/", {"/": 1}, ["/", 5], ["relative"]])
async def test_an_index_call_without_a_list_of_absolute_paths_is_refused_in_a_sentence(home, paths):
    core = Engine(home, open_model=lambda *_, **__: HashingEncoder())
    await core.load()
    async with served(home) as engine:
        engine.face = partial(serve_cli, core, engine.life.finish, None)
        client = await engine.client(HELLO.copy(kind="cli"))
        await client.ask(1, "index", paths=paths)
        assert "must be a list of absolute paths" in str(await client.answer())
    await core.close()


async def test_an_idle_engine_ends_and_a_busy_one_does_not(home):
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


async def test_a_manually_started_engine_does_not_end_when_idle(home):
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


async def test_a_signal_shuts_the_engine_down_cleanly(home):
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


async def test_background_work_is_cancelled_at_the_end(home):
    cancelled = asyncio.Event()

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with served(home, background) as engine:
        await engine.client()
    assert cancelled.is_set()


_HANGING = """
import asyncio, re, sys
from scrubjay.engine.process.lifetime import ended_if_it_hangs

async def live():
    async with ended_if_it_hangs(sys.argv[1], 1.0):
        await asyncio.sleep(2)  # longer than it may hang, while its loop turns
        print("alive", flush=True)
        re.match("(a+)+b", "a" * 40)  # for hours, with the interpreter held

asyncio.run(live())
"""


def test_an_engine_whose_interpreter_is_blocked_ends_and_logs_where(tmp_path):
    deaths = tmp_path / "deaths.log"
    command = [sys.executable, "-c", _HANGING, str(deaths)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stdout == "alive\n" and ended.returncode == 1
    assert "in live" in deaths.read_text() and stat.S_IMODE(deaths.stat().st_mode) == 0o600
