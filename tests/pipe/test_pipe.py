"""The pipe's parts without an engine: lines, glances, the memory of a session, the count of failed starts,
the new process.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scrubjay
from scrubjay.errors import EngineError
from scrubjay.home.paths import open_home
from scrubjay.pipe import client as client_module
from scrubjay.pipe import relay, session
from scrubjay.pipe.client import EngineClient
from scrubjay.pipe.link import Link
from scrubjay.pipe.offer import Offer
from scrubjay.pipe.reach import failed_starts, note_failed_start, reach
from scrubjay.pipe.session import Message, Session
from scrubjay.pipe.spawn import spawn
from scrubjay.wire.hello import Hello
from scrubjay.wire.lines import BEAT, LineCutter, TooLong
from scrubjay.wire.lock import FileLock
from scrubjay.wire.messages import CALL_MARKS, answered_key, glance, is_crowded, well_formed

# Lines.


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=20))
def test_lines_do_not_depend_on_how_bytes_arrive(data, cuts):
    cutter, lines, start = LineCutter(), [], 0
    for size in [*cuts, len(data) + 1]:
        lines += cutter.feed(data[start : start + size])
        start += size
    assert b"".join(lines) + cutter.rest() == data
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=60), st.integers(8000, 9000))
def test_a_long_line_is_dropped_and_the_next_one_is_whole(cuts, limit):
    stream = b'{"id":5,' + b"x" * 2 * limit + b"}\n" + b'{"id":6}\n'
    cutter, lines, start = LineCutter(limit), [], 0
    for size in [*(997 * cut for cut in cuts), len(stream)]:
        lines += cutter.feed(stream[start : start + size])
        start += size
    assert isinstance(lines[0], TooLong) and len(lines[0]) < limit + 200
    assert glance(lines[0]).id == 5
    assert lines[1:] == [b'{"id":6}\n']


def test_a_line_of_exactly_the_limit_passes():
    assert LineCutter(5).feed(b"12345\n123456\n") == [b"12345\n", TooLong(b"123456\n\n123456\n")]


# Glances.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "params", "uri", "a"]) | st.text(), inner)
    ),
    max_leaves=8,
)


@given(
    id=st.integers() | st.text(),
    params=st.dictionaries(st.sampled_from(["name", "uri", "arguments", "requestId", "_meta"]), JSON),
    order=st.permutations(["jsonrpc", "id", "method", "params"]),
    indent=st.sampled_from([(",", ":"), (" , ", " : ")]),
    ascii_only=st.booleans(),
)
def test_a_glance_agrees_with_a_parser(id, params, order, indent, ascii_only):
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    line = json.dumps(
        {name: message[name] for name in order}, separators=indent, ensure_ascii=ascii_only
    ).encode("utf-8", "surrogatepass")
    seen = glance(line)
    assert seen.key == (type(id).__name__, id)  # 1 and "1" are two requests
    assert (seen.id, type(seen.id), seen.method, seen.is_answer) == (id, type(id), "tools/call", False)
    for name, value in (("name", seen.name), ("uri", seen.uri)):
        assert value == (params.get(name) if isinstance(params.get(name), str) else None)


@given(JSON, st.integers() | st.text())
def test_an_answer_is_recognised_whatever_it_contains(result, id):
    for message in ({"result": result, "id": id}, {"id": id, "result": result}, {"error": result, "id": id}):
        for separators in ((",", ":"), (", ", ": ")):
            line = json.dumps(message, separators=separators).encode()
            assert glance(line).is_answer and answered_key(line) == (type(id).__name__, id)


@pytest.mark.parametrize(
    "line",
    [b"", b"junk", b"[]", b'[{"id":1,"method":"x"}]', b'{"id":tru}', b'{"id":null}', b'"id":1', b'{"id":'],
)
def test_anything_but_a_message_has_no_key(line):
    assert glance(line).key is None


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":3,"params":{"text":"', b'"}}\n', 3),
        (b'{"method":"tools/call","params":{"id":9,"text":"', b'","id":8}},"jsonrpc":"2.0","id":"k"}\n', "k"),
        (b'{"params":{"text":"', b'","id":8}}\n', None),
    ],
)
def test_the_id_of_a_dropped_line_is_found_at_its_start_or_end(head, tail, id):
    line = LineCutter(10_000).feed(head + b"x" * 20_000 + tail)[0]
    assert glance(line).id == id


@pytest.mark.parametrize("part", [b'"k":1', b"[]", b"0", b"{}"])
def test_a_line_with_too_many_parts_is_not_parsed_and_is_answered_under_its_id(part):
    crowd = b",".join([part] * CALL_MARKS)
    first = b'{"id":7,"method":"tools/call","params":{"arguments":[' + crowd + b"]}}\n"
    last = b'{"method":"tools/call","params":{"arguments":[' + crowd + b']},"id":"x"}\n'
    inside = b'{"params":{"arguments":[' + crowd + b']},"id":8, "method":"tools/call","jsonrpc":"2.0"}\n'
    for line, id in ((first, 7), (last, "x"), (inside, 8)):
        message = Message(line)
        assert message.parts.id == id and "20,000" in (message.problem or "")


def test_a_line_that_is_not_utf_8_is_refused():
    line = '{"id":1,"method":"x","params":{"a":"∢"}}'.encode("utf-16-le") + b"\n"
    assert "UTF-8" in (Message(b'{"id":1,"method":"x",' + line).problem or "")


def test_a_long_text_is_one_part_whatever_it_contains():
    text = json.dumps('a, [b], {"c": "d"}, ' * CALL_MARKS).encode()
    line = b'{"id":1,"method":"tools/call","params":{"arguments":{"content":' + text + b"}}}"
    assert glance(line).problem is None and not is_crowded(line, CALL_MARKS)


ESCAPES = [r"\ud83d", r"\ude00", r"\uDBFF", r"\u00e9", r"\n", r"\\", r"\"", "x", "ud83d", "é"]


@given(st.lists(st.sampled_from(ESCAPES), max_size=12))
def test_only_lone_surrogates_are_replaced(parts):
    written = "".join(parts)
    text = json.loads(f'"{written}"')
    repaired = json.loads(well_formed(f'"{written}"'.encode()))
    assert repaired == "".join("\ufffd" if 0xD800 <= ord(char) <= 0xDFFF else char for char in text)


# Sessions.


def told(session: Session, number: int | None, **message: object) -> Message:
    out = Message(json.dumps(message).encode())
    session.note_message(out)
    out.number = number
    return out


def opened() -> tuple[Session, list[Message]]:
    """A session whose client has initialized and been answered."""
    session = Session()
    outs = [
        told(session, 1, id=0, method="initialize"),
        told(session, 2, method="notifications/initialized"),
        told(session, 3, id=1, method="logging/setLevel"),
        told(session, 4, id=2, method="resources/subscribe", params={"uri": "a"}),
    ]
    for id in (0, 1, 2):
        session.note_answer(("int", id))
    return session, outs


def test_a_new_engine_gets_the_clients_setup_messages_in_order():
    session, outs = opened()
    told(session, 5, id=3, method="tools/list")
    assert session.replay() == outs


def test_only_the_latest_log_level_and_open_subscriptions_are_replayed():
    session, outs = opened()
    level = told(session, 5, id=3, method="logging/setLevel")
    told(session, 6, id=4, method="resources/unsubscribe", params={"uri": "a"})
    session.note_answer(("int", 3))
    assert session.replay() == [*outs[:2], level]


def test_an_unanswered_initialize_is_resent_and_not_replayed():
    session = Session()
    first = told(session, 1, id=0, method="initialize")
    assert session.replay() == [] and session.sort_loss(None).resend == [first]


def test_reads_are_repeated_once_and_writes_never():
    session, _ = opened()
    read = told(session, 5, id=3, method="tools/call", params={"name": "search_memories"})
    write = told(session, 6, id=4, method="tools/call", params={"name": "record_turn"})
    loss = session.sort_loss(None)
    assert (loss.resend, loss.uncertain, loss.fatal) == ([read], [write], [])
    loss = session.sort_loss(None)
    assert (loss.resend, loss.uncertain, loss.fatal) == ([], [], [read])
    assert session.sort_loss(None) == ([], [], [])


def test_requests_that_a_finishing_engine_never_read_are_repeated_even_if_they_write():
    session, _ = opened()
    seen = told(session, 5, id=3, method="tools/call", params={"name": "add_memory"})
    unseen = told(session, 6, id=4, method="tools/call", params={"name": "add_memory"})
    loss = session.sort_loss(5)
    assert (loss.resend, loss.uncertain) == ([unseen], [seen])


def test_a_clean_engine_shutdown_does_not_use_up_the_one_repetition():
    session, _ = opened()
    stream = told(session, 5, id=3, method="subscriptions/listen")
    assert session.sort_loss(5).resend == [stream]
    assert session.sort_loss(5).resend == [stream]
    assert session.sort_loss(None).resend == [stream]


def test_a_cancelled_request_is_not_repeated_and_one_that_waits_for_an_engine_is_not_lost():
    session, _ = opened()
    told(session, 5, id=3, method="tools/call", params={"name": "search_memories"})
    told(session, 6, method="notifications/cancelled", params={"requestId": 3})
    told(session, None, id=4, method="tools/call", params={"name": "add_memory"})
    assert session.sort_loss(None) == ([], [], [])


def test_a_refused_initialize_is_forgotten():
    session = Session()
    first = told(session, None, id=0, method="initialize")
    assert session.give_up() == [first]
    assert session.replay() == [] and session.give_up() == []


def test_a_refused_call_is_a_result_and_anything_else_an_error():
    call = json.loads(relay.refusal(Message(b'{"id":"7","method":"tools/call"}'), "Because."))
    assert (
        call["id"] == "7" and call["result"]["isError"] and call["result"]["content"][0]["text"] == "Because."
    )
    other = json.loads(relay.refusal(Message(b'{"id":7,"method":"initialize"}'), "Because."))
    assert other["id"] == 7 and other["error"]["message"] == "Because."


class Nowhere:
    """A client that sends a few lines and leaves after as many answers."""

    def __init__(self, *lines: bytes) -> None:
        self.heard, self.closed, self.wanted = [], False, 1
        self.said: queue.Queue[bytes] = queue.Queue()
        for line in lines:
            self.said.put(line)
        self.answered = threading.Event()

    def read(self, look_seconds: float) -> bytes:
        try:
            return self.said.get(timeout=20)
        except queue.Empty:
            self.closed = True
            return b""

    def write(self, line: bytes) -> None:
        self.heard.append(json.loads(line))
        self.answered.set()
        if len(self.heard) == self.wanted:
            self.said.put(b"")


CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}\n'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":"%s"}\n'
SEARCH, SECOND = CALL % (1, b"search_memories"), CALL % (2, b"search_memories")


def relayed(client: Nowhere, reach) -> None:
    """Serve a client to its end."""
    relay.Relay(reach, client, Offer({"handshake": {"answers": {}}})).run()


def serve(client: Nowhere, ours: socket.socket, **hello: object) -> None:
    """Serve a client with the engine at the other end of a socket."""
    relayed(client, lambda since: Link(ours, {"pid": 7, **hello}, b""))


def in_the_background(work) -> None:
    threading.Thread(target=work, daemon=True).start()


def text_of(answer):
    assert answer["result"]["isError"]
    return answer["result"]["content"][0]["text"]


@pytest.fixture
def sockets():
    """Our end of a connection, and the engine's."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def impatient(monkeypatch):
    """An engine counts as frozen after 0.1 s, so that a test can wait for it."""
    monkeypatch.setattr(relay, "_SILENCE_SECONDS", 0.02)
    monkeypatch.setattr(relay, "STALL_SECONDS", 0.1)


