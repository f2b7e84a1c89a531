"""Helpers that write to a core in tests: the envelopes and requests that an interface would make."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from hashing_encoder import HashingEncoder

from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.models import requests
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import DocumentText
from scrubjay.models.results import DocumentAdded, Forgotten, MemoryAdded, MemoryHits, TurnRecorded

SCOPE = "repo_demo__0123456789abcdef"
R = TypeVar("R", Turn, Memory, Document)


async def opened(home: Home, clock: Callable[[], datetime], encoder: HashingEncoder | None = None) -> Core:
    """An engine's core over a home, by default with the hashing encoder for its model."""
    return await open_core(home, Settings(), clock, lambda *_, **__: encoder or HashingEncoder())


async def stored(core: Core, kind: type[R]) -> list[R]:
    """The records of a kind that are on disk, once every write is."""
    await core.writer.settle()
    return await core.store.select(kind, "true")


async def turn(
    core: Core, session: str, *, scope: str = SCOPE, id: str | None = None, **args: Any
) -> TurnRecorded:
    request = requests.parse(requests.RecordTurn, {"session_id": session, **args})
    made = envelope("turn", request, envelope_id=id, scope=scope, source="test", at=core.clock())
    return await core.write(made)  # type: ignore[return-value]


async def fact(core: Core, content: str, *, scope: str = SCOPE, **args: Any) -> MemoryAdded:
    request = requests.parse(requests.AddMemory, {"content": content, **args})
    made = envelope("memory", request, scope=scope, source="test", at=core.clock())
    return await core.write(made)  # type: ignore[return-value]


async def facts(core: Core, contents: Iterable[str], **args: Any) -> list[MemoryAdded]:
    """Many facts at once, which a store writes in few commits."""
    return await asyncio.gather(*(fact(core, content, **args) for content in contents))


async def document(core: Core, content: str, *, scope: str = SCOPE, **args: Any) -> DocumentAdded:
    request = requests.parse(DocumentText, {"content": content, **args})
    made = envelope("document", request, scope=scope, source="test", at=core.clock())
    return await core.write(made)  # type: ignore[return-value]


async def forget(core: Core, id: str, **args: Any) -> Forgotten:
    request = requests.parse(requests.Forget, {"id": id, **args})
    made = envelope("forget", request, scope=SCOPE, source="test", at=core.clock())
    return await core.write(made)  # type: ignore[return-value]


async def search(core: Core, query: str, *, scope: str = SCOPE, **args: Any) -> MemoryHits:
    return await core.search.memories(
        requests.parse(requests.SearchMemories, {"query": query, **args}), scope
    )


def texts(hits: MemoryHits) -> list[str]:
    return [hit.memory or hit.chunk or "" for hit in hits.results]


async def embedded(core: Core) -> None:
    """Wait until every passage has its vector."""
    await core.writer.settle()
    encoder = await core.indexer.load()
    while await core.indexer.embed_some(encoder) or not core.indexer.finished:
        await asyncio.sleep(0.005)


async def anchored(core: Core) -> None:
    """Wait until the code that each record names is noted."""
    await core.writer.settle()
    await core.anchoring.work()


async def silent(done: int, total: int, what: str) -> None:
    """Ignore a progress report."""


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.02)
