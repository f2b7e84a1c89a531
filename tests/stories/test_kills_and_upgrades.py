"""Clients and engines of the real product that are killed or replaced: one engine, then none, and every
acknowledged turn stored once.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from assistant import Assistant, engines, until
from user import User

from scrubjay import VERSION
from scrubjay.home import spool

pytestmark = pytest.mark.long

ANOTHER = str(Path(__file__).with_name("another_installation.py"))


def turns_by_session(user: User) -> dict[str, list[int]]:
    """Session -> the numbers of its turns, as the command line lists them."""
    found: dict[str, list[int]] = {}
    for hit in json.loads(user.gets("list", "--all", "--last", "1000", "--json")):
        found.setdefault(hit["session_id"], []).append(hit["turn"])
    return {session: sorted(turns) for session, turns in found.items()}


def test_twenty_clients_killed_in_random_order_lose_no_turn_and_leave_no_engine(user, opens):
    clients = [opens() for _ in range(20)]
    chance = random.Random(7)
    for number, client in enumerate(chance.sample(clients, len(clients))):
        assert client.get("record_turn", session_id=f"s{number}", user=f"Turn of client {number}.")["stored"]
        if number == 10:
            assert len(engines(user.home.root)) == 1
        client.kill()
    until(lambda: not engines(user.home.root), "the last client took the engine with it")
    assert spool.pending(user.home) == []
    assert turns_by_session(user) == {f"s{number}": [0] for number in range(20)}


def test_clients_of_three_versions_share_the_newest_engine(user, opens):
    def version(of: Assistant) -> str:
        of.recall("anything")  # by which it may have to change its engine
        return json.loads(user.gets("status", "--json"))["engine"]["version"]

    older = opens(command=[sys.executable, ANOTHER, "0.0.9"])
    assert version(older) == "0.0.9"
    older.get("record_turn", session_id="s", user="The zebra of the older client.")
    present = opens()
    assert version(present) == VERSION
    newer = opens(command=[sys.executable, ANOTHER, "99.0.0"])
    newer.get("record_turn", session_id="s", user="The zebra of the newer client.")
    for client in (older, present, newer):
        assert sorted(client.recall("zebra client")) == [
            "The zebra of the newer client.",
            "The zebra of the older client.",
        ]
        assert version(client) == "99.0.0"
    assert len(engines(user.home.root)) == 1
    assert turns_by_session(user) == {"s": [0, 1]}