@pytest.fixture
def hurried(monkeypatch):
    """A call is late after 0.3 s, so that a test can wait for it."""
    monkeypatch.setattr(session, "CALL_SECONDS", 0.3)
    monkeypatch.setattr(relay, "_TIME_SECONDS", 0.02)
    monkeypatch.setattr(relay, "_DRAIN_SECONDS", 0.02)


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), ZeroDivisionError("secret")])
def test_an_unexpected_failure_is_an_error_response(trouble):
    def reach(since):
        raise trouble

    client = Nowhere(SEARCH)
    relayed(client, reach)
    text = text_of(*client.heard)
    assert "failed inside Scrubjay" in text and "secret" not in text
    assert isinstance(trouble, ZeroDivisionError) or "No space left on device" in text


@pytest.mark.parametrize(
    ("tool", "says"), [(b"search_memories", "Call again"), (b"add_memory", "may not have")]
)
def test_an_engine_without_signs_of_life_is_given_up(impatient, sockets, tool, says):
    ours, frozen = sockets
    client = Nowhere(CALL % (1, tool))
    serve(client, ours, beats=True)
    text = text_of(*client.heard)
    assert "The engine (pid 7) shows no sign of life" in text and says in text
    assert frozen.recv(1000) == CALL % (1, tool) + BEAT


