"""Clients and engines of the real product that are killed or replaced: one engine, then none, and every
acknowledged turn stored once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
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


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("count", "turns", "kills"), [(2, 12, 1), pytest.param(4, 50, 2, marks=pytest.mark.long)]
)
def test_turns_from_several_clients_survive_engines_that_are_killed_meanwhile(
    user, opens, count, turns, kills
):
    clients, acknowledged = [opens() for _ in range(count)], threading.Semaphore(0)

    def record(client: Assistant, session: str, numbered: bool) -> None:
        for turn in range(turns):
            named = {"turn": turn} if numbered else {}
            while client.call("record_turn", session_id=session, user=f"{session} says {turn}", **named).get(
                "isError"
            ):
                pass  # it may or may not have been stored: repeating it is safe
            acknowledged.release()

    threads = [
        threading.Thread(target=record, args=(client, f"s{number}", number % 2 == 0))
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    killed = set()
    for _ in range(kills):
        for _ in range(count * turns * 3 // 10):
            assert acknowledged.acquire(timeout=30)
        for engine in engines(user.home.root):
            os.kill(engine.pid, signal.SIGKILL)
            killed.add(engine.pid)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert len(killed) == kills and len(engines(user.home.root)) == 1
    assert turns_by_session(user) == {f"s{number}": list(range(turns)) for number in range(count)}
    assert spool.broken_paths(user.home) == []


@pytest.mark.long
def test_clients_of_three_versions_share_the_newest_engine(user, opens):
    def version(of: Assistant) -> str:
        return (
            json.loads(user.gets("status", "--json"))["engine"]["version"]
            if of.recall("anything") is not None
            else ""
        )

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
