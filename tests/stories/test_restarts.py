"""Engines that die: killed, finishing, or unable to start. Requests are answered by the next engine, and no
write is done twice.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from clients import INITIALIZE, ON_POSIX, engines, heard, root, start, until

from scrubjay.home.paths import open_home

__all__ = ["root", "start"]  # fixtures

pytestmark = [ON_POSIX, pytest.mark.long]


def test_a_read_in_flight_when_the_engine_is_killed_is_answered_by_the_next(root, start, tmp_path):
    client = start()
    client.open()
    first = client.pid_of_engine()
    client.call("r", die_once=str(tmp_path / "died"))
    answer = client.hear()
    assert answer["id"] == "r" and answer["result"]["pid"] != first
    second = [method for pid, method in heard(root) if pid != first]
    assert second == ["initialize", "notifications/initialized", "tools/call"]
    client.call(9)
    assert client.hear()["id"] == 9  # and nothing of the replay was seen


def test_a_write_in_flight_when_the_engine_is_killed_is_not_repeated(root, start, tmp_path):
    client = start()
    client.open()
    client.call(1, tool="record_turn", die_once=str(tmp_path / "died"))
    answer = client.hear()
    assert answer["id"] == 1 and answer["result"]["isError"]
    assert "may or may not have been stored" in answer["result"]["content"][0]["text"]
    client.call(2, tool="record_turn")
    assert "isError" not in client.hear()["result"]


def test_a_read_that_kills_every_engine_is_tried_only_twice(root, start):
    client = start()
    client.open()
    client.call(1, die=True)
    answer = client.hear()
    assert answer["result"]["isError"] and "stopped twice" in answer["result"]["content"][0]["text"]
    assert [method for _, method in heard(root)].count("tools/call") == 2
    client.call(2)
    assert client.hear()["id"] == 2


def test_an_engine_killed_while_idle_is_restarted_on_demand(root, start):
    client = start()
    client.open()
    os.kill(client.pid_of_engine(), signal.SIGKILL)
    until(lambda: not engines(root), "the engine is gone")
    client.say("1", "tools/list")
    assert client.hear()["id"] == "1"


def test_a_write_that_a_finishing_engine_never_read_is_done_by_the_next(root, start, tmp_path):
    client = start()
    client.open()
    first = client.pid_of_engine()
    client.call(1, wait=str(tmp_path / "go"))
    until(lambda: heard(root).count((first, "tools/call")) == 2, "the call is in flight")
    os.kill(first, signal.SIGTERM)
    until(lambda: json.loads(Path(root, "engine.json").read_text())["finishing"], "the engine finishes")
    client.call(2, tool="add_memory")
    (tmp_path / "go").touch()
    one, two = client.hear(), client.hear()
    assert (one["id"], one["result"]["pid"]) == (1, first)
    assert two["id"] == 2 and two["result"]["pid"] != first and "isError" not in two["result"]


def test_an_engine_that_cannot_start_is_tried_three_times_and_then_explained(root, start):
    Path(open_home(root).root, "fails").touch()
    client = start()
    client.say(0, **INITIALIZE)
    error = client.hear()["error"]["message"]
    assert "The store is upside down." in error and os.path.join(root, "log", "engine.log") in error
    client.call(1)
    assert client.hear()["result"]["isError"]
    other = start()
    other.say(0, **INITIALIZE)
    assert "error" in other.hear()
    assert Path(root, "log", "engine.log").read_text().count("upside down") == 3


def test_a_client_recovers_when_the_engine_can_start_again(root, start):
    Path(open_home(root).root, "fails").touch()
    client = start()
    client.say(0, **INITIALIZE)
    assert "error" in client.hear()
    os.unlink(os.path.join(root, "fails"))
    Path(root, "starting.lock").write_text("")  # as if a minute had passed
    assert client.open()["result"]["serverInfo"]["name"] == "echo"
