"""The start of a client: how long it waits, the memory of its pipe, and ten of them at once. Measures; does
not format.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from figures import Row, percentile, spread, timed_row
from homes import Place
from rpc import Client

_MB = 1e6


def starting(spawns: int, starts: int) -> Iterator[Row]:
    """`initialize` and `tools/list` answered after a spawn, with an engine and without one, and the memory of
    the pipe.
    """
    with Place() as place:
        place.start_engine()
        ready, bare, pipe = [], [], []
        for _ in range(spawns):
            with place.client() as client:
                client.initialize()
                ready.append(client.age * 1e3)
                client.call("search_memories", {"query": "what a pipe weighs when it has worked"})
                pipe.append(place.pipes()[0].memory_info().rss / _MB)
            bare.append(bare_interpreter(place) * 1e3)
        yield timed_row(
            "`initialize` + `tools/list`, engine running", "p50 < 50 ms", ready, share=0.5, limit=50
        )
        yield timed_row("... the same interpreter with `-c pass`", "(baseline)", bare)
        cold = [age * 1e3 for age in restarts(place, starts, Client.initialize)]
        yield timed_row(
            "`initialize` + `tools/list`, engine has to start", "p50 < 120 ms", cold, share=0.5, limit=120
        )
        yield Row("resident memory of one pipe", "< 15 MB", spread(pipe, "MB"), max(pipe), 15, {"mb": pipe})


def restarts(place: Place, times: int, ask: Callable[[Client], object]) -> list[float]:
    """Seconds from a spawn to the end of `ask`, each time with an engine that has to start; its files are in
    the page cache.
    """
    ages = []
    for _ in range(times):
        place.stop_engine()
        with place.client() as client:
            ask(client)
            ages.append(client.age)
            client.call("search_memories", {"query": "loaded, so that it can be stopped again"})
    return ages


def bare_interpreter(place: Place) -> float:
    """Seconds of a whole `python -c pass`, site included: nothing that starts this interpreter can
    be faster.
    """
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=place.env, cwd=place.project, check=True)
    return time.perf_counter() - start


def at_once(clients: int) -> Iterator[Row]:
    """Clients that start together on a fresh home: the number of engines and pipes once all have been
    answered.
    """
    with Place() as place, ThreadPoolExecutor(clients) as threads:

        def begin(_: int) -> tuple[Client, float]:
            client = place.client()
            client.initialize()
            return client, client.age * 1e3

        begun = list(threads.map(begin, range(clients)))
        engines, pipes = len(place.engines()), len(place.pipes())
        ages = [age for _, age in begun]
        for client, _ in begun:
            client.close()
        yield Row(
            f"{clients} clients start at once on a fresh home",
            f"1 engine, {clients} pipes",
            f"{engines} engine, {pipes} pipes; all answered after {max(ages):.0f} ms (p50 "
            f"{percentile(ages, 0.5):.0f})",
            abs(engines - 1) + abs(pipes - clients),
            0,
            {"engines": engines, "pipes": pipes, "ms": ages},
        )