@pytest.mark.long
def test_an_engine_with_signs_of_life_has_no_time_limit(impatient, sockets):
    ours, busy = sockets

    def work():
        assert busy.recv(len(SEARCH)) == SEARCH
        for _ in range(20):
            assert busy.recv(len(BEAT)) == BEAT
            busy.send(BEAT)
        busy.send(RESULT % (1, b"done"))

    in_the_background(work)
    client = Nowhere(SEARCH)
    serve(client, ours, beats=True)
    assert [answer["result"] for answer in client.heard] == ["done"]


def answering_late(theirs):
    """Answer the first call after twice the usual time."""

    def work():
        with contextlib.suppress(OSError):  # the client may have left
            assert theirs.recv(1000)
            threading.Event().wait(0.6)
            theirs.send(RESULT % (1, b"done"))

    in_the_background(work)


@pytest.mark.parametrize(("ready", "answered"), [(False, True), (True, False)])
def test_the_first_call_waits_longer_only_for_an_engine_that_loads(hurried, sockets, ready, answered):
    ours, theirs = sockets
    answering_late(theirs)
    client = Nowhere(SEARCH)
    serve(client, ours, ready=ready)
    assert (client.heard[0]["result"] == "done") is answered


@pytest.mark.parametrize("tool", [b"search_memories", b"add_memory", b"add_document"])
def test_a_call_that_no_engine_accepts_is_answered_in_time_and_never_sent_later(hurried, sockets, tool):
    ours, theirs = sockets
    client = Nowhere(CALL % (1, tool))
    client.wanted, began, told = 2, time.monotonic(), []

    def reach(since):
        told.append(since)
        assert client.answered.wait(20)
        client.said.put(SECOND)
        return Link(ours, {"pid": 7}, b"")

    def work():
        assert theirs.recv(1000) == SECOND
        theirs.send(RESULT % (2, b"done"))

    in_the_background(work)
    relayed(client, reach)
    assert text_of(client.heard[0]) == (session.LATE if tool == b"search_memories" else session.UNWRITTEN)
    assert client.heard[1]["result"] == "done" and began <= told[0] < began + 0.3


