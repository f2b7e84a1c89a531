"""Access control on every route: tokens, Host and Origin, sizes and rates. The application behind the gateway
returns the permissions that it got.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import httpx2
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from scrubjay.errors import InputError
from scrubjay.home.paths import Home
from scrubjay.http_api import answering, limits, tokens
from scrubjay.http_api import gateway as gateway_module
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.limits import AT_ONCE, LONGEST_BODY, WAITING, Rate
from scrubjay.http_api.options import Options, parse_address, parse_name, parse_origin
from scrubjay.wire.messages import LARGE, MOST_MARKS

NOW = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)
HERE, EVERYWHERE = parse_address("127.0.0.1:6767"), parse_address("0.0.0.0:6767")


async def says_its_permissions(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    body = await request.body()
    await JSONResponse({**dataclasses.asdict(request.state.permissions), "bytes": len(body)})(
        scope, receive, send
    )


def visitor(gateway: Gateway, base: str = "http://127.0.0.1:6767") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=gateway), base_url=base)


@pytest.fixture
async def open_client() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a `Gateway` without tokens."""
    async with visitor(Gateway(says_its_permissions)) as client:
        yield client


@pytest.fixture
def guarded(home: Home) -> Gateway:
    """A `Gateway` that accepts the home's tokens."""
    return Gateway(says_its_permissions, Options(HERE), tokens.Tokens(home).now)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


# -- access --------------------------------------------------------------------------------------------------


async def test_on_loopback_any_key_is_accepted_while_there_is_no_token(open_client: httpx2.AsyncClient):
    for headers in ({}, bearer("local"), bearer("sm_anything_at_all_12345"), {"Authorization": "Basic eDp5"}):
        answer = await open_client.get("/v4/search", headers=headers)
        assert answer.json() == {"tag": None, "read_only": False, "bytes": 0}


async def test_tokens_are_required_as_soon_as_they_exist_and_until_they_are_removed(
    home: Home, guarded: Gateway
):
    async with visitor(guarded) as client:
        assert (await client.get("/")).status_code == 200
        _, key = tokens.add(home, NOW)
        wrong = ({}, {"Authorization": key}, *map(bearer, ("sm_wrong", key[:-1], key + "=", "")))
        for headers in wrong:
            answer = await client.get("/v3/documents/x", headers=headers)
            assert answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")
            assert "scrubjay token add" in answer.json()["error"]
        assert (await client.get("/api/v1/status")).json().keys() == {"detail"}
        assert (await client.get("/", headers=bearer(key))).status_code == 200
        assert (await client.get("/", headers={"Authorization": f"bearer {key}"})).status_code == 200
        tokens.remove(home, "token")
        assert (await client.get("/")).status_code == 200


async def test_a_public_address_needs_a_key_even_after_the_last_token_is_removed(home: Home):
    gateway = Gateway(says_its_permissions, Options(EVERYWHERE), tokens.Tokens(home).now)
    async with visitor(gateway, "http://10.0.0.7:6767") as client:
        assert (await client.get("/")).status_code == 401


async def test_a_read_only_token_searches_and_lists_and_changes_nothing(home: Home, guarded: Gateway):
    _, key = tokens.add(home, NOW, read_only=True)
    reads = "/v3/search /v4/search /v4/profile /v4/profile/buckets /v3/documents/list /v3/documents/documents".split()
    reads += "/v4/memories/list /ns/a/search /ns/a/profile /ns/a/list/documents /api/v1/search /mcp".split()
    writes = [
        ("POST", f"/{path}") for path in "v3/documents v4/memories v4/conversations api/v1/ingest".split()
    ]
    changed = ("/v3/documents/x", "/v4/memories", "/ns/a/profile/buckets")
    writes += [(verb, path) for verb in ("PUT", "PATCH", "DELETE") for path in changed]
    async with visitor(guarded) as client:
        for path in reads:
            assert (await client.post(path, headers=bearer(key))).status_code == 200, path
        for verb, path in writes:
            answer = await client.request(verb, path, headers=bearer(key))
            assert answer.status_code == 403 and "may only read" in answer.text, (verb, path)


async def test_a_server_with_unreadable_tokens_accepts_no_key(home: Home, guarded: Gateway):
    with open(home.tokens, "w") as file:
        file.write("{")
    async with visitor(guarded) as client:
        answer = await client.get("/v3/documents/x")
    assert answer.status_code == 503 and "tokens.json" in answer.json()["error"]


# -- host and origin -----------------------------------------------------------------------------------------


