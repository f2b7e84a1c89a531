"""The real product under kills, floods, full disks and clocks that jump: every acknowledged write is stored
once, and every call is answered within ten seconds.

`SCRUBJAY_CAMPAIGN` multiplies the effort of CI; large values need `-o faulthandler_timeout=0`, because pytest
ends a story after four minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from answering import answering
from assistant import Assistant, engines, until
from small_disk import BALLAST, fill, small_disk
from stories.conftest import new_user, opens, user
from user import User, make_user

from scrubjay.home import spool

__all__ = ["new_user", "opens", "small_disk", "user"]  # fixtures

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name == "nt", reason="no SIGKILL and no SIGSTOP there")]

SCALE = float(os.environ.get("SCRUBJAY_CAMPAIGN", "1"))
MOST_SECONDS = 10.0  # for the answer to a call
CLOCK_SET = str(Path(__file__).with_name("clock_set.py"))
DAY = 86_400


class Tally:
    """The acknowledged writes, and how long every answer took; shared by threads."""

    def __init__(self, export: Path, say: Callable[[str, object], None]) -> None:
        self.export, self._say = export, say
        self.acknowledged: list[str] = []
        self.longest = 0.0
        self.refused = 0
        self.kills = 0
        self.more = threading.Semaphore(0)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Measure one answer."""
        began = time.monotonic()
        yield
        self.longest = max(self.longest, time.monotonic() - began)

    def take(self, text: str) -> None:
        """Note that a write was acknowledged."""
        self.acknowledged.append(text)
        self.more.release()

    def compare(self, home: User, story: str) -> None:
        """Export the home, and report the figures; nothing is lost, duplicated or late."""
        held = Counter(exported(home, self.export))
        there = {text for _, text in held}
        lost = [each for each in self.acknowledged if each not in there]
        doubled = [each for each, count in held.items() if count > 1]
        self._say(
            "tally",
            f"{story}: {len(self.acknowledged):,} acknowledged, {self.kills} kills, {len(lost)} lost, "
            f"{len(doubled)} doubled, {self.refused} refused with a sentence, "
            f"longest answer {self.longest:.1f} s",
        )
        assert (lost, doubled) == ([], [])
        assert self.longest < MOST_SECONDS


@pytest.fixture
def tally(tmp_path: Path, record_property: Callable[[str, object], None]) -> Tally:
    return Tally(tmp_path / "all.jsonl", record_property)


def exported(of: User, where: Path) -> Iterator[tuple[str, str]]:
    """The kinds and texts of all records of a home; a short document is a fact as well."""
    done = of.types("export", str(where), patience=600)
    assert done.returncode == 0, done.stderr
    for line in where.read_text().splitlines()[1:]:
        record = json.loads(line)
        yield record["kind"], record["user" if record["kind"] == "turn" else "content"]


def numbers_of_turns(export: Path) -> dict[str, list[int]]:
    """By session, the numbers of its turns in an export."""
    numbers: dict[str, list[int]] = {}
    for record in map(json.loads, export.read_text().splitlines()[1:]):
        if record["kind"] == "turn":
            numbers.setdefault(record["session_id"], []).append(record["turn"])
    return numbers


def written(client: Assistant, tally: Tally, tool: str, text: str, **arguments: Any) -> None:
    """Repeat a write until it is acknowledged."""
    while True:
        with tally.timed():
            result = client.call(tool, **arguments)
        if not result.get("isError"):
            return tally.take(text)
        tally.refused += 1  # it may or may not have been stored: repeating it is safe


def by_pipe(client: Assistant, tally: Tally, name: str, numbers: range) -> None:
    """Facts, numbered turns, turns without a number, and documents, in turn."""
    for number in numbers:
        text = f"Ringed bird {name}-{number} was seen at weir {number * 31 + 7}."
        match number % 4:
            case 0:
                written(client, tally, "add_memory", text, content=text)
            case 1:
                written(client, tally, "record_turn", text, session_id=name, user=text, turn=number)
            case 2:
                written(client, tally, "record_turn", text, session_id=f"{name}-free", user=text)
            case _:
                written(client, tally, "add_document", text, content=text, custom_id=f"{name}-{number}")


def kill_engines(home: str, tally: Tally, total: int, chance: random.Random) -> None:
    """Kill the engine after every few acknowledged writes, until all are acknowledged."""
    left = total
    while left > 0:
        for _ in range(min(left, wait := chance.choice((1, 3, 10, 30, 60, 100)))):
            if not tally.more.acquire(timeout=60):
                return  # a writer failed, and reports it
        left -= wait
        for engine in engines(home) if left > 0 else ():
            engine.kill()
            tally.kills += 1


def all_of(pool: ThreadPoolExecutor, work: list[Callable[[], object]]) -> None:
    for future in [pool.submit(each) for each in work]:
        future.result()