def test_the_waiting_times_of_a_call_add_up_across_engines_that_die(hurried):
    dead, waits = threading.Event(), []

    def reach(since):
        waits.append(since)
        if len(waits) > 1:
            dead.wait(20)  # there is no other engine
            raise EngineError("No engine.")
        ours, theirs = socket.socketpair()
        in_the_background(lambda: (theirs.recv(1000), theirs.close()))
        return Link(ours, {"pid": 7}, b"")

    client = Nowhere(SEARCH)
    relayed(client, reach)
    dead.set()
    assert text_of(*client.heard) == session.LATE
    assert waits[0] <= waits[1] < waits[0] + 0.3  # the second engine is told how long the call has waited


def test_a_write_pending_in_a_busy_engine_is_not_reported_as_stored_and_its_late_answer_is_dropped(
    hurried, sockets
):
    ours, busy = sockets
    client = Nowhere(CALL % (1, b"add_memory"))
    client.wanted = 2

    def work():
        assert busy.recv(1000) == CALL % (1, b"add_memory")
        assert client.answered.wait(20)
        client.said.put(SECOND)
        busy.send(RESULT % (1, b"kept"))
        assert busy.recv(1000) == SECOND
        busy.send(RESULT % (2, b"done"))

    in_the_background(work)
    serve(client, ours)
    assert text_of(client.heard[0]) == session.UNCONFIRMED
    assert [(answer["id"], answer["result"]) for answer in client.heard[1:]] == [(2, "done")]


