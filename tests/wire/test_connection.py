"""One client's connection to an engine: its hello, its limits, and that it never disturbs another's. Real
sockets.
"""

from __future__ import annotations

import asyncio

import pytest
from served import HELLO, PATIENCE, home, served

from scrubjay.wire.hello import encode, fields_of
from scrubjay.wire.lines import BEAT
from scrubjay.wire.messages import CALL_MARKS

__all__ = ["home"]  # a fixture


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"GET / HTTP/1.1\n", "not a JSON object"),
        (encode(HELLO.copy(kind="hook")), "no face"),
        (b"x" * 70_000 + b"\n", "70000 bytes"),
    ],
)
async def test_a_client_without_a_hello_is_told_so_and_disconnected(home, line, named):
    async with served(home) as engine:
        client = await engine.knock()
        await client.say(line)
        assert named in fields_of(await client.hear())["error"]
        assert await client.hear() == b""


async def test_a_failing_connection_affects_only_its_own_client(home, caplog):
    async with served(home) as engine:
        good = await engine.client()
        bad = await engine.client(HELLO.copy(pid=666))
        assert await bad.hear() == b""
        await good.ask(1)
        assert (await good.answer())["id"] == 1
    assert "a face with a fault" in caplog.text


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"text": "x" * 100_000}, "longer than 100000 bytes"), ({"list": [0] * CALL_MARKS}, "20,000 strings")],
    ids=["long", "many parts"],
)
async def test_a_line_beyond_a_limit_is_answered_and_the_next_one_works(home, fields, why):
    async with served(home, line_limit=100_000) as engine:
        client = await engine.client()
        await client.ask(1, **fields)
        error = await client.answer()
        assert error["id"] == 1 and why in error["error"]["message"]
        await client.ask(2)
        assert (await client.answer())["id"] == 2


async def test_the_command_line_may_send_more_than_a_model(home):
    async with served(home) as engine:
        client = await engine.client(HELLO.copy(kind="cli"))
        await client.ask(1, list=[0] * CALL_MARKS)
        assert (await client.answer())["id"] == 1


async def test_an_answer_above_the_limit_becomes_an_error(home):
    async with served(home, line_limit=100_000) as engine:
        client = await engine.client()
        await client.ask(1, bytes=100_000)
        error = await client.answer()
        assert error["id"] == 1 and "Ask for less" in error["error"]["message"]


async def test_a_large_answer_reaches_a_client_that_reads(home):
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


async def test_a_client_that_closed_its_input_still_gets_its_answers(home):
    async with served(home) as engine:
        engine.gate.clear()
        client = await engine.client()
        await client.ask(1)
        client.writer.write_eof()
        engine.gate.set()
        assert (await client.answer())["id"] == 1
        assert await client.hear() == b""


async def test_a_sign_of_life_does_not_wait_for_requests(home):
    async with served(home) as engine:
        engine.gate.clear()
        client = await engine.client()
        await client.ask(1)
        await client.say(BEAT)
        assert await client.hear() == BEAT
        engine.gate.set()
        assert (await client.answer())["id"] == 1
