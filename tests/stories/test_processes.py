"""Clients and engines as real processes: started together, killed, upgraded, manual and in-process. One
engine, then none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from clients import ECHO_PIPE, INITIALIZE, ON_POSIX, by_hand, command_line, engines, heard, root, start, until

from scrubjay.errors import EngineError, NotFound
from scrubjay.home.paths import Home, open_home
from scrubjay.pipe.reach import take_over
from scrubjay.wire.hello import hello_from

__all__ = ["root", "start"]  # fixtures

pytestmark = ON_POSIX

# One engine, then none.


def test_the_engine_is_detached_and_has_its_own_session(root, start):
    client = start(idle=10)
    engine = psutil.Process(client.pid_of_engine())
    assert engine.ppid() not in (client.process.pid, os.getpid())
    assert os.getsid(engine.pid) not in (os.getsid(0), os.getsid(client.process.pid))
    assert engine.cwd() == root and "serve" in engine.cmdline()


def test_a_client_whose_parent_dies_leaves_no_pipe(root):
    ends_of_input, ends_of_output = os.pipe(), os.pipe()
    pipe_arguments = [ECHO_PIPE, root, "0.1.0", "0.5"]
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, *{pipe_arguments}], stdout={ends_of_output[1]})\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    streams = {"stdin": ends_of_input[0], "stdout": subprocess.PIPE, "pass_fds": [ends_of_output[1]]}
    with subprocess.Popen([sys.executable, "-c", code], **streams) as parent:
        pipe = psutil.Process(int(parent.stdout.readline()))
        until(lambda: engines(root), "an engine")
        parent.kill()
    until(
        lambda: not pipe.is_running() or pipe.status() == psutil.STATUS_ZOMBIE,
        "the pipe ended, though its input is open",
    )
    for fd in (*ends_of_input, *ends_of_output):
        os.close(fd)


# Versions.


def test_an_older_and_a_newer_client_share_the_newer_engine(root, start, tmp_path):
    older = start(version="0.1.0")
    assert older.open()["result"]["serverInfo"]["version"] == "0.1.0"
    first = older.pid_of_engine()
    older.call(1, wait=str(tmp_path / "go"))
    until(lambda: heard(root).count((first, "tools/call")) == 2, "the call is in flight")
    newer = start(version="0.2.0")
    newer.say(0, **INITIALIZE)
    until(lambda: json.loads(Path(root, "engine.json").read_text())["finishing"], "the older engine finishes")
    (tmp_path / "go").touch()
    assert older.hear()["result"]["pid"] == first
    assert newer.hear()["result"]["serverInfo"]["version"] == "0.2.0"
    assert newer.pid_of_engine() == older.pid_of_engine() != first
    assert len(engines(root)) == 1


def test_a_manually_started_engine_is_used_and_reported_but_never_replaced(root, start):
    with by_hand(root, "0.1.0") as engine:
        client = start(version="0.2.0")
        assert client.open()["result"]["serverInfo"]["version"] == "0.1.0"
        assert client.leave() == 0
        assert b"was started by hand; restart it to use 0.2.0" in client.process.stderr.read()
        with pytest.raises(EngineError, match="started by hand"):
            take_over(open_home(root), hello_from("cli", {}, "/", os.getpid()))
        engine.terminate()


def test_starting_an_engine_manually_replaces_an_automatic_one(root, start):
    client = start()
    client.open()
    first = client.pid_of_engine()
    take_over(open_home(root), hello_from("cli", {}, "/", os.getpid())).release()
    assert first not in [engine.pid for engine in engines(root)]
    with by_hand(root, "0.1.0") as engine:
        assert client.pid_of_engine() == engine.pid
        engine.terminate()


# The command line, and a client that has to be the engine itself.


def test_the_command_line_calls_the_engine_and_can_end_it(root, start):
    with pytest.raises(EngineError, match="No engine is running"):
        command_line(root)
    client = start()
    engine_pid = client.pid_of_engine()
    seen: list[dict] = []
    with command_line(root) as engine:
        assert engine.call("status", {}, seen.append) == {"pid": engine_pid, "clients": 2}
        assert seen == [{"done": 1}] and engine.engine["pid"] == engine_pid
        with pytest.raises(NotFound, match="There is no such thing"):
            engine.call("complain", {})
        engine.call("finish", {})
    until(lambda: not engines(root), "the engine ended")
    client.process.stdin.close()


def test_an_in_process_client_is_the_engine_and_serves_others_too(root, start):
    inside = start(flags=("inside",))
    inside.open()
    assert inside.pid_of_engine() == inside.process.pid
    other = start(flags=("inside",))
    assert other.pid_of_engine() == inside.process.pid
    assert not engines(root)
    assert inside.leave() == 0
    other.call(1)
    assert "No engine is running" in other.hear()["result"]["content"][0]["text"]


def test_a_port_with_a_token_serves_pipes_too(root, start):
    client = start(flags=("loopback",))
    client.open()
    assert "address" in json.loads(Path(root, "engine.json").read_text())
    assert Home(root).socket not in [os.path.join(root, name) for name in os.listdir(root)]
