"""Measures the HTTP interface of one engine over 10,000 passages, and prints a table.

    python tests/bench/http_face.py [--quick] [--json FILE]

The file cannot be called `http.py`: next to the other benchmarks it would shadow the standard library's
`http`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import figures
import psutil
import scale_text
from figures import Row, any_short, header, percentile, report, say, spread, table, timed, timed_row
from homes import COMMAND, Place
from scale_load import REAL, fill_with_facts

from scrubjay.home.paths import open_home
from scrubjay.wire.address import engine_facts

PASSAGES = 10_000
CONNECTIONS, PER_SECOND = 50, 25


class Visitor:
    """One connection that stays open."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(url.removeprefix("http://"), timeout=60)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """The status and the parsed answer."""
        sent = None if body is None else json.dumps(body)
        self._connection.request(
            method, path, sent, {"Content-Type": "application/json", "Authorization": "Bearer sm_bench"}
        )
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def search(self, number: int) -> int:
        """How many facts answer the question of this number.

        Raises:
            RuntimeError: the answer is a refusal.
        """
        tag, question = _question(number)
        status, answer = self.ask(
            "POST", "/v4/search", {"q": question, "containerTag": tag, "limit": 10, "threshold": 0}
        )
        if status != 200:
            raise RuntimeError(f"{status}: {answer}")
        return len(answer["results"])


