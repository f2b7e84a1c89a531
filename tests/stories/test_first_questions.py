"""A client's first requests, while its engine starts, cannot start, or is replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Timer

from clients import ON_POSIX, engines, heard, root, start, until

from scrubjay import VERSION

__all__ = ["root", "start"]  # fixtures

pytestmark = ON_POSIX

ABOUT = {"capabilities": {}, "clientInfo": {"name": "codex-mcp-client", "version": "0.169.0"}}
INITIALIZE = {"method": "initialize", "protocolVersion": "2025-06-18", **ABOUT}
META = "io.modelcontextprotocol/"
ENVELOPE = {
    f"{META}protocolVersion": "2026-07-28",
    f"{META}clientCapabilities": {},
    f"{META}clientInfo": ABOUT["clientInfo"],
}


def test_the_first_questions_are_answered_where_no_engine_can_start(root, start):
    os.makedirs(root, mode=0o700)
    Path(root, "fails").touch()
    client = start(flags=("offers",))
    client.say(0, **INITIALIZE)
    assert client.hear()["result"]["protocolVersion"] == "2025-06-18"
    client.say(None, "notifications/initialized")
    client.say(1, "tools/list")
    assert "search_memories" in [tool["name"] for tool in client.hear()["result"]["tools"]]
    client.call(2)
    refused = client.hear()["result"]
    assert refused["isError"] and "The store is upside down." in refused["content"][0]["text"]
    assert not engines(root)


def test_a_late_engine_gets_the_handshake_once_and_the_client_one_answer(root, start):
    client = start(flags=("offers",))
    client.say(0, **INITIALIZE)
    client.say(None, "notifications/initialized")
    client.say(1, "tools/list")
    client.call(2, query="a question")
    answers = [client.hear() for _ in range(3)]
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert answers[0]["result"]["serverInfo"] == {"name": "scrubjay", "title": "Scrubjay", "version": VERSION}
    assert json.loads(answers[2]["result"]["content"][0]["text"]) == {"query": "a question"}
    methods = ["initialize", "notifications/initialized", "tools/call"]
    assert [method for _, method in heard(root)] == methods
    client.call(3, die_once=str(Path(root, "died")))
    assert client.hear()["id"] == 3
    assert [method for _, method in heard(root)] == [*methods, "tools/call", *methods]


def test_a_client_may_use_the_new_protocol_before_the_handshake(root, start):
    """Codex and others ask `server/discover`, and go on with `initialize` whatever the answer is."""
    client = start(flags=("offers",))
    client.say(0, "server/discover", _meta=ENVELOPE)
    client.say(1, **INITIALIZE)  # it does not wait for the first answer
    assert [client.hear()["id"] for _ in range(2)] == [0, 1]
    client.say(2, **INITIALIZE)  # and one that does
    assert client.hear()["result"]["protocolVersion"] == "2025-06-18"
    client.say(None, "notifications/initialized")
    client.call(3, query="a question")
    assert client.hear()["id"] == 3
    assert "server/discover" not in [method for _, method in heard(root)]


def test_a_client_that_only_lists_does_not_wait_for_an_engine(root, start):
    client = start(flags=("offers",))
    client.say(0, **INITIALIZE)
    assert client.hear()["id"] == 0
    assert client.leave() == 0
    until(lambda: not engines(root), "the engine that was on its way ended")


def test_a_call_whose_client_closes_its_input_at_once_is_answered(root, start):
    client = start(flags=("offers",))
    client.say(0, **INITIALIZE)
    client.call(1, query="a question")
    client.process.stdin.close()
    assert [client.hear()["id"] for _ in range(2)] == [0, 1]


def test_a_slow_call_is_answered_after_its_client_has_closed_its_input(root, start, tmp_path):
    client = start()
    client.open()
    client.call(1, wait=str(tmp_path / "done"))
    client.process.stdin.close()
    Timer(2.5, (tmp_path / "done").touch).start()  # later than a pipe without pending answers would exit
    assert client.hear()["id"] == 1
