"""Clients and engines as real processes: started together, killed, upgraded, cut off. One engine, then none, and no answer lost.

The engine is `echo_engine.py`, which has no store; everything else is the product. Each wait is for an event and has a bound.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from scrubjay.engine.lock import FileLock
from scrubjay.errors import EngineError, HomeError, NotFound
from scrubjay.hello import hello_from
from scrubjay.home import Home, open_home
from scrubjay.pipe.client import EngineClient, open_client
from scrubjay.pipe.reach import take_over

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the engine of these tests is stopped by POSIX signals")

HERE = Path(__file__).parent
PATIENCE = 20.0  # seconds; the bound of every wait
INITIALIZE = {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}


def until(true: Callable[[], object], what: str) -> None:
    """Look again and again, until `true` or out of patience."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        select.select([], [], [], 0.01)


class Client:
    """A coding assistant, as far as a pipe can tell: it owns both ends of the pipe's standard streams."""

    def __init__(self, root: str, *, version: str = "0.1.0", idle: float = 0.5, flags: tuple[str, ...] = (), **env: str) -> None:
        command = [sys.executable, str(HERE / "echo_pipe.py"), root, version, str(idle), *flags]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env={**os.environ, **env}, **streams)
        self._unread = b""

    def say(self, id: int | str | None, method: str, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.send(json.dumps(message).encode() + b"\n")

    def send(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def call(self, id: int | str, tool: str = "search_memories", **arguments: object) -> None:
        self.say(id, "tools/call", name=tool, arguments=arguments)

    def hear(self) -> dict:
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._unread:
            assert select.select([self.process.stdout], [], [], end - time.monotonic())[0], "the pipe says nothing"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, f"the pipe ended: {self.process.stderr.read().decode()}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def open(self) -> dict:
        """Initialize as clients do; the engine's answer."""
        self.say(0, **INITIALIZE)
        answer = self.hear()
        self.say(None, "notifications/initialized")
        return answer

    def pid_of_engine(self) -> int:
        self.call("pid")
        return self.hear()["result"]["pid"]

    def leave(self) -> int:
        """Close the pipe's standard input and wait for it to go; its exit code."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def dispose(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):  # what the test had buffered for a pipe that is gone
                stream.close()


def engines(root: str) -> list[psutil.Process]:
    """The running engines of one home, wherever they descend from."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if "serve" in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            try:
                if process.environ().get("SCRUBJAY_HOME") == root:
                    found.append(process)
            except psutil.Error:
                continue
    return found


@pytest.fixture
def root(tmp_path_factory) -> Iterator[str]:
    path = str(tmp_path_factory.mktemp("h") / "home")
    yield path
    for process in engines(path):
        process.kill()


@pytest.fixture
def start(root) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def started(at: str = root, **options: object) -> Client:
        clients.append(Client(at, **options))
        return clients[-1]

    yield started
    for client in clients:
        client.dispose()


def heard(root: str) -> list[tuple[int, str]]:
    """Which engine read which method, in order."""
    lines = Path(root, "heard").read_text().splitlines()
    return [(int(pid), method) for pid, method in (line.split() for line in lines)]


def command_line(root: str) -> EngineClient:
    return open_client(open_home(root), hello_from("cli", {}, "/", os.getpid(), version="0.1.0"), {}, start=False)


# One engine, then none.


def test_twenty_clients_at_once_share_one_engine_that_ends_when_they_left(root, start):
    clients = [start() for _ in range(20)]
    for client in clients:
        client.say(0, **INITIALIZE)
    assert [client.hear()["id"] for client in clients] == [0] * 20
    assert len({client.pid_of_engine() for client in clients}) == 1
    (engine,) = engines(root)
    assert [client.leave() for client in clients] == [0] * 20
    until(lambda: not engines(root), "the engine ended")
    until(lambda: not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE, "its process is gone")


def test_clients_killed_at_random_leave_one_engine_and_then_none(root, start):
    chance = random.Random(7)
    survivor = start()
    survivor.open()
    clients = [start() for _ in range(12)]
    for client in chance.sample(clients, len(clients)):
        if chance.random() < 0.6:  # the others are killed before they have said anything
            client.say(0, **INITIALIZE)
        if chance.random() < 0.5:
            client.hear() if client.process.poll() is None and chance.random() < 0.3 else None
        client.process.kill()
    assert [engine.pid for engine in engines(root)] == [survivor.pid_of_engine()]
    survivor.process.kill()
    until(lambda: not engines(root), "the engine ended")


def test_the_engine_is_nobodys_child_and_has_its_own_session(root, start):
    client = start(idle=10)
    engine = psutil.Process(client.pid_of_engine())
    assert engine.ppid() not in (client.process.pid, os.getpid())
    assert os.getsid(engine.pid) not in (os.getsid(0), os.getsid(client.process.pid))
    assert engine.cwd() == root and "serve" in engine.cmdline()


def test_a_client_whose_parent_dies_leaves_no_pipe(root):
    ends_of_input, ends_of_output = os.pipe(), os.pipe()
    pipe_arguments = [str(HERE / "echo_pipe.py"), root, "0.1.0", "0.5"]
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
    until(lambda: not pipe.is_running() or pipe.status() == psutil.STATUS_ZOMBIE, "the pipe ended, though its input is open")
    for fd in (*ends_of_input, *ends_of_output):
        os.close(fd)


# Engines that die.


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
    assert "may or may not have been kept" in answer["result"]["content"][0]["text"]
    client.call(2, tool="record_turn")
    assert "isError" not in client.hear()["result"]


def test_a_read_that_kills_every_engine_is_tried_twice_only(root, start):
    client = start()
    client.open()
    client.call(1, die=True)
    answer = client.hear()
    assert answer["result"]["isError"] and "stopped twice" in answer["result"]["content"][0]["text"]
    assert [method for _, method in heard(root)].count("tools/call") == 2
    client.call(2)
    assert client.hear()["id"] == 2


def test_an_engine_killed_while_idle_comes_back_when_it_is_needed(root, start):
    client = start()
    client.open()
    os.kill(client.pid_of_engine(), signal.SIGKILL)
    until(lambda: not engines(root), "the engine is gone")
    client.say("1", "tools/list")
    assert client.hear()["id"] == "1"


def test_a_write_the_finishing_engine_never_read_is_done_by_the_next(root, start, tmp_path):
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


# Versions.


def test_an_older_and_a_newer_client_live_together_on_the_newer_engine(root, start, tmp_path):
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


def by_hand(root: str, version: str) -> subprocess.Popen:
    """An engine started by its user, already listening."""
    command = [sys.executable, str(HERE / "echo_engine.py"), "serve", version, "60"]
    engine = subprocess.Popen(command, env={**os.environ, "SCRUBJAY_HOME": root})
    until(lambda: os.path.exists(os.path.join(root, "engine.json")), "it listens")
    return engine


def test_an_engine_started_by_hand_is_used_and_reported_but_never_replaced(root, start):
    with by_hand(root, "0.1.0") as engine:
        client = start(version="0.2.0")
        assert client.open()["result"]["serverInfo"]["version"] == "0.1.0"
        assert client.leave() == 0
        assert b"was started by hand; restart it to use 0.2.0" in client.process.stderr.read()
        with pytest.raises(EngineError, match="started by hand and stays"):
            take_over(open_home(root), hello_from("cli", {}, "/", os.getpid()))
        engine.terminate()


def test_an_engine_to_be_started_by_hand_takes_the_place_of_an_automatic_one(root, start):
    client = start()
    client.open()
    first = client.pid_of_engine()
    take_over(open_home(root), hello_from("cli", {}, "/", os.getpid())).release()
    assert first not in [engine.pid for engine in engines(root)]
    with by_hand(root, "0.1.0") as engine:
        assert client.pid_of_engine() == engine.pid
        engine.terminate()


# Homes.


def test_two_homes_never_see_each_other(root, start):
    other = root + "2"
    one, two = start(), start(other)
    assert one.pid_of_engine() != two.pid_of_engine()
    assert len(engines(root)) == len(engines(other)) == 1
    one.leave()
    until(lambda: not engines(root), "the first engine ended")
    assert two.pid_of_engine() == engines(other)[0].pid
    two.leave()
    until(lambda: not engines(other), "the second engine ended")


def test_a_copied_home_does_not_lead_to_the_engine_of_the_original(root, start):
    one = start()
    first = one.pid_of_engine()
    copy = open_home(root + ".copy").root
    Path(copy, "engine.json").write_text(Path(root, "engine.json").read_text())
    other = start(copy)
    assert other.pid_of_engine() != first
    assert one.pid_of_engine() == first
    other.leave()
    until(lambda: not engines(copy), "the engine of the copy ended")


def test_a_home_with_a_long_path_works(tmp_path_factory, start):
    base = tmp_path_factory.mktemp("h")
    root = str(base / ("long" * 30))
    client = start(root, XDG_RUNTIME_DIR=str(base / "run"))
    assert client.open()["id"] == 0
    assert os.listdir(base / "run" / "scrubjay")
    client.leave()
    until(lambda: not engines(root), "the engine ended")
    assert not os.listdir(base / "run" / "scrubjay")


def test_a_home_that_cannot_be_made_is_explained_to_every_request(tmp_path, start):
    (tmp_path / "file").touch()
    client = start(str(tmp_path / "file" / "home"))
    client.say(0, **INITIALIZE)
    assert "cannot be used: Not a directory" in client.hear()["error"]["message"]
    client.call(1)
    assert "cannot be used" in client.hear()["result"]["content"][0]["text"]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_home_of_another_user_is_refused(root, start):
    os.makedirs(root)
    os.chown(root, 12345, 12345)
    with pytest.raises(HomeError):
        open_home(root)
    client = start()
    client.say(0, **INITIALIZE)
    assert "belongs to user 12345" in client.hear()["error"]["message"]


def test_a_home_removed_under_its_engine_ends_it(root, start):
    client = start()
    client.open()
    os.rename(root, root + ".gone")
    until(lambda: not engines(root), "the engine ended")


def test_an_engine_out_of_reach_is_described_and_its_lock_is_left_alone(root, start):
    home = open_home(root)
    with FileLock(home.engine_lock) as lock:
        assert lock.acquire()
        facts = {"socket": "/elsewhere/engine.sock", "pid": 4711, "version": "0.1.0", "started_at": "2026-03-05T12:00:00Z"}
        Path(home.engine_json).write_text(json.dumps(facts))
        client = start(UNREACHABLE="0.2")
        client.say(0, **INITIALIZE)
        error = client.hear()["error"]["message"]
        assert "pid 4711" in error and "/elsewhere/engine.sock" in error and "container" in error
        assert lock.held
    os.unlink(home.engine_json)
    assert client.open()["id"] == 0


# Traffic.


def test_ids_keep_their_type_and_lines_their_bytes(start):
    client = start()
    client.open()
    client.send('{ "jsonrpc":"2.0",  "id":"é\\u00e9", "method":"tools/call", "params":{"arguments":{"a":"ü\\n"}} }\r\n'.encode())
    answer = client.hear()
    assert answer["id"] == "éé" and json.loads(answer["result"]["content"][0]["text"]) == {"a": "ü\n"}
    client.call(1)
    client.call("1")
    assert {str(type(client.hear()["id"])) for _ in range(2)} == {"<class 'int'>", "<class 'str'>"}


def test_a_line_above_the_limit_is_refused_and_the_next_one_answered(start):
    client = start()
    client.open()
    client.send(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"text":"')
    for _ in range(65):
        client.send(b"x" * (1 << 20))
    client.send(b'"}}\n')
    answer = client.hear()
    assert answer["id"] == 5 and "67108864 bytes" in answer["error"]["message"]
    client.call(6)
    assert client.hear()["id"] == 6


def test_a_client_that_does_not_read_does_not_stop_the_others_and_loses_nothing(root, start):
    stalled, lively = start(), start()
    stalled.open(), lively.open()
    for id in range(30):
        stalled.call(id, bytes=1 << 20)
    with command_line(root) as engine:
        until(lambda: engine.call("status", {})["clients"] == 2, "the stalled client was cut off")
    lively.call("quick")
    assert lively.hear()["id"] == "quick"
    assert sorted(stalled.hear()["id"] for _ in range(30)) == list(range(30))


def test_the_end_of_input_waits_for_answers(start, tmp_path):
    client = start()
    client.open()
    client.call(1, wait=str(tmp_path / "go"))
    client.process.stdin.close()
    (tmp_path / "go").touch()
    assert client.hear()["id"] == 1
    assert client.process.wait(PATIENCE) == 0


def test_the_end_of_input_does_not_wait_for_ever(start, tmp_path):
    client = start()
    client.open()
    client.call(1, wait=str(tmp_path / "never"))
    before = time.monotonic()
    assert client.leave() == 0
    assert time.monotonic() - before < 4


def test_a_last_line_without_a_newline_is_answered(start):
    client = start()
    client.send(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    client.process.stdin.close()
    assert client.hear()["id"] == 1


def test_settings_in_a_clients_environment_are_reported(start):
    client = start(SCRUBJAY_MODEL="other")
    client.open()
    assert client.leave() == 0
    assert b"SCRUBJAY_MODEL has no effect here" in client.process.stderr.read()


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


def test_a_client_that_may_start_nothing_is_the_engine_and_serves_others_too(root, start):
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
