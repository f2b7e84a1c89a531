"""A pipe without an engine gives the same answers as the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from offering import CLIENT, LISTS, META, engine_answers, envelope, everything, hello, request

from scrubjay.pipe.offer import OFFER_FILE, read_offer
from scrubjay.pipe.session import Message

MODERN = MODERN_PROTOCOL_VERSIONS[-1]
DISCOVER = request("server/discover", envelope(MODERN))
CALL = {"name": "search_memories", "arguments": {"query": "?"}}


def offered(*requests: dict[str, Any]) -> list[Any]:
    """The answers of one client's pipe to each request; None for those it leaves to an engine."""
    offer = read_offer()
    lines = [offer.answer(Message(json.dumps(each).encode() + b"\n")) for each in requests]
    assert all(line is None or line.endswith(b"\n") for line in lines)
    return [line and json.loads(line) for line in lines]


async def test_the_offer_file_holds_the_engines_answers():
    with open(OFFER_FILE, encoding="utf-8") as file:
        written = json.load(file)
    assert written == await everything(), "run `python tests/support/offering.py`, which rewrites the file"


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, MODERN, "1999-01-01", ""])
async def test_the_answers_after_a_handshake_are_the_engines_at_every_version(version):
    asked = [hello(version), *(request(method, {}, method) for method in ("ping", *LISTS))]
    answers = await engine_answers(asked)
    assert offered(*asked) == [{**answers[each["id"]], "id": each["id"]} for each in asked]


def test_the_version_that_requires_batches_is_not_negotiated():
    (answer,) = offered(hello("2025-03-26"))
    assert answer["result"]["protocolVersion"] == "2024-11-05"


@pytest.mark.parametrize("version", MODERN_PROTOCOL_VERSIONS)
async def test_the_answers_without_a_handshake_are_the_engines_at_every_version(version):
    asked = [request(method, envelope(version), method) for method in ("server/discover", *LISTS)]
    answers = await engine_answers(asked)
    assert offered(*asked) == [{**answers[each["id"]], "id": each["id"]} for each in asked]


@pytest.mark.parametrize(
    "asked",
    [
        request("tools/list", envelope("2027-01-01")),
        request("tools/list", envelope(5)),
        request("tools/list", envelope(MODERN, progressToken=None)),
        request("tools/list", envelope(MODERN) | {"cursor": "a"}),
        request("tools/list", {"_meta": {f"{META}protocolVersion": MODERN}}),
        request("tools/list", envelope(MODERN, **{f"{META}clientInfo": {"name": 5}})),
        request("tools/list", envelope(MODERN, **{f"{META}clientCapabilities": {"roots": 5}})),
        request("tools/list"),
        request("ping", envelope(MODERN)),
        request("resources/read", envelope(MODERN) | {"uri": "scrubjay://turn/1"}),
        request("subscriptions/listen", envelope(MODERN)),
        hello(5),
        hello("2025-11-25", capabilities=None),
        hello("2025-11-25", capabilities={"roots": 5}),
        hello("2025-11-25", clientInfo={"name": "a client"}),
        {**hello("2025-11-25"), "jsonrpc": "1.0"},
        {**hello("2025-11-25"), "params": []},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ],
)
def test_an_unusual_request_is_left_to_an_engine(asked):
    assert offered(asked) == [None]


@pytest.mark.parametrize(
    ("params", "answered"),
    [
        ({"cursor": "a"}, False),
        ({"_meta": 5}, False),
        ({"_meta": {"progressToken": []}}, False),
        ({"_meta": {"progressToken": "a"}}, True),
    ],
)
def test_only_an_unusual_list_after_a_handshake_is_left_to_an_engine(params, answered):
    assert bool(offered(hello("2025-11-25"), request("tools/list", params))[1]) is answered


async def test_an_id_is_returned_unchanged():
    for number in (0, 7, "7", "ä"):
        (answer,) = offered({**hello("2025-11-25"), "id": number})
        assert answer["id"] == number and type(answer["id"]) is type(number)


async def test_the_other_protocol_era_is_left_to_an_engine_after_a_first_request():
    """An engine keeps the protocol era of its first request; only a pipe can tell which that will be."""
    listed, call = request("tools/list", {}, 2), request("tools/call", CALL | envelope(MODERN), 3)
    assert [answer is not None for answer in offered(DISCOVER, hello("2025-11-25"), listed)] == [True] * 3
    assert offered(hello("2025-11-25"), DISCOVER)[1] is None
    assert offered(call, hello("2025-11-25")) == [None, None]
    refused = await engine_answers([hello("2025-11-25"), DISCOVER])
    assert refused[1]["error"]["message"].startswith("this connection serves the handshake protocol")


def test_a_client_with_a_long_self_description_is_answered():
    elicitation = {"form": {}, "url": {}}
    capabilities = {"roots": {"listChanged": True}, "elicitation": elicitation, "experimental": {}}
    about = CLIENT | {"title": "A", "websiteUrl": "https://a.example", "icons": []}
    assert offered(hello("2025-06-18", capabilities=capabilities, clientInfo=about))[0]["result"]
