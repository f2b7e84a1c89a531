"""Damage to each kind of file in a home, in four ways: what an engine answers then, and what doctor reports.

Damage is silent if an acknowledged record is missing or altered afterwards, and no answer says that anything
is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from damaged_files import cut, empty, flip, remove, used
from hashing_encoder import HashingEncoder
from user import User, newcomer

from scrubjay.cli.doctor import store as findings_of
from scrubjay.engine.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.home import spool
from scrubjay.home.partitions import Partition
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import scope_of
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import AddMemory, DocumentText, Forget, RecordTurn, SearchMemories, parse
from scrubjay.store.tables import index_vectors

__all__ = ["newcomer"]  # a fixture

SCOPE, NOW = "dir_owls__1", datetime(2026, 3, 5, 12, 0, tzinfo=UTC)
FACTS = [f"The kestrel number {n} nests in tower {n * 7}." for n in range(6)]
BOUND = 40.0  # seconds for all answers of an engine


EVERY, FEW = (flip, cut, empty, remove), (flip, remove)


def kinds(home: Home) -> dict[str, tuple[Path, tuple[Callable[[Path], None], ...]]]:
    """One of each kind of file, with the ways to damage it; tables of records are alike, so one represents
    all.
    """
    found: dict[str, tuple[Path, tuple[Callable[[Path], None], ...]]] = {}
    for table, ways in (("memories", EVERY), ("passages_1", EVERY), ("turns", FEW), ("documents", FEW)):
        for part in ("data", "_deletions", "_versions"):
            for file in used(home, table, part)[:1]:
                found[f"{table} {part}"] = file, ways
        for file in used(home, table, "_indices") if ways is EVERY else ():
            found.setdefault(f"{table} index {file.name}", (file, FEW))
        found[table] = Path(home.data, f"{table}.lance"), (remove,)
    for name in (home.config, home.capture, home.scopes, home.scope_settings, home.partitions):
        found[os.path.basename(name)] = Path(name), EVERY
    for name in ("files", "memories.manifest"):
        found[f"inventory {name}"] = Path(f"{home.data}.inventory", name), EVERY
    found["hint"] = Path(home.data, "memories.lance", "_versions", "latest_version_hint.json"), EVERY
    found["index.json"] = Path(home.data, "index.json"), EVERY
    found["data"] = Path(home.data), (remove,)
    # A removed or altered file cannot be told from one that never existed, or that always had that text.
    found["envelope"] = next(Path(home.spool_new).iterdir()), (cut, empty)
    return found


# -- a home, and an engine in it


def engine_of(home: Home) -> Engine:
    return Engine(home, clock=lambda: NOW, open_model=lambda *_, **__: HashingEncoder())


async def tell(engine: Engine, kind: Any, request: Any) -> Any:
    core = await engine.core()
    return await core.write(envelope(kind, request, scope=SCOPE, source="cli", at=NOW), similar=False)


async def make_home(root: Path) -> Home:
    """A home with records of each kind, deletions, a vector index, settings, and a waiting write."""
    home = open_home(str(root))
    Path(home.config).write_text("min_length = 10\n")
    engine = engine_of(home)
    await engine.load()
    core = await engine.core()
    gone = await tell(engine, "memory", parse(AddMemory, {"content": "The heron left the marsh."}))
    for n, fact in enumerate(FACTS):
        await tell(engine, "memory", parse(AddMemory, {"content": fact}))
        said = {"session_id": "s1", "prompt_id": f"p{n}", "user": f"Where is wren {n}?"}
        await tell(engine, "turn", parse(RecordTurn, {**said, "assistant": f"Wren {n} sits in hedge {n}."}))
    text = "# Harbour\n\nThe ship Albatross lies in harbour 12.\n"
    await tell(engine, "document", parse(DocumentText, {"content": text, "custom_id": "ships"}))
    await core.removal.forget(parse(Forget, {"id": gone.id, "purge": True}), SCOPE, "cli")
    await core.indexer.wait_for_vectors([], 5.0)
    await tell(
        engine, "document", parse(DocumentText, {"content": f"{text}\nSo it does.\n", "custom_id": "ships"})
    )
    await core.writer.settle()
    await index_vectors(core.store.tables.passages, segments=0)
    for table in (core.store.tables.turns, core.store.tables.memories, core.store.tables.documents):
        await table.delete("id = 'nobody'")
    await core.scope_settings.keep_context(SCOPE, "Birds of this coast.", NOW)
    await core.partitions.make(SCOPE, Partition("mem_birds", "Birds"))
    await core.store.checkpoint()
    await engine.close()
    scope_of(home, str(root))
    waiting = envelope(
        "memory", parse(AddMemory, {"content": "The osprey waits."}), scope=SCOPE, source="cli", at=NOW
    )
    Path(home.spool_new, f"{1:020d}-{waiting.id}.json").write_text(
        json.dumps(waiting.model_dump(mode="json"))
    )
    return home


async def observe(engine: Engine, name: str) -> tuple[list[str], list[str]]:
    """Start an engine, read and write; return the faults of its answers, and the problems that it reports."""
    said: list[str] = []
    wrong: list[str] = []
    await engine.load()
    if engine.failure is not None:
        return [], [engine.failure]
    core = await engine.core()
    try:
        await tell(engine, "memory", parse(AddMemory, {"content": f"The rook saw {name}."}))
        await core.writer.settle()
    except ScrubjayError as error:
        said.append(str(error))
    for query, wanted in (
        ("Where does the kestrel number 4 nest?", "tower 28"),
        ("wren 3 hedge", "hedge 3"),
        ("What does the osprey do?", "osprey waits"),
    ):
        try:
            hits = await core.search.memories(parse(SearchMemories, {"query": query, "top_k": 50}), SCOPE)
            text = " ".join(hit.memory or hit.chunk or "" for hit in hits.results)
            said += [hits.degraded] if hits.degraded else []
            wrong += [] if wanted in text else [f"{wanted!r} is not found"]
        except ScrubjayError as error:
            said.append(str(error))
    report = await core.mending.report()
    status = await core.status.report()
    said += [each.message for each in findings_of(status | report) if each.verdict != "ok"]
    said += spool.reasons(spool.json_files(engine.home.spool_broken))
    least = {"memories": len(FACTS), "turns": len(FACTS), "documents": 1}
    records = status.get("records", dict.fromkeys(least, 0))  # they cannot be counted, which is reported
    wrong += [f"{records[kind]} {kind}" for kind, count in least.items() if records[kind] < count]
    return wrong, said


@pytest.mark.long
async def test_damage_to_any_kind_of_file_is_reported_and_every_call_is_answered(tmp_path: Path) -> None:
    home = await make_home(tmp_path / "home")
    faults: list[str] = []  # of engines that failed, or said nothing about what is missing
    for kind, (path, ways) in kinds(home).items():
        for way in ways:
            copy, name = tmp_path / "copy", f"{way.__name__} {kind}"
            shutil.copytree(home.root, copy)
            way(copy / path.relative_to(home.root))
            engine = engine_of(open_home(str(copy)))
            try:
                async with asyncio.timeout(BOUND):
                    wrong, said = await observe(engine, name)
                    await engine.close()
            except Exception as error:
                faults.append(f"{name}: {type(error).__name__} {error}"[:300])
            else:
                faults += [] if said else [f"{name}: {each}" for each in wrong]
            shutil.rmtree(copy)
    assert not faults


@pytest.mark.long
def test_doctor_names_lost_records_until_they_are_given_up(newcomer: User) -> None:
    newcomer.gets("add", "The first owl.")
    newcomer.gets("stop")
    shutil.rmtree(Path(newcomer.home.data, "memories.lance"))
    newcomer.gets("add", "The second owl.")
    page = newcomer.types("doctor")
    assert page.returncode == 1 and "Everything works" not in page.stdout
    assert re.search(r"PROBLEM +records +Table memories had 1 records and has 1", page.stdout)
    assert "restore-backup" in page.stdout and "doctor --mend" in page.stdout
    assert "DAMAGED" in newcomer.gets("status")
    assert "PROBLEM" not in newcomer.gets("doctor", "--mend")
    assert "PROBLEM" not in newcomer.gets("doctor")
    newcomer.gets("stop")