async def test_requests_to_its_own_names_are_answered(open_client: httpx2.AsyncClient):
    for host in ("127.0.0.1", "127.0.0.1:6767", "localhost:1", "LOCALHOST", "[::1]:6767", "[::1]", "::1"):
        assert (await open_client.get("/openapi.json", headers={"Host": host})).status_code == 200


async def test_a_foreign_name_that_points_here_is_rejected(open_client: httpx2.AsyncClient):
    for host in """
    evil.example evil.example:6767 127.0.0.1.evil.example localhost.evil.example 10.0.0.7
    127.0.0.1:6767@evil.example evil@localhost [::1]evil.example localhost:67:67 127.0.0.1:x [::1
    """.split():
        answer = await open_client.get("/openapi.json", headers={"Host": host})
        assert answer.status_code == 421 and "--allow-host" in answer.json()["error"]


@pytest.mark.parametrize(
    ("host", "status"),
    [("10.0.0.7", 401), ("[fd00::7]:6767", 401), ("nas.lan:6767", 401), ("evil.example", 421)],
)
async def test_on_a_public_address_numbers_and_allowed_names_are_answered(host: str, status: int):
    async with visitor(Gateway(says_its_permissions, Options(EVERYWHERE, names=("nas.lan",)))) as client:
        assert (await client.get("/", headers={"Host": host})).status_code == status


async def test_a_page_of_a_foreign_origin_is_refused(open_client: httpx2.AsyncClient):
    for origin in "http://evil.example null http://localhost:3000 file:// http://127.0.0.1:67670 http://[ http://]".split():
        for verb in ("GET", "POST", "OPTIONS"):
            answer = await open_client.request(verb, "/v4/search", headers={"Origin": origin})
            assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers


async def test_only_an_allowed_origin_may_ask(home: Home):
    _, key = tokens.add(home, NOW)
    page = "https://app.example.com"
    gateway = Gateway(says_its_permissions, Options(HERE, origins=(page,)), tokens.Tokens(home).now)
    wish = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    evil = {"Origin": "https://evil.example"}
    async with visitor(gateway) as client:
        preflight = await client.options("/v4/search", headers={"Origin": page, **wish})
        assert preflight.status_code == 200 and preflight.headers["access-control-allow-origin"] == page
        assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
        refused = await client.options("/v4/search", headers={**wish, **evil})
        assert refused.status_code == 400 and "access-control-allow-origin" not in refused.headers
        foreign = await client.options("/v4/search", headers={"Origin": page, **wish, "Host": "evil.example"})
        assert foreign.status_code == 421
        for key_header, status in ((bearer(key), 200), ({}, 401)):
            readable = await client.post("/v4/search", headers={"Origin": page, **key_header})
            assert (readable.status_code, readable.headers["access-control-allow-origin"]) == (status, page)
        assert (await client.post("/v4/search", headers={**evil, **bearer(key)})).status_code == 403


@pytest.mark.parametrize(
    ("parse", "option", "wrong"),
    [
        (parse_origin, "--cors", "* app.example.com https://app.example.com/path ftp://x null http://["),
        (parse_origin, "--cors", "http://a:b https://u:p@x.example"),
        (parse_address, "--http", "127.0.0.1:x 127.0.0.1:-1 127.0.0.1:65536 example.com:1"),
        (parse_address, "--http", f"127.0.0.1:{'9' * 5_000}"),
        (parse_name, "--allow-host", "https://x x:80 *"),
    ],
)
def test_a_malformed_option_is_refused_in_a_sentence(parse: Callable[[str], object], option: str, wrong: str):
    for text in ["", "a b", *wrong.split()]:
        with pytest.raises(InputError, match=option):
            parse(text)


# -- how much and how often ----------------------------------------------------------------------------------


async def test_a_too_long_body_is_refused_with_or_without_a_declared_length():
    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1_000_000):
            yield b"x" * 1_000_000

    async with visitor(Gateway(says_its_permissions)) as client:
        said = await client.post(
            "/v3/documents", content=b"", headers={"Content-Length": str(LONGEST_BODY + 1)}
        )
        unsaid = await client.post("/api/v1/ingest", content=chunks(LONGEST_BODY + 1_000_000))
        form = {"Content-Type": "multipart/form-data; boundary=x", "Authorization": "Bearer any"}
        fits = await client.post("/v3/documents/file", content=chunks(LONGEST_BODY), headers=form)
    assert said.status_code == unsaid.status_code == 413
    assert "33,554,432" in said.json()["error"] and "33,554,432" in unsaid.json()["detail"]
    assert fits.json()["bytes"] == LONGEST_BODY


