"""Shows where the processor time of a search goes, by step, over 1,000 to 1,000,000 passages; the same over
the pipe and HTTP, in a loop and alone; and what a turn costs until it is found by meaning.

    python tests/bench/where.py [--passages 1000 10000 100000] [--searches 90] [--alone 15] [--writes 50]

Every size is filled in blocks, in a temporary home that is removed at the end. A step counts the time of the
event loop's thread while it runs, without the steps inside it.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import inspect
import itertools
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import scale_load
import scale_text
from figures import grid, head, header
from homes import Place, rested
from http_face import Visitor, served
from scale_engine import Ready, embedded, search

from scrubjay.engine.core import Core
from scrubjay.home.paths import open_home
from scrubjay.models import requests

STEPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


class Clock:
    """Thread time by step. Of nested steps only the innermost counts."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._running: list[str] = []
        self._since = 0.0

    def measure(self, step: str, place: str) -> None:
        """Let every call of the function at `place` ("module:name") count for this step."""
        module, _, name = place.partition(":")
        owner: Any = import_module(f"scrubjay.{module}")
        *path, last = name.split(".")
        owner = attrgetter(path[0])(owner) if path else owner
        original = getattr(owner, last)
        measured = self._coroutine(step, original) if inspect.iscoroutinefunction(original) else None
        replacement = measured or self._function(step, original)
        setattr(owner, last, replacement)
        for other in [] if path else list(sys.modules.values()):
            if getattr(other, last, None) is original:
                setattr(other, last, replacement)

    def _function(self, step: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(*arguments: Any, **options: Any) -> Any:
            self._enter(step)
            try:
                return original(*arguments, **options)
            finally:
                self._leave()

        return run

    def _coroutine(self, step: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def run(*arguments: Any, **options: Any) -> Any:
            return await _Slices(self, step, original(*arguments, **options))

        return run

    def _enter(self, step: str) -> None:
        self._settle()
        self._running.append(step)

    def _leave(self) -> None:
        self._settle()
        self._running.pop()

    def _settle(self) -> None:
        now = time.thread_time()
        if self._running:
            self.spent[self._running[-1]] += now - self._since
        self._since = now


class _Slices:
    """Awaits a coroutine and measures each of its stretches between two suspensions."""

    def __init__(self, clock: Clock, step: str, inner: Any) -> None:
        self._clock, self._step, self._inner = clock, step, inner

    def __await__(self) -> Iterator[Any]:
        send, value = self._inner.send, None
        while True:
            self._clock._enter(self._step)
            try:
                waits = send(value)
            except StopIteration as done:
                return done.value
            finally:
                self._clock._leave()
            try:
                send, value = self._inner.send, (yield waits)
            except BaseException as error:  # also a cancellation, which belongs to the coroutine
                send, value = self._inner.throw, error


def main() -> int:
    """Measure every requested size."""
    parser = argparse.ArgumentParser(description="Show where the processor time of a search goes.")
    parser.add_argument("--passages", nargs="+", type=int, default=[1_000, 10_000, 100_000], metavar="N")
    parser.add_argument("--searches", type=int, default=90, metavar="N", help="in a loop")
    parser.add_argument("--alone", type=int, default=15, metavar="N", help="one each 2 s, others between")
    parser.add_argument("--writes", type=int, default=50, metavar="N")
    options = parser.parse_args()
    print(head(header()), end="\n\n")
    for size in options.passages:
        with Place() as place, tempfile.TemporaryDirectory() as folder:
            home = open_home(str(place.home))
            turns = asyncio.run(scale_load.in_blocks(home, size, Path(folder, "real.npy"))).turns
            table = asyncio.run(_in_process(place, turns, options))
            print(f"{size:,} passages, ms of processor", table, sep="\n\n")
            print("", _through_faces(place, turns, options), sep="\n", end="\n\n", flush=True)
    return 0


async def _in_process(place: Place, turns: int, options: argparse.Namespace) -> str:
    core = await scale_load.opened(open_home(str(place.home)))
    count = options.searches + options.alone + 20
    _, ready = await embedded(core, [scale_text.question(number, turns) for number in range(count)])
    clock = Clock()
    for step, places in STEPS.items():
        for where in places:
            clock.measure(step, where)

    async def ask(each: Ready) -> None:
        await search(
            core, requests.parse(requests.SearchMemories, {"query": each.question}), each.scope, each.asked
        )

    for each in ready[:20]:
        await ask(each)
    columns = []
    for some, pause in ((ready[20 : 20 + options.searches], None), (ready[20 + options.searches :], _others)):
        spent: Counter[str] = Counter()
        used = 0.0
        for each in some:
            if pause is not None:
                await asyncio.to_thread(pause)
            clock.spent.clear()  # of what ran in the pause
            start = time.process_time()
            await ask(each)
            used += time.process_time() - start
            spent += clock.spent
        shares = {step: 1e3 * spent[step] / max(len(some), 1) for step in STEPS}
        every = 1e3 * used / max(len(some), 1)
        columns.append([*shares.values(), every - sum(shares.values()), every])
    names = [*STEPS, "other threads: LanceDB, vectors", "all"]
    lines = [("step", "in a loop", "alone")]
    lines += [(name, *(f"{column[at]:.2f}" for column in columns)) for at, name in enumerate(names)]
    written = await _written(core, turns, options.writes)
    await core.close()
    return f"{grid(lines)}\n\na turn recorded one by one, until all have vectors: {written:.1f} ms"


async def _written(core: Core, turns: int, writes: int) -> float:
    start = time.process_time()
    for number in range(writes):
        await scale_load.record(core, turns + number)
    await core.writer.settle()
    while not core.indexer.idle or await core.store.passages.without_vectors(1):
        await asyncio.sleep(0.1)
    return 1e3 * (time.process_time() - start) / max(writes, 1)


def _through_faces(place: Place, turns: int, options: argparse.Namespace) -> str:
    """The engine's processor time of a search, with its embedding, over the pipe and over HTTP."""
    lines = [("face", "in a loop", "alone")]
    with served(place) as (url, engine), place.client() as client:
        client.initialize()
        visitor, numbers = Visitor(url), itertools.count(10**6)
        rested(engine, most=600.0)  # summaries and links of the new turns are made

        def pipe(scope: str, question: str) -> object:
            return client.call("search_memories", {"query": question, "scope": scope})

        def http(scope: str, question: str) -> object:
            asked = {"q": question, "containerTag": scope, "limit": 10, "threshold": 0, "includeChats": True}
            status, answer = visitor.ask("POST", "/v4/search", asked)
            if status != 200:
                raise RuntimeError(f"{status}: {answer}")
            return answer

        for name, ask in {"pipe": pipe, "HTTP": http}.items():
            cells = []
            for count, pause in ((options.searches, None), (options.alone, _others)):
                before = engine.cpu_times()
                for number in itertools.islice(numbers, count):
                    if pause is not None:
                        pause()
                    scope, question = scale_text.question(number, turns)
                    ask(scale_text.scope_name(scope), question)
                after = engine.cpu_times()
                used = after.user + after.system - before.user - before.system
                cells.append(f"{1e3 * used / max(count, 1):.1f}")
            lines.append((name, *cells))
    return grid(lines)


def _others() -> None:
    """What happens between two searches of a user: other programs run for 2 s, here the interpreter."""
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        subprocess.run([sys.executable, "-c", "b = bytearray(64 << 20); b[::64] = b[::64]"], check=True)


if __name__ == "__main__":
    sys.exit(main())
