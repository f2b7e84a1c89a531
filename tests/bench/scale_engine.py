"""One engine over a filled home, in this process: how fast it searches and records, before and after many
single writes, and its memory. Knows the calls of the engine's core; does not know how the home was filled
or how figures are shown.

A search is the engine's own: the look into the spool, then `recall.search_memories`. Its question was
embedded before the clock started; that time is reported separately.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import scale_text
from figures import awaited, say, spread
from homes import peak_memory
from scale_load import opened, record, settled

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.engine.core import Core
from scrubjay.home.paths import open_home
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.models import requests
from scrubjay.store import conditions
from scrubjay.store.schema import VECTOR
from scrubjay.store.tables import index_vectors

_WARM = 25
KINDS: dict[str, dict[str, Any]] = {
    "default": {},  # as shipped: single turns, up to where the evidence ends
    "window": {"top_k": 10, "prev_turns": 2, "next_turns": 2},
    "everywhere": {"scope": EVERY_SCOPE},
}
_OTHERS = 10**6  # the number of the first question after the writes: no two searches are alike


class Ready(NamedTuple):
    """A question with its vector, ready to be searched."""

    scope: str
    question: str
    asked: EncodedQuery


class Searches(NamedTuple):
    """Milliseconds of each search by kind, and the processor time of all of them (every thread) by search."""

    ms: dict[str, list[float]]
    cpu: float


class Measured(NamedTuple):
    """One engine's figures: times in ms or s, memory and disk in MB (10^6 bytes)."""

    embedding: list[float]
    before: Searches
    during: Searches  # while the new turns are being embedded
    after: Searches
    record: list[float]
    nearest: float  # share of the exact 200 nearest that the vector search found
    index_seconds: float | None
    disk: float
    peak_before: float
    peak: float


def measure(folder: str, turns: int, searches: int, writes: int) -> Measured:
    """Search, write `writes` turns one by one, search again. `turns` says how many the home holds."""
    return asyncio.run(_measured(folder, turns, searches, writes))


async def _measured(folder: str, turns: int, searches: int, writes: int) -> Measured:
    core = await opened(open_home(folder))
    embedding, ready = await embedded(core, [scale_text.question(n, turns) for n in range(_WARM + searches)])
    await _searched(core, ready[:_WARM])
    before = await _searched(core, ready[_WARM:])
    peak_before = _peak()
    nearest = await _nearest(core, ready[_WARM:][:40])
    say(f"searched: {_spread(before)}, {100 * nearest:.1f} % of the nearest found")
    record_ms = [await awaited(record(core, turns + number)) for number in range(writes)]
    say("recorded")
    await core.writer.settle()
    _, others = await embedded(
        core, [scale_text.question(_OTHERS + n, turns + writes) for n in range(searches // 2 + searches)]
    )
    during = await _searched(core, others[: searches // 2])
    say(f"while embedding: {_spread(during)}")
    await settled(core)
    after = await _searched(core, others[searches // 2 :])
    say(f"after the writes: {_spread(after)}")
    peak = _peak()
    index_seconds = await _index_built(core)
    await core.close()
    disk = disk_of(folder)
    return Measured(
        embedding, before, during, after, record_ms, nearest, index_seconds, disk, peak_before, peak
    )


async def embedded(core: Core, questions: list[tuple[int, str]]) -> tuple[list[float], list[Ready]]:
    """The questions with their vectors, and how many ms each took."""
    ms, ready = [], []
    for scope, question in questions:
        start = time.perf_counter()
        asked = await core.indexer.embed_query(question)
        ms.append((time.perf_counter() - start) * 1e3)
        if asked is None:
            raise RuntimeError(f"Meaning cannot be searched: {core.indexer.trouble}")
        ready.append(Ready(scale_text.scope_name(scope), question, asked))
    return ms, ready


async def _searched(core: Core, ready: list[Ready]) -> Searches:
    """Every question once, the kinds of search in turn."""
    ms: dict[str, list[float]] = {kind: [] for kind in KINDS}
    used = time.process_time()
    for number, (scope, question, asked) in enumerate(ready):
        kind = list(KINDS)[number % len(KINDS)]
        request = requests.parse(requests.SearchMemories, {"query": question, **KINDS[kind]})
        ms[kind].append(await awaited(search(core, request, scope, asked)))
    return Searches(ms, (time.process_time() - used) / max(len(ready), 1) * 1e3)


async def search(core: Core, request: requests.SearchMemories, scope: str, asked: EncodedQuery) -> None:
    """Search for a question whose vector is known.

    Raises:
        RuntimeError: nothing was found.
    """

    async def embed(_: str) -> EncodedQuery:
        return asked

    embed_query = core.indexer.embed_query
    core.indexer.embed_query = embed  # type: ignore[method-assign]  # background work pauses meanwhile
    try:
        found = await core.search.memories(request, scope)
    finally:
        core.indexer.embed_query = embed_query  # type: ignore[method-assign]
    if not found.results and found.confidence != "none":
        raise RuntimeError(f"Nothing was found for {request.query!r} in {scope}.")


async def _nearest(core: Core, ready: list[Ready]) -> float:
    """The share of the exact 200 nearest passages of a scope that the vector search finds."""
    shares = []
    for scope, _, asked in ready:
        where = conditions.both(conditions.equal("scope", scope), conditions.equal("hidden", False))
        found = await core.store.passages.by_vector(asked.vector, where, 200)
        exact = (
            core.store.tables.passages.query()
            .nearest_to(asked.vector)
            .distance_type("cosine")
            .where(where)
            .bypass_vector_index()
        )
        rows = await exact.select(["id", "_distance"]).limit(200).to_arrow()
        seen = {row.id for row in (await core.store.passages.read(found.row_ids.tolist())).values()}
        shares.append(len(seen & {*rows["id"].to_pylist()}) / len(rows))
    return sum(shares) / len(shares)


async def _index_built(core: Core) -> float | None:
    """Seconds to rebuild the vector index over all rows; None if there is no index."""
    table = core.store.tables.passages
    if not any(index.name == f"{VECTOR}_idx" for index in await table.list_indices()):
        return None
    start = time.perf_counter()
    async with core.store.lock:
        await index_vectors(table, segments=0)
    return time.perf_counter() - start


def disk_of(folder: str) -> float:
    """MB of all files below a folder."""
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6


def _peak() -> float:
    return peak_memory(psutil.Process()) / 1e6


def _spread(searches: Searches) -> str:
    every = [ms for kind in searches.ms.values() for ms in kind]
    return f"{spread(every)}, {searches.cpu:.1f} ms of processor"