async def test_json_with_too_many_parts_is_refused_before_parsing_but_accepted_as_a_file():
    crowd = b'{"tags":[' + b",".join([b"[]"] * MOST_MARKS) + b"]}"
    async with visitor(Gateway(says_its_permissions)) as client:
        refused = await client.post("/v4/search", content=crowd, headers={"Content-Type": "application/json"})
        key = {"Authorization": "Bearer any"}
        taken = await client.post("/v3/documents/file", files={"file": crowd}, headers=key)
    assert refused.status_code == 413 and "500,000" in refused.json()["error"]
    assert taken.json()["bytes"] > len(crowd)


async def test_json_that_is_not_utf_8_is_refused(open_client: httpx2.AsyncClient):
    """Its brackets and commas cannot be counted: half a character may look like a quote."""
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        body = '{"q": "∢"}'.encode(encoding)
        refused = await open_client.post(
            "/v4/search", content=body, headers={"Content-Type": "application/json"}
        )
        assert refused.status_code == 400 and "UTF-8" in refused.json()["error"]


async def test_a_compressed_body_is_refused(open_client: httpx2.AsyncClient):
    for coding, status in (("gzip", 415), ("identity", 200)):
        headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
        answer = await open_client.post("/v4/search", content=b'{"q": "owls"}', headers=headers)
        assert answer.status_code == status
        assert status == 200 or "compressed" in answer.json()["error"]


async def test_large_bodies_are_handled_one_at_a_time_and_small_ones_meanwhile():
    working, most, go_on = 0, 0, asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal working, most
        large = scope["path"] == "/v3/documents"
        working += large
        most = max(most, working)
        if large:
            await go_on.wait()
        working -= large
        await JSONResponse({})(scope, receive, send)

    async with visitor(Gateway(app)) as client:
        body = b'"' + b"x" * LARGE + b'"'
        large = [asyncio.create_task(client.post("/v3/documents", content=body)) for _ in range(AT_ONCE)]
        await settled()
        small = await asyncio.wait_for(client.post("/v4/search", content=b"{}"), 2)
        go_on.set()
        assert small.status_code == 200
        assert [answer.status_code for answer in await asyncio.gather(*large)] == [200] * AT_ONCE
    assert most == 1


async def test_a_runaway_loop_is_throttled_and_no_other_caller_is(home: Home):
    keys = [tokens.add(home, NOW)[1] for _ in range(2)]
    seconds = [0.0]
    options = Options(HERE, per_second=5)
    gateway = Gateway(says_its_permissions, options, tokens.Tokens(home).now, lambda: seconds[0])
    async with visitor(gateway) as client:
        statuses = [(await client.get("/", headers=bearer(keys[0]))).status_code for _ in range(11)]
        assert statuses == [200] * 10 + [429]
        refused = await client.get("/api/v1/status", headers=bearer(keys[0]))
        assert refused.headers["Retry-After"] == "2" and "Too many" in refused.json()["detail"]
        assert (await client.get("/", headers=bearer(keys[1]))).status_code == 200
        seconds[0] = 2.0
        assert (await client.get("/", headers=bearer(keys[0]))).status_code == 200


async def test_guessing_keys_is_throttled_too(home: Home):
    tokens.add(home, NOW)
    gateway = Gateway(says_its_permissions, Options(HERE, per_second=1), tokens.Tokens(home).now, lambda: 0.0)
    async with visitor(gateway) as client:
        guesses = [await client.get("/", headers=bearer(f"sm_{guess}")) for guess in range(3)]
    assert [answer.status_code for answer in guesses] == [401, 401, 429]


@given(st.floats(0.5, 1000), st.lists(st.floats(0, 2), max_size=200))
def test_no_caller_gets_more_than_the_rate_and_the_burst(per_second: float, pauses: list[float]):
    now, taken = [0.0], 0
    rate = Rate(per_second, lambda: now[0])
    for pause in pauses:
        now[0] += pause
        taken += rate.wait("a") == 0
    assert taken <= max(1.0, 2 * per_second) + per_second * now[0] + 1e-6


def test_a_rate_of_zero_means_no_limit():
    assert not any(Rate(0, lambda: 0.0).wait("a") for _ in range(1000))