def test_an_engine_that_dies_while_writing_its_last_answer_is_noticed():
    pairs = [socket.socketpair(), socket.socketpair()]
    held, ended, links = threading.Event(), threading.Event(), iter(pairs)
    client = Nowhere(SEARCH)
    client.wanted, write = 2, client.write

    def slow(line):
        held.set()
        assert ended.wait(20)
        write(line)

    class Observed(Link):
        def end(self):
            super().end()
            ended.set()

        def close(self):
            super().close()
            ended.set()

    def work():
        (_, dies), (_, lives) = pairs
        assert dies.recv(1000) == SEARCH
        dies.send(RESULT % (1, b"first"))
        assert held.wait(20)
        dies.close()
        client.said.put(SECOND)
        assert lives.recv(1000) == SECOND
        lives.send(RESULT % (2, b"second"))

    client.write = slow
    in_the_background(work)
    relayed(client, lambda since: Observed(next(links)[0], {"beats": True, "pid": 7}, b""))
    assert [answer["result"] for answer in client.heard] == ["first", "second"]
    pairs[1][1].close()


def test_indexing_a_folder_has_no_time_limit(hurried, sockets):
    ours, busy = sockets
    client = Nowhere(CALL % (1, b"add_document"), SECOND)
    client.wanted = 2

    def work():
        assert client.answered.wait(20)  # the search is given up
        busy.send(RESULT % (1, b"indexed"))

    in_the_background(work)
    serve(client, ours)
    assert [answer["id"] for answer in client.heard] == [2, 1]
    assert client.heard[1]["result"] == "indexed"


def test_the_time_limit_of_a_call_starts_when_its_turn_comes():
    session_ = Session()
    calls = [told(session_, None, id=n, method="tools/call", params={"name": "x"}) for n in range(10)]
    assert [call.since is None for call in calls] == [False] * 8 + [True] * 2
    session_.note_answer(("int", 3))
    assert calls[8].since is not None and calls[9].since is None
    assert session_.first_due is calls[0]


# The command line's calls.