def test_writes_of_four_clients_are_stored_once_however_often_the_engine_is_killed(
    user: User,
    opens: Callable[..., Assistant],
    tally: Tally,
) -> None:
    each = round(30 * SCALE)
    clients = [opens() for _ in range(4)]
    work: list[Callable[[], object]] = [
        lambda client=client, name=f"p{n}": by_pipe(client, tally, name, range(each))  # type: ignore[misc]
        for n, client in enumerate(clients)
    ]
    work.append(lambda: kill_engines(user.home.root, tally, 4 * each, random.Random(4)))
    with ThreadPoolExecutor(len(work)) as pool:
        all_of(pool, work)
    tally.compare(user, "4 clients under kill -9")
    numbers = numbers_of_turns(tally.export)
    assert all(sorted(numbers[f"p{n}-free"]) == list(range(len(range(2, each, 4)))) for n in range(4))
    assert spool.json_files(user.home.spool_broken) == []


def lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


class Served:
    """An engine that answers HTTP at one port, and is started again whenever it was killed."""

    def __init__(self, of: User) -> None:
        self._user, self._over = of, threading.Event()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def run(self) -> None:
        """Serve until `stop`."""
        while not self._over.is_set():
            with answering(self._user, at=f"127.0.0.1:{self.port}", loaded=False) as url:
                assert url == self.url
                (engine,) = engines(self._user.home.root)
                until(lambda its=engine: self._over.is_set() or not lives(its), "it is killed", 3_600)

    def stop(self) -> None:
        """Let `run` end."""
        self._over.set()


def by_http(served: Served, tally: Tally, name: str, numbers: range) -> None:
    """Memories and documents, by turns, each until it is acknowledged."""
    with httpx2.Client(base_url=served.url, timeout=30, headers={"Authorization": "Bearer local"}) as http:
        for number in numbers:
            text = f"Ringed gull {name}-{number} was seen at mole {number * 37 + 5}."
            while True:
                began = time.monotonic()
                try:
                    if number % 2:
                        body = {"content": text, "customId": f"{name}-{number}", "containerTag": name}
                        answer = http.post("/v3/documents", json=body)
                    else:
                        body = {"memories": [{"content": text}], "containerTag": name}
                        answer = http.post("/v4/memories", json=body)
                except httpx2.TransportError:
                    continue  # no engine is running, or it was killed before it answered
                tally.longest = max(tally.longest, time.monotonic() - began)
                if answer.is_success:
                    tally.take(text)
                    break
                assert answer.status_code in (503, 507), answer.text
                tally.refused += 1


def test_writes_of_eight_http_programs_are_stored_once_however_often_the_engine_is_killed(
    tmp_path: Path, tally: Tally
) -> None:
    each, of = round(15 * SCALE), make_user(tmp_path)
    served = Served(of)

    def write_all() -> None:
        with ThreadPoolExecutor(8) as writers:
            all_of(writers, [lambda n=n: by_http(served, tally, f"w{n}", range(each)) for n in range(8)])  # type: ignore[misc]

    with ThreadPoolExecutor(3) as pool:
        keeping = pool.submit(served.run)
        killing = pool.submit(kill_engines, of.home.root, tally, 8 * each, random.Random(8))
        try:
            write_all()
            killing.result()
            story = "8 programs over HTTP under kill -9"
            tally.compare(of, story)
        finally:
            served.stop()
        keeping.result()


def test_ten_clients_that_start_at_once_share_one_engine_and_are_answered_in_time(
    user: User,
    opens: Callable[..., Assistant],
    tally: Tally,
) -> None:
    def begin(round_: int, number: int) -> Assistant:
        with tally.timed():
            client = opens()
        text = f"Client {number} of round {round_} saw coot {round_ * 10 + number}."
        written(client, tally, "add_memory", text, content=text)
        return client

    rounds = max(2, round(2 * SCALE))
    for round_ in range(rounds):
        with ThreadPoolExecutor(10) as pool:
            clients = list(pool.map(lambda number, at=round_: begin(at, number), range(10)))
        running = engines(user.home.root)
        assert len(running) == 1
        for client in clients:
            client.kill()
        if round_ % 2:
            running[0].kill()
            tally.kills += 1
        until(lambda: not engines(user.home.root), "the engine ended")
    tally.compare(user, f"10 clients at once, {rounds} rounds")


def test_a_disk_that_is_full_again_and_again_loses_nothing_and_every_call_is_answered(
    small_disk: Path,
    opens: Callable[..., Assistant],
    new_user: object,
    tally: Tally,
) -> None:
    of, over = make_user(small_disk), threading.Event()
    Path(of.home.root).mkdir(mode=0o700)
    Path(of.home.config).write_text("idle_minutes = 0.01\n")
    clients, searched = [opens(of) for _ in range(3)], 0

    def write(client: Assistant, name: str) -> None:
        nonlocal searched
        for number in range(10_000):
            if over.is_set():
                return
            text = f"Ringed bird {name}-{number} was seen at weir {number * 31 + 7}."
            with tally.timed():
                result = client.call("add_memory", content=text)
            if not result.get("isError"):
                tally.take(text)
            else:
                tally.refused += 1
            if number % 5 == 0:
                with tally.timed():
                    client.call("search_memories", query=f"Where was bird {name}-{number} seen?")
                searched += 1

    def trouble() -> None:
        for _ in range(max(3, round(SCALE))):
            before = tally.refused
            fill(small_disk)
            until(lambda at=before: tally.refused > at + 3, "the disk is full")
            (small_disk / BALLAST).unlink()
            for _ in range(10):
                assert tally.more.acquire(timeout=30)
        over.set()

    with ThreadPoolExecutor(4) as pool:
        all_of(pool, [*(lambda c=c, n=n: write(c, f"d{n}") for n, c in enumerate(clients)), trouble])  # type: ignore[misc]
    tally.compare(of, f"a full disk, {searched} searches")


