"""`scrubjay serve --http` and `scrubjay token` as a user sees them: the address, start and end, and refusals."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from answering import answering
from mcp import Client, StdioServerParameters
from mcp_calls import connected, kept, said, served
from user import User, make_user

from scrubjay.hosts.installation import console_command
from scrubjay.wire.address import engine_facts

__all__ = ["served"]  # a fixture

ENDS_SECONDS = 15.0  # 5 for requests in flight, and a margin for a busy machine


def test_the_address_is_printed_and_published_in_engine_json(served: tuple[User, str]):
    user, url = served
    assert engine_facts(user.home)["http"] == url and not url.endswith(":0")
    assert url in user.gets("status")
    assert json.loads(user.gets("status", "--json"))["http"] == url
    assert url in user.types("doctor").stdout


def test_the_root_says_what_this_is_and_where_its_routes_are(served: tuple[User, str]):
    answer = httpx2.get(served[1])
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    assert "Scrubjay" in answer.text and "/mcp" in answer.text and "/openapi.json" in answer.text


@pytest.mark.long
def test_open_connections_do_not_delay_the_shutdown(tmp_path: Path):
    owner = make_user(tmp_path)
    with answering(owner) as url:
        where = (urlsplit(url).hostname, urlsplit(url).port)
        idle = [socket.create_connection(where) for _ in range(3)]
        for connection in idle[1:]:
            connection.sendall(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nContent-Type: "
                b"application/json\r\n"
            )
        # a request whose rest never arrives
        idle[2].sendall(b"Accept: application/json, text/event-stream\r\n\r\n{")
        began = time.monotonic()
        owner.gets("stop")
        assert time.monotonic() - began < ENDS_SECONDS
        assert not Path(owner.home.engine_json).exists()
        for connection in idle:
            connection.close()


@pytest.mark.long
async def test_an_engine_started_by_a_client_gives_way_and_the_client_stays_connected(tmp_path: Path):
    owner = make_user(tmp_path)
    pipe = StdioServerParameters(
        command=console_command()[0], args=[*console_command()[1:]], env=owner.env, cwd=owner.project
    )
    async with Client(pipe) as client:
        fact = await kept(client, "The whimbrel was there before HTTP was.")
        assert engine_facts(owner.home)["auto"] and engine_facts(owner.home)["http"] is None
        with answering(owner) as url:
            assert "whimbrel" in await said(client, "search_memories", query="who was there before HTTP?")
            assert not engine_facts(owner.home)["auto"] and engine_facts(owner.home)["http"] == url
            async with connected(url) as other:
                address = f"scrubjay://memory/{fact}?scope=*"  # this client is in no project
                assert "whimbrel" in (await other.read_resource(address)).contents[0].text
        assert "whimbrel" in await said(client, "search_memories", query="who was there before HTTP?")
    owner.types("stop")


@pytest.mark.long
def test_a_public_address_needs_a_token_before_anything_is_started(tmp_path: Path):
    newcomer = make_user(tmp_path)
    assert "scrubjay token add" in newcomer.refused("serve", "--http", "0.0.0.0:0")
    assert not Path(newcomer.home.engine_json).exists()
    key = tmp_path / "key"
    key.write_text("sm_a_key_of_the_users_own\n")
    with answering(newcomer, "--token-file", str(key)) as url:
        assert httpx2.get(f"{url}/openapi.json").status_code == 401
        assert (
            httpx2.get(
                f"{url}/openapi.json", headers={"Authorization": "Bearer sm_a_key_of_the_users_own"}
            ).status_code
            == 200
        )


@pytest.mark.long
def test_options_about_http_need_http(tmp_path: Path):
    newcomer = make_user(tmp_path)
    for words in (
        ("--token", "x" * 20),
        ("--cors", "http://a"),
        ("--allow-host", "a"),
        ("--rate-limit", "5"),
    ):
        assert "--http" in newcomer.refused("serve", *words)
    assert "20" in newcomer.refused("serve", "--http", "0", "--token", "short")
    assert "--rate-limit" in newcomer.refused("serve", "--http", "0", "--rate-limit", "-1")


@pytest.mark.long
def test_tokens_are_created_listed_and_removed_on_the_command_line(tmp_path: Path):
    newcomer = make_user(tmp_path)
    assert "no token" in newcomer.gets("token")
    key = newcomer.gets("token", "add", "--tag", "jay", "--read-only").strip()
    assert key.startswith("sm_") and len(key) == 46
    assert newcomer.gets("token", "list").split()[0] == "jay" and "reads only the tag jay" in newcomer.gets(
        "token", "list"
    )
    assert "'nobody'" in newcomer.refused("token", "remove", "nobody")
    assert "NAME" in newcomer.refused("token", "remove") and "--tag" in newcomer.refused(
        "token", "list", "--tag", "x"
    )
    assert "is the last token" in newcomer.refused("token", "remove", "jay")
    assert "every key is accepted again" in newcomer.gets("token", "remove", "jay", "--open")
