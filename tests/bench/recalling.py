"""A growing home: loading, searching, recording and memory at 1,000 and at 10,000 turns. Measures; does not
format.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import turns
from figures import Row, timed_row
from homes import Place, is_embedded, peak_memory
from startup import restarts

_MB = 1e6
_LOADED_SECONDS = 3600.0  # until every passage of the largest load has its vector
_TIDY_SECONDS = 45.0  # upkeep begins after 20 quiet seconds
_POLL_SECONDS = 0.01  # between two looks whether a turn has its vectors
_FOUND = 0.95  # least share of searches that find something
# turns -> p95 of a search in ms, peak memory of the engine in MB
TARGETS = {1_000: (40, 400), 10_000: (50, 600)}


class Growth:
    """One home that only grows. `queries` counts the questions asked, so that no two searches are alike."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.turns = 0
        self.size = 0  # the requested size; one more turn does not change what is expected
        self.queries = 0

    def grow(self, to: int) -> Iterator[Row]:
        """Record turns until there are `to`, many calls at a time, and wait for their vectors."""
        count, start = to - self.turns, time.perf_counter()
        with self._place.client() as client:
            client.initialize()
            client.pipelined("record_turn", turns.turns(self.turns, to))
        took = time.perf_counter() - start
        self.turns = self.size = to
        embedded = self.embedded()
        passages = self._place.status()["records"]["passages"]
        yield Row(
            f"loading to {to:,} turns, 64 calls at a time",
            "",
            f"{count / took:.0f} turns/s acknowledged; all {passages:,} passages embedded "
            f"{embedded:.0f} s later",
            samples={"turns": count, "seconds": took, "embedded_seconds": embedded, "passages": passages},
        )

    def search(self, times: int, when: str) -> Row:
        """Distinct questions through a warm pipe, with the defaults a model would use."""
        limit = TARGETS.get(self.size, (None, None))[0]
        ms, engine_ms, found = [], [], 0
        with self._place.client() as client:
            client.initialize()
            client.call("search_memories", {"query": "the first one pays for what is loaded late"})
            for number in range(self.queries, self.queries + times):
                seconds, answer = client.timed("search_memories", {"query": turns.query(number, self.turns)})
                ms.append(seconds * 1e3)
                engine_ms.append(answer["timing"])
                found += answer["total"] > 0
        self.queries += times
        if found < _FOUND * times:  # made-up questions; a few seem to have no answer
            raise RuntimeError(f"{times - found} of {times} searches found nothing.")
        what, reach = (
            f"`search_memories`, warm, {self.size:,} turns, {when}",
            f"p95 < {limit} ms" if limit else "",
        )
        return timed_row(what, reach, ms, limit=limit, engine_ms=engine_ms)

    def settle(self) -> Row:
        """Wait for the compaction and the index folding that the engine does by itself; one more turn wakes
        it if it sleeps.
        """
        start, woken = time.perf_counter(), ""
        try:
            self._place.until("tidy", _tidy, _TIDY_SECONDS)
        except TimeoutError:
            woken = ", the last of them only after another turn was recorded"
            self.record(1)
            self._place.until("tidy", _tidy, _TIDY_SECONDS)
        status = self._place.status()
        upkeep = status["upkeep"] | {"unindexed": status["unindexed"]}
        return Row(
            f"tidy by itself, {self.size:,} turns",
            "",
            f"{upkeep['compactions']} compactions so far{woken}; {upkeep['fragments']} fragments, "
            f"{upkeep['unindexed']} rows unindexed; "
            f"took {time.perf_counter() - start:.0f} s",
            samples=upkeep,
        )

    def memory(self) -> Row:
        """The peak resident memory of the engine."""
        limit = TARGETS.get(self.size, (None, None))[1]
        (engine,) = self._place.engines()
        peak, now = peak_memory(engine) / _MB, engine.memory_info().rss / _MB
        return Row(
            f"engine, peak resident memory, {self.size:,} turns, {self.queries} searches, tidy",
            f"< {limit} MB" if limit else "",
            f"{peak:.0f} MB peak (VmHWM), {now:.0f} MB now",
            peak,
            limit,
            {"peak_mb": peak, "now_mb": now},
        )

    def record(self, times: int) -> Row:
        """Single turns, each acknowledged before the next is sent."""
        ms = []
        with self._place.client() as client:
            client.initialize()
            for turn in turns.turns(self.turns, self.turns + times):
                seconds, answer = client.timed("record_turn", turn)
                if not answer["stored"]:
                    raise RuntimeError(f"Turn {turn['prompt_id']} was there before.")
                ms.append(seconds * 1e3)
        self.turns += times
        return timed_row("`record_turn` acknowledged, durable", "p95 < 15 ms", ms, limit=15)

    def fresh(self, times: int, when: str) -> Iterator[Row]:
        """How soon a recorded turn is found: by words in the very next call, by meaning once it has its
        vectors.
        """
        words, meaning = [], []
        with self._place.client() as client:
            client.initialize()
            for turn in turns.turns(self.turns, self.turns + times):
                recorded = client.call("record_turn", turn)
                acknowledged = time.perf_counter()
                hits = client.call("search_memories", {"query": turn["user"][:300], "top_k": 10})
                words.append((time.perf_counter() - acknowledged) * 1e3)
                if recorded["id"] not in [hit["id"] for hit in hits["results"]]:
                    raise RuntimeError(f"Turn {turn['prompt_id']} was not found right after it was recorded.")
                while not client.call("record_turn", turn)["indexed"]:
                    time.sleep(_POLL_SECONDS)
                meaning.append((time.perf_counter() - acknowledged) * 1e3)
        self.turns += times
        yield timed_row(f"a recorded turn found by its words, next call, {when}", "at once", words)
        yield timed_row(f"a recorded turn searchable by meaning, {when}", "p95 < 1 s", meaning, limit=1000)

    def embedded(self) -> float:
        """Wait until every passage has its vector; the seconds it took."""
        return self._place.until("embedded", is_embedded, _LOADED_SECONDS)

    def first_search(self, times: int) -> Row:
        """The very first answer, when the client has to start the engine first."""

        def ask(client: Any) -> None:
            client.initialize()
            self.queries += 1
            client.call("search_memories", {"query": turns.query(self.queries - 1, self.turns)})

        ms = [age * 1e3 for age in restarts(self._place, times, ask)]
        what = f"first `search_memories`, engine has to start, {self.size:,} turns"
        return timed_row(what, "< 2.5 s", ms, share=1.0, limit=2500)


def growing(sizes: list[int], searches: int, records: int, fresh: int, starts: int) -> Iterator[Row]:
    """Everything that depends on the size of a home, at each of the sizes."""
    with Place() as place:
        growth = Growth(place)
        place.start_engine()
        for size in sizes:
            yield from growth.grow(size)
            yield growth.search(searches, "just embedded")
            yield growth.settle()
            yield growth.search(searches, "tidy")
            yield growth.memory()
            yield growth.first_search(starts)
            if size == sizes[0]:
                yield growth.record(records)
                yield from growth.fresh(fresh, "while those wait for their vectors")
                growth.embedded()
                yield from growth.fresh(fresh, "one after another")


def _tidy(status: dict[str, Any]) -> bool:
    return status["upkeep"]["fragments"] <= 10 and status["unindexed"] <= 500