def test_600_unread_searches_and_a_client_that_never_reads_block_no_other_client(
    user: User,
    opens: Callable[..., Assistant],
    tally: Tally,
) -> None:
    greedy, deaf, lively = opens(), opens(), opens()
    for number in range(120):
        text = f"Ringed bird {number} was seen at weir {number * 31 + 7}."
        written(lively, tally, "add_memory", text, content=text)
    for number in range(600):
        greedy.say("tools/call", name="search_memories", arguments={"query": f"bird at weir {number}"})
    stuck = threading.Thread(target=flood, args=(deaf,), daemon=True)
    stuck.start()
    for number in range(20):
        text = f"Ringed bird {number + 120} was seen at weir {number * 31 + 8}."
        written(lively, tally, "add_memory", text, content=text)
        with tally.timed():
            assert lively.recall(f"bird {number} weir")
    with tally.timed():
        late = opens()
        assert late.recall("bird 7 weir")
    read = sum("result" in greedy.hear() for _ in range(600))
    deaf.kill()
    stuck.join(30)
    assert read == 600 and not stuck.is_alive()
    story = f"600 unread searches and a deaf client, {600 - read} unanswered"
    tally.compare(user, story)


def flood(client: Assistant) -> None:
    """Ask for long answers and read none, until the pipe is gone."""
    with contextlib.suppress(OSError, ValueError):
        while True:
            client.say("tools/call", name="search_memories", arguments={"query": "bird", "top_k": 50})


def test_every_call_is_answered_despite_a_frozen_engine_or_a_missing_temporary_folder(
    user: User,
    opens: Callable[..., Assistant],
    tally: Tally,
    tmp_path: Path,
) -> None:
    linked = opens()
    written(linked, tally, "add_memory", "The zebra is called Marty.", content="The zebra is called Marty.")
    (frozen,) = engines(user.home.root)
    frozen.suspend()
    unanswered = 0
    for tool, argument in (("search_memories", "query"), ("add_memory", "content"), ("forget", "id")):
        with tally.timed():
            said = linked.call(tool, **{argument: "zebra-1"})
        unanswered += not said.get("isError")
        assert str(frozen.pid) in said["content"][0]["text"]
    assert "PROBLEM  engine" in user.types("doctor").stdout
    with tally.timed():
        unanswered += not opens().call("search_memories", query="zebra").get("isError")
    with tally.timed():
        unanswered += not user.types("search", "zebra").stderr
    with tally.timed():
        user.says("What is the lion called?", "The lion is called Alex.", session="s", turn=0)
    tally.take("What is the lion called?")
    frozen.resume()
    assert linked.recall("zebra")
    os.rename(user.home.scratch, tmp_path / "gone")  # TMPDIR to an engine, which may still write there
    with tally.timed():
        linked.call("add_memory", content="The hippo is called Gloria.")
    tally.take("The hippo is called Gloria.")
    with tally.timed():
        assert "Gloria" in linked.recall("hippo")[0]
    story = f"a frozen engine, TMPDIR gone, {unanswered} unanswered"
    tally.compare(user, story)
    assert not unanswered


def test_a_clock_that_jumps_loses_nothing_and_brings_nothing_back(
    user: User,
    opens: Callable[..., Assistant],
    tally: Tally,
    tmp_path: Path,
) -> None:
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    client = opens(command=[sys.executable, CLOCK_SET, str(ahead)])
    forgotten = []
    for number, seconds in enumerate((0, DAY, -DAY, 400 * DAY, -400 * DAY, 3_600, 0)):
        ahead.write_text(str(seconds))
        for n in range(4):
            text = f"Ringed bird {number}-{n} was seen at weir {number * 31 + n}."
            written(client, tally, "add_memory", text, content=text)
        gone = client.get("add_memory", content=f"The key of hide {number} lies under stone {number + 9}.")
        client.get("forget", id=gone["id"])
        forgotten.append(gone["id"])
        client.get("record_turn", session_id="s", user=f"Which bird was number {number}?")
        for engine in engines(user.home.root) if number % 2 else ():
            engine.kill()
            tally.kills += 1
        with tally.timed():
            assert f"{number}-2" in client.recall(f"ringed bird {number}-2 weir {number * 31 + 2}")[0]
        hits = client.get("search_memories", query="key of hide under stone", top_k=20)["results"]
        assert not {hit["id"] for hit in hits} & set(forgotten)
    tally.acknowledged += [f"Which bird was number {number}?" for number in range(7)]
    tally.compare(user, "a clock that jumps, 0 brought back")