@pytest.fixture
def engine_of_the_command_line(monkeypatch, sockets):
    """A client, and the socket of an engine that answers nothing by itself."""
    monkeypatch.setattr(client_module, "CALL_SECONDS", 0.3)
    monkeypatch.setattr(client_module, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(client_module, "_LOOK_SECONDS", 0.05)
    ours, theirs = sockets
    with EngineClient(Link(ours, {"beats": True, "pid": 7}, b"")) as engine:
        yield engine, theirs


def living(theirs, until):
    """Answer every request for a sign of life until there is an answer to give."""

    def live():
        data = b""
        with contextlib.suppress(OSError):  # the client may leave at any moment
            while not data.endswith(until) and (piece := theirs.recv(1000)):
                data += piece
                if BEAT in piece:
                    theirs.send(BEAT)
            theirs.send(b'{"id":1,"result":5}\n')

    in_the_background(live)


def test_a_command_learns_in_time_that_the_engine_is_busy(engine_of_the_command_line):
    engine, theirs = engine_of_the_command_line
    living(theirs, b"never")
    sentence = "busy: no answer within 0.3 seconds. add may or may not have been done"
    with pytest.raises(EngineError, match=sentence):
        engine.call("add", {})


def test_the_first_command_waits_longer_for_an_engine_that_loads(monkeypatch, sockets):
    monkeypatch.setattr(client_module, "CALL_SECONDS", 0.3)
    ours, theirs = sockets
    answering_late(theirs)
    with EngineClient(Link(ours, {"ready": False, "pid": 7}, b"")) as engine:
        assert engine.call("list", {}) == "done"


def test_a_long_command_waits_for_an_engine_with_signs_of_life(engine_of_the_command_line):
    engine, theirs = engine_of_the_command_line
    living(theirs, BEAT * 5)
    theirs.settimeout(20)
    assert engine.call("index", {}) == 5


def test_a_long_command_gives_up_an_engine_without_signs_of_life(engine_of_the_command_line):
    engine, _ = engine_of_the_command_line
    with pytest.raises(EngineError, match=r"\(pid 7\) shows no sign of life.* index may or may not"):
        engine.call("index", {})


# Starting.


def test_failed_starts_are_counted_for_a_minute(tmp_path):
    with FileLock(str(tmp_path / "starting.lock")) as lock:
        assert lock.acquire() and failed_starts(lock, 1000.0) == ([], "")
        for second in (0, 7, 20.9):
            note_failed_start(lock, 1000.0 + second, "No module named 'x'.")
        assert failed_starts(lock, 1030.0) == ([1000, 1007, 1020], "No module named 'x'.")
        assert failed_starts(lock, 1061.0)[0] == [1007, 1020]


def test_the_pipe_starts_no_engine_after_three_failed_starts_in_a_minute(tmp_path):
    home, hello = open_home(str(tmp_path / "h")), Hello("pipe", "/p", "/p", 7)
    with FileLock(home.starting_lock) as lock:
        assert lock.acquire()
        for _ in range(3):
            note_failed_start(lock, time.time(), "No module named 'x'.")
    with pytest.raises(EngineError, match=r"3 times within 60 seconds.*No module named 'x'"):
        reach(home, hello, ["no such program"], {})


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_spawned_process_inherits_nothing(tmp_path):
    home = open_home(str(tmp_path / "h"))
    script = tmp_path / "look.py"
    script.write_text(
        "import json, os, sys\n"
        "fds = [int(n) for n in os.listdir('/dev/fd') if os.path.exists('/dev/fd/' + n)]\n"
        "facts = dict(fds=fds, env=dict(os.environ), cwd=os.getcwd(), mask=os.umask(0))\n"
        "facts |= dict(sid=os.getsid(0), pid=os.getpid(), ppid=os.getppid())\n"
        "open('facts.new', 'w').write(json.dumps(facts)); os.rename('facts.new', 'facts')\n"
        "sys.stderr.write('one\\nlast message\\n\\n')\n"
    )
    (tmp_path / "h" / "log" / "engine.log").write_text("an older line\n")
    leaky = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leaky, True)
    try:
        env = {"PATH": "/bin", "HOME": "/root", "SECRET": "1", "SCRUBJAY_X": "1"}
        child = spawn(home, [sys.executable, str(script)], env)
    finally:
        os.close(leaky)
    end = time.monotonic() + 10
    while child.is_alive() and time.monotonic() < end:  # it is detached, so there is nothing to wait on
        os.sched_yield()
    facts = json.loads((tmp_path / "h" / "facts").read_text())
    assert set(facts["fds"]) <= {0, 1, 2}
    assert facts["cwd"] == home.root and facts["mask"] == 0o077
    assert facts["pid"] == child.pid and facts["ppid"] != os.getpid()
    assert facts["sid"] not in (child.pid, os.getsid(0))
    assert facts["env"]["SCRUBJAY_HOME"] == home.root and facts["env"]["PATH"] == "/bin"
    assert "SECRET" not in facts["env"] and "SCRUBJAY_X" not in facts["env"]
    assert child.last_words() == "last message"


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_command_that_cannot_run_is_reported_at_once(tmp_path):
    home = open_home(str(tmp_path / "h"))
    sentence = "/nowhere/python: No such file or directory. Install scrubjay again"
    with pytest.raises(EngineError, match=sentence):
        spawn(home, ["/nowhere/python", "serve"], {})


def loaded_by(imports: str, *options: str) -> set[str]:
    """The modules that another Python has loaded after these imports."""
    package = os.path.dirname(os.path.dirname(scrubjay.__file__))
    code = f"import sys; sys.path.insert(0, {package!r}); import {imports}; print(*sys.modules)"
    command = [sys.executable, *options, "-c", code]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_an_engine_imports_no_store_and_no_model_before_its_first_answers():
    """Found by the demo: a helper's import loaded LanceDB, and tools/list waited two seconds for it."""
    modules = loaded_by(
        "scrubjay.engine.control, scrubjay.engine.engine, scrubjay.engine.process.lifetime, "
        "scrubjay.home.settings, scrubjay.mcp_server.face"
    )
    assert not {"lancedb", "pyarrow", "numpy", "tokenizers"} & modules


def test_a_pipe_imports_nothing_slow():
    modules = loaded_by("scrubjay.pipe.stdio", "-S")
    heavy = "asyncio argparse pathlib subprocess logging tempfile hashlib ssl inspect dataclasses datetime"
    assert not set(heavy.split()) & modules
    ours = [name for name in modules if name.startswith("scrubjay.")]
    assert {name.split(".")[1] for name in ours} == {"errors", "home", "pipe", "wire"}
    assert {name for name in ours if name.startswith("scrubjay.home.")} == {
        "scrubjay.home.files",
        "scrubjay.home.paths",
    }
