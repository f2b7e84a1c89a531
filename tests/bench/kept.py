"""Homes that serve many measurements: a haystack is recorded and embedded once, in this process, and opened
again by the next run. Knows cores, homes and the markers of complete ones; does not know the questions.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from figures import say
from locomo import Haystack
from projects import Record

from scrubjay.engine.core import Core, open_core
from scrubjay.engine.engine import utc_now
from scrubjay.home.paths import SCHEMA_VERSION, open_home
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import derived_id
from scrubjay.models.requests import AddMemory, DocumentText, RecordTurn, parse

SCOPE = "repo_orchard__0123456789abcdef"
_TOGETHER = 64  # writes that wait for one commit
_KINDS = {"turn": RecordTurn, "memory": AddMemory, "document": DocumentText}


class Said(NamedTuple):
    """One write: the arguments of `record_turn`, `add_memory`, or a file's text; its time, if not now, and
    the name of its envelope, if that matters.
    """

    kind: Literal["turn", "memory", "document"]
    arguments: Mapping[str, Any]
    at: datetime | None = None
    name: str | None = None


def said_in(haystack: Haystack) -> list[Said]:
    """Every utterance of a haystack as a turn."""
    return [Said("turn", turn.arguments) for turn in haystack.turns]


def said_by(records: Iterable[Record], scope: str) -> tuple[list[Said], dict[str, str]]:
    """Every record of a project in its own time, and the ids that those with a key will have, by key."""
    said: list[Said] = []
    ids: dict[str, str] = {}
    for number, record in enumerate(records):
        name, arguments = f"bench-{number:06d}", dict(record.arguments)
        if record.updates is not None:
            arguments["updates"] = [ids[record.updates]]
        said.append(Said(record.kind, arguments, record.at, name))
        if record.key is not None and record.kind == "turn":
            ids[record.key] = derived_id(
                "turn", scope, arguments["session_id"], "turn", str(arguments["turn"])
            )
        elif record.key is not None and record.kind == "document":
            ids[record.key] = derived_id("doc", scope, "path", arguments["path"])
        elif record.key is not None:
            ids[record.key] = derived_id("mem", scope, name)
    return said, ids


@asynccontextmanager
async def temporary(
    settings: Settings | None = None, clock: Callable[[], datetime] = utc_now
) -> AsyncIterator[Core]:
    """A core over an empty home, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-bench-") as folder:
        core = await open_core(open_home(folder), settings or Settings(), clock)
        try:
            yield core
        finally:
            await core.close()


@asynccontextmanager
async def opened(
    folder: Path, name: str, said: Sequence[Said], model: str = "bundled"
) -> AsyncIterator[Core]:
    """A core over the home of these writes under `folder`: filled and embedded on the first call, reused on
    later ones. Homes of several models need several names.

    Raises:
        RuntimeError: the model or the store does not let texts be embedded.
    """
    mark = hashlib.sha256(repr((SCHEMA_VERSION, [*map(tuple, said)])).encode()).hexdigest()[:16]
    path = folder / f"{name.replace(' ', '-')}-{mark}"
    core = await open_core(open_home(str(path)), Settings(model=model), utc_now)
    try:
        if not (path / "complete").exists():
            start = time.perf_counter()
            await record_all(core, said)
            await embed_all(core)
            (path / "complete").touch()
            say(f"{name}: {len(said):,} records, embedded after {time.perf_counter() - start:.0f} s")
        await core.indexer.check_space()
        if core.indexer.trouble:
            raise RuntimeError(core.indexer.trouble)
        yield core
    finally:
        await core.close()


async def record_all(core: Core, said: Sequence[Said]) -> None:
    """Write everything in order, and commit it."""
    for start in range(0, len(said), _TOGETHER):
        await asyncio.gather(
            *(core.write(enveloped(each, SCOPE, core.clock())) for each in said[start : start + _TOGETHER])
        )
    await core.writer.settle()


async def embed_all(core: Core) -> None:
    """Give every passage its vector."""
    encoder = await core.indexer.load()
    while (
        await core.indexer.embed_some(encoder)
        or (await core.status.report())["records"]["waiting_for_vector"]
    ):
        pass


async def silent(done: int, total: int, what: str) -> None:
    """Ignore the progress of an ingest."""


def enveloped(said: Said, scope: str, now: datetime, source: str = "bench") -> Envelope:
    """The envelope of a write."""
    request, at = parse(_KINDS[said.kind], dict(said.arguments)), said.at or now
    return envelope(said.kind, request, scope=scope, source=source, at=at, envelope_id=said.name)