async def test_a_form_needs_an_origin_or_a_key(open_client: httpx2.AsyncClient) -> None:
    upload = {"file": ("a.txt", b"A heron.", "text/plain")}
    refused = await open_client.post("/v3/documents/file", files=upload)
    assert refused.status_code == 403 and "Authorization" in refused.text
    for kind in ("text/plain", "application/x-www-form-urlencoded; charset=utf-8", "Multipart/Form-Data"):
        answer = await open_client.post("/v4/search", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 403
    for headers in (bearer("any"), {"Origin": "http://127.0.0.1:6767"}):
        assert (
            await open_client.post("/v3/documents/file", files=upload, headers=headers)
        ).status_code == 200
    assert (await open_client.post("/v4/search", json={})).status_code == 200
    crossed = await open_client.post("/v4/search", json={}, headers={"Sec-Fetch-Site": "cross-site"})
    assert crossed.status_code == 403


async def test_a_removed_token_file_grants_no_access(guarded: Gateway, home: Home) -> None:
    tokens.add(home, NOW)
    async with visitor(guarded) as client:
        assert (await client.get("/")).status_code == 401
        os.remove(home.tokens)
        assert (await client.get("/")).status_code == 503


async def test_a_connection_that_does_not_complete_its_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answering, "IDLE_SECONDS", 0.05)
    config = uvicorn.Config(says_its_permissions, lifespan="off", timeout_keep_alive=60)
    config.load()
    loop = asyncio.get_running_loop()
    make = functools.partial(answering._Connection, config, uvicorn.server.ServerState(), {})
    server = await loop.create_server(make, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    for said in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(said)
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
    server.close()


class Slow:
    """An application that works on each request until it is released, and reports which began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        await self.go.acquire()
        await JSONResponse({})(scope, receive, send)


async def asked(gateway: Gateway, path: str, key: str, port: int = 1, method: str = "GET") -> httpx2.Response:
    transport = httpx2.ASGITransport(app=gateway, client=("127.0.0.1", port))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:6767") as client:
        return await client.request(method, path, headers=bearer(key))


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_caller_with_600_requests_does_not_delay_another() -> None:
    slow = Slow()
    gateway = Gateway(slow, Options(HERE, per_second=0))
    flood = [asyncio.create_task(asked(gateway, f"/{n}", "many")) for n in range(600)]
    await settled()
    other = asyncio.create_task(asked(gateway, "/other", "one"))
    await settled()
    assert slow.begun == [*(f"/{n}" for n in range(AT_ONCE)), "/other"]
    for _ in range(AT_ONCE + WAITING + 1):
        slow.go.release()
    assert (await other).status_code == 200
    answers = await asyncio.gather(*flood)
    assert [answer.status_code for answer in answers] == [200] * (AT_ONCE + WAITING) + [429] * (592 - WAITING)
    assert int(answers[-1].headers["Retry-After"]) >= 1 and "at once" in answers[-1].json()["error"]
    assert not gateway._slots._requests  # a caller that left is forgotten


async def test_a_busy_engine_answers_in_time_and_finishes_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "CALL_SECONDS", 0.1)
    slow, ended = Slow(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await slow(scope, receive, send)
        ended.set()

    gateway = Gateway(app, Options(HERE, per_second=0))
    read = await asked(gateway, "/v4/memories", "any")
    assert read.status_code == 503 and read.headers["Retry-After"] == "1"
    assert "no answer after 0.1 seconds" in read.json()["error"] and "kept" not in read.text
    transport = httpx2.ASGITransport(app=gateway)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:6767") as client:
        wrote = await client.post("/v4/memories", json={}, headers=bearer("any"))
    assert wrote.status_code == 503 and "may or may not have been kept" in wrote.json()["error"]
    for _ in range(2):
        slow.go.release()
    await asyncio.wait_for(ended.wait(), 10)
    await settled()
    assert not gateway._slots._requests and not gateway._unanswered


async def test_a_waiting_request_is_answered_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "CALL_SECONDS", 0.1)
    slow = Slow()
    gateway = Gateway(slow, Options(HERE, per_second=0))
    answers = await asyncio.gather(*(asked(gateway, f"/{n}", "any") for n in range(AT_ONCE + 2)))
    assert [answer.status_code for answer in answers] == [503] * (AT_ONCE + 2)
    assert len(slow.begun) == AT_ONCE


@pytest.mark.parametrize(
    "call", ["POST /v3/documents/batch", "DELETE /v3/container-tags/owls", "DELETE /ns/owls"]
)
async def test_a_request_with_many_records_may_take_longer(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(gateway_module, "CALL_SECONDS", 0.05)
    slow, (method, path) = Slow(), call.split()
    gateway = Gateway(slow, Options(HERE))
    batch = asyncio.ensure_future(asked(gateway, path, "any", method=method))
    for _ in range(2):  # one after the other, so that the time of the first request has passed as well
        assert (await asked(gateway, "/v3/documents", "any")).status_code == 503
    for _ in range(3):
        slow.go.release()
    assert (await batch).status_code == 200


async def test_an_answer_that_has_begun_has_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "CALL_SECONDS", 0.05)

    late = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, late.set)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await late.wait()
        await send({"type": "http.response.body", "body": b"all of it"})

    assert (await asked(Gateway(app, Options(HERE)), "/", "any")).text == "all of it"


@pytest.fixture
async def served() -> AsyncIterator[
    Callable[..., Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
]:
    """Opens connections to a `Gateway` that accepts any key, and sends the given data."""
    gateway = Gateway(says_its_permissions, Options(HERE, per_second=0))
    options, listening = Options(parse_address("127.0.0.1:0")).bind()
    writers: list[asyncio.StreamWriter] = []

    async def connect(data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", options.address.port)
        writers.append(writer)
        writer.write(data)
        return reader, writer

    async with answering.answering(gateway, listening):
        yield connect
        for writer in writers:
            writer.close()
    assert not gateway._slots._requests and not gateway._buffered.count


BEGUN = b"POST /v4/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer any\r\nContent-Length: 100000\r\n\r\n{"


@pytest.mark.parametrize("said", [True, False])
async def test_a_client_that_sends_too_much_reads_a_413(served, said: bool):
    """Closing a connection while the client is still sending would lose the answer."""
    length = "Content-Length: 40000000" if said else "Transfer-Encoding: chunked"
    reader, writer = await served(BEGUN.replace(b"Content-Length: 100000", length.encode())[:-1])
    for _ in range(40):
        writer.write((b"" if said else b"F4240\r\n") + b"x" * 1_000_000 + (b"" if said else b"\r\n"))
        await writer.drain()
    writer.write(b"" if said else b"0\r\n\r\n")
    async with asyncio.timeout(10):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 413") and b"33,554,432" in answer


async def test_a_slow_sender_blocks_no_other_client(served):
    slow = [await served(BEGUN) for _ in range(4 * AT_ONCE)]
    for reader, _ in slow:
        assert not reader.at_eof()
    reader, _ = await served(BEGUN + b"x" * 99_999)
    assert b" 200 " in await asyncio.wait_for(reader.readline(), 10)


async def test_waiting_bodies_take_a_bounded_amount_of_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MOST_HELD", 1_000_000)
    gateway, slow = Gateway(says_its_permissions, Options(HERE, per_second=0)), asyncio.Event()

    async def half() -> AsyncIterator[bytes]:
        yield b"x" * 900_000
        await slow.wait()

    async with visitor(gateway) as client:
        waits = asyncio.create_task(client.post("/v3/documents", content=half(), headers=bearer("any")))
        await settled()
        refused = await client.post("/v3/documents", content=b"x" * 300_000, headers=bearer("other"))
        assert refused.status_code == 503 and refused.headers["Retry-After"] == "1"
        small = await client.post("/v3/documents", content=b"x" * 60_000, headers=bearer("other"))
        assert small.json()["bytes"] == 60_000
        slow.set()
        assert (await waits).json()["bytes"] == 900_000
    assert not gateway._buffered.count


async def test_a_slow_reader_occupies_no_slot():
    gateway, going = Gateway(says_its_permissions, Options(HERE, per_second=0)), asyncio.Event()

    async def empty() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def unread(message: Message) -> None:
        if message["type"] == "http.response.body":
            await going.wait()

    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer any")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    taking = [
        asyncio.create_task(gateway({**scope, "client": ("127.0.0.1", n)}, empty, unread))
        for n in range(AT_ONCE)
    ]
    await settled()
    assert not any(each.done() for each in taking)
    assert (await asyncio.wait_for(asked(gateway, "/", "any"), 10)).status_code == 200
    going.set()
    await asyncio.gather(*taking)


async def test_a_client_that_disconnects_while_waiting_occupies_no_slot() -> None:
    slow = Slow()
    gateway = Gateway(slow, Options(HERE, per_second=0))
    flood = [asyncio.create_task(asked(gateway, f"/{n}", "any")) for n in range(AT_ONCE + 3)]
    await settled()
    flood[AT_ONCE].cancel()
    slow.go.release()
    flood[AT_ONCE + 1].cancel()  # when its turn comes
    await settled()
    for _ in range(AT_ONCE + 2):
        slow.go.release()
    answers = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(answer, httpx2.Response) for answer in answers) == AT_ONCE + 1
    assert not gateway._slots._requests