def main() -> int:
    """Run the measurements; the exit code is 1 when one misses its target."""
    parser = figures.options("Measure the HTTP face of one engine.")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it works")
    options = parser.parse_args()
    share = 10 if options.quick else 1
    seconds, closed = 60 // share, max(2, 6 // share)
    about, rows = header(), []
    with Place() as place:
        say(f"filling a home with {PASSAGES:,} facts")
        asyncio.run(fill_with_facts(open_home(str(place.home)), PASSAGES))
        with served(place) as (url, engine):
            say("searching over loopback and the pipe")
            rows += _both_ways(place, url, 200 // share)
            say(f"open loop for {seconds} s")
            rows += _open_loop(url, engine, seconds)
            say("closed loop")
            rows += [_closed_loop(url, connections, closed) for connections in (1, 8)]
            say("adding")
            rows += _adds(url, 100 // share)
    facts = {"passages": PASSAGES, "real": REAL, "connections": CONNECTIONS}
    facts |= {"per_second": PER_SECOND, "seconds": seconds, "closed": closed}
    meaning = figures.definitions("http", **facts)
    written = [
        {"what": row.what, "measured": row.measured, "verdict": row.verdict, **row.samples} for row in rows
    ]
    report(about, meaning, table(rows), file=options.json, definitions=meaning, rows=written)
    return int(any_short(rows))


@contextmanager
def served(place: Place) -> Iterator[tuple[str, psutil.Process]]:
    """The address and the process of an engine that serves this home, everything loaded."""
    command = [COMMAND, "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            home = open_home(str(place.home))
            while not (url := engine_facts(home).get("http")):
                if process.poll() is not None:
                    raise RuntimeError(
                        f"The engine ended with code {process.returncode}; see {place.home}/log."
                    )
                time.sleep(0.05)
            visitor = Visitor(url)
            for number in range(30):  # loads the model and both indexes
                visitor.search(-1 - number)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def _both_ways(place: Place, url: str, count: int) -> list[Row]:
    visitor, loopback, pipe = Visitor(url), [], []
    with place.client() as client:
        client.initialize()
        for number in range(count):
            loopback.append(timed(lambda number=number: visitor.search(2 * number))[1])
            pipe.append(timed(lambda number=number: _over_the_pipe(client, 2 * number + 1))[1])
    more = percentile(loopback, 0.95) - percentile(pipe, 0.95)
    return [
        timed_row("/v4/search over loopback", "", loopback),
        timed_row("the same search over the pipe", "", pipe),
        Row("p95 over loopback, more than over the pipe", "5 ms", f"{more:.1f} ms", more, 5.0),
    ]


def _over_the_pipe(client: Any, number: int) -> None:
    tag, question = _question(number)
    weights = {"weight_importance": 0, "weight_recency": 0}
    client.call(
        "search_memories", {"query": question, "scope": tag, "top_k": 10, "include_turns": False, **weights}
    )


def _open_loop(url: str, engine: psutil.Process, seconds: int) -> list[Row]:
    count, numbers = seconds * PER_SECOND, itertools.count(10_000)
    ms: list[float] = []
    errors: list[str] = []
    memory: list[float] = []
    start = time.perf_counter() + 0.5

    def visit(first: int) -> None:
        visitor = Visitor(url)
        for place in range(first, count, CONNECTIONS):
            due = start + place / PER_SECOND
            time.sleep(max(0.0, due - time.perf_counter()))
            try:
                visitor.search(next(numbers))
            except (RuntimeError, OSError) as error:
                errors.append(str(error))
                visitor = Visitor(url)
            ms.append((time.perf_counter() - due) * 1e3)

    def watch() -> None:
        while not ended.wait(1.0):
            memory.append(engine.memory_info().rss / 1e6)

    ended = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(visit, range(CONNECTIONS)))
    ended.set()
    watcher.join()
    early, late = memory[min(10, len(memory) - 1)], memory[-1]
    grown = 100 * (late / early - 1)
    return [
        timed_row(f"open loop, {PER_SECOND}/s on {CONNECTIONS} connections", "p95 250 ms", ms, limit=250.0),
        Row("its errors", "0", str(len(errors)), len(errors), 0, {"errors": errors}),
        Row(
            "memory over it",
            "5 %",
            f"{early:.0f} to {late:.0f} MB, {grown:+.1f} %",
            grown,
            5.0,
            {"mb": memory},
        ),
    ]


def _closed_loop(url: str, connections: int, seconds: int) -> Row:
    numbers, end = itertools.count(100_000 * (1 + connections)), time.perf_counter() + seconds

    def visit(_: int) -> list[float]:
        visitor, ms = Visitor(url), []
        while time.perf_counter() < end:
            ms.append(timed(lambda: visitor.search(next(numbers)))[1])
        return ms

    with ThreadPoolExecutor(connections) as pool:
        every = [each for ms in pool.map(visit, range(connections)) for each in ms]
    told = f"{len(every) / seconds:.0f} searches/s, {spread(every)}"
    what = f"closed loop, {connections} connection{'s' if connections > 1 else ''}"
    return Row(what, "", told, samples={"ms": every})


def _adds(url: str, count: int) -> list[Row]:
    visitor, added, found = Visitor(url), [], []
    missing, statuses = 0, set()
    for number in range(count):
        word = f"rareword{number:05d}x"
        text = f"Number {number} of the added texts says {word}."
        body = {"content": text, "containerTag": f"added-{number % 8}"}
        start = time.perf_counter()
        status, answer = visitor.ask("POST", "/v3/documents", body)
        added.append((time.perf_counter() - start) * 1e3)
        statuses.add((status, answer.get("status")))
        missing += visitor.ask("GET", f"/v3/documents/{answer['id']}")[0] != 200
        wanted = {"q": word, "containerTag": body["containerTag"], "threshold": 0, "limit": 3}
        while word not in str(visitor.ask("POST", "/v4/search", wanted)[1]["results"]):
            if time.perf_counter() - start > 30:
                raise RuntimeError(f"{word} is never found.")
        found.append((time.perf_counter() - start) * 1e3)
    return [
        timed_row(f"add, answered {' '.join(map(str, sorted(statuses)))}", "p95 10 ms", added, limit=10.0),
        Row("GET right after an add that is not 200", "0", str(missing), missing, 0),
        timed_row("from an add until its word is found", "1000 ms", found, share=1.0, limit=1000.0),
    ]


def _question(number: int) -> tuple[str, str]:
    """(tag, question) of this number; no two are alike."""
    scope, question = scale_text.question(abs(number) + (10**7 if number < 0 else 0), PASSAGES)
    return scale_text.scope_name(scope), question


if __name__ == "__main__":
    sys.exit(main())
