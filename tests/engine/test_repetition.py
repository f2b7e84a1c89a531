"""Repeated facts: in the same words they gain importance, in other words they are linked; nothing is merged."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import SCOPE, embedded, fact, search, stored

from scrubjay.engine.background import consolidation
from scrubjay.engine.core import Core
from scrubjay.home import spool
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory
from scrubjay.records.memories import MOST, count_repetition

pytestmark = pytest.mark.long

RULE = "Run `make lint` before every commit."


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(consolidation, "QUIET_SECONDS", 0.02)


async def again(core: Core, at: datetime, content: str = RULE, **args) -> Memory:
    made = Envelope(
        id=uuid4().hex, kind="memory", at=at, scope=SCOPE, source="test", args={"content": content, **args}
    )
    added = await core.writer.write(made)
    return (await core.store.get(Memory, [added.id]))[added.id]


async def settled(core: Core) -> dict[str, Memory]:
    """The facts on disk by their words, once all have been compared with each other."""
    async with asyncio.timeout(20):
        while core.consolidation.waiting or core.writer.pending or core.store.staged(Memory):
            await asyncio.sleep(0.01)
    await core.writer.settle()
    return {row.content: row for row in await core.store.select(Memory, "true")}


async def test_a_fact_repeated_on_another_day_or_in_another_session_gains_importance(core: Core, now):
    await again(core, now)
    assert (await again(core, now + timedelta(hours=1))).importance_score == 5  # the same day
    assert (await again(core, now + timedelta(days=1))).importance_score == 5.5
    assert (await again(core, now + timedelta(days=1, hours=2))).importance_score == 5.5
    found = await again(core, now + timedelta(days=1, hours=3), metadata={"session_id": "b"})
    assert (found.importance_score, found.version, found.occasions) == (6, 1, ("2026-03-06", "b"))
    assert found.last_accessed_at == now + timedelta(days=1, hours=3)
    await embedded(core)
    assert (await search(core, "make lint")).results[0].importance_score_normalized == pytest.approx(0.6)


async def test_repetition_is_replayed_to_the_same_importance(core: Core, now):
    await again(core, now)
    made = Envelope(
        id=uuid4().hex,
        kind="memory",
        at=now + timedelta(days=1),
        scope=SCOPE,
        source="mcp",
        args={"content": RULE},
    )
    for _ in range(3):
        spool.write(core.home, made.model_dump(mode="json"))
        await core.writer.drain()
    (row,) = await stored(core, Memory)
    assert (row.importance_score, row.occasions) == (5.5, ("2026-03-06",))


@given(st.floats(0, 10), st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=60))
def test_importance_rises_per_occasion_up_to_its_bound_and_never_falls(
    given_importance: float, sessions: list[str]
):
    at = datetime.fromisoformat("2026-03-05T12:00:00Z")
    known = Memory(
        id="mem_1", root_id="mem_1", scope=SCOPE, partition_id="mem_semantic", source="test", content=RULE, content_hash="",
        created_at=at, updated_at=at, last_accessed_at=at, importance_score=given_importance,
    )  # fmt: skip
    before = known
    for session in sessions:
        known = count_repetition(known, session, at)
    bound = max(MOST, before.importance_score)
    assert known.importance_score == pytest.approx(
        min(bound, before.importance_score + 0.5 * len(set(sessions))), abs=1e-9
    )
    assert len(known.occasions) <= 16


async def test_a_fact_repeated_in_other_words_is_linked_and_each_shows_the_other_as_related(core: Core):
    first = await fact(core, RULE)
    await fact(core, "The zebra queue is NATS.")
    await embedded(core)
    second = await fact(core, "Before every commit, run `make lint`.")
    rows = await settled(core)
    assert {row.id: row.alike for row in rows.values() if row.alike} == {second.id: (first.id,)}
    for asked, other in ((first, second), (second, first)):
        words = next(row.content for row in rows.values() if row.id == asked.id)
        found = await search(core, words, top_k=1)
        shown = [*found.results, *found.related]
        assert {hit.id for hit in shown} == {first.id, second.id}, other
        assert [(hit.reason, hit.via) for hit in found.related] == [("relation", found.results[0].id)]


async def test_facts_that_differ_in_a_number_a_negation_or_a_name_are_two_facts(core: Core):
    for content in (
        "The API listens on port 8080.",
        "The API listens on port 8081.",
        "We use tabs here.",
        "We do not use tabs here.",
    ):
        await fact(core, content)
        await embedded(core)
    assert all(row.alike == () for row in (await settled(core)).values())


async def test_facts_that_differ_in_spaces_case_or_final_punctuation_are_one(core: Core) -> None:
    first = await fact(core, "The atlas listens on port 5433.")
    for same in ("the atlas  listens on port 5433", "The Atlas listens on port 5433 !"):
        again = await fact(core, same)
        assert (again.id, again.action) == (first.id, "known"), same
    assert (await fact(core, "The atlas listens on port 5433?")).id != first.id


async def test_facts_that_spell_an_accent_in_other_bytes_are_one(core: Core) -> None:
    first = await fact(core, "Th\u00e9o runs the caf\u00e9.")
    again = await fact(core, "The\u0301o runs the cafe\u0301")
    assert (again.id, again.action) == (first.id, "known")
