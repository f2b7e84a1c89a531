"""Repeated facts: in the same words they gain importance, in other words they are linked; nothing is merged."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import SCOPE, embedded, fact, search, stored

from scrubjay.engine.core import Core
from scrubjay.home import spool
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory
from scrubjay.records.memories import MOST, count_repetition

pytestmark = pytest.mark.long

RULE = "Run `make lint` before every commit."


def envelope(at: datetime, **args) -> Envelope:
    made = {"id": uuid4().hex, "kind": "memory", "scope": SCOPE, "source": "test"}
    return Envelope(**made, at=at, args={"content": RULE, **args})


async def again(core: Core, at: datetime, **args) -> Memory:
    added = await core.writer.write(envelope(at, **args))
    return (await core.store.get(Memory, [added.id]))[added.id]


async def settled(core: Core) -> dict[str, Memory]:
    """The facts on disk by their words, once all have been compared with each other."""
    await core.consolidation.process_all()
    return {row.content: row for row in await stored(core, Memory)}


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
    made = envelope(now + timedelta(days=1))
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
    fields = {"scope": SCOPE, "partition_id": "mem_semantic", "source": "test", "content": RULE}
    fields |= dict.fromkeys(("id", "root_id", "content_hash"), "mem_1") | {
        "importance_score": given_importance
    }
    fields |= dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), at)
    known = before = Memory(**fields)
    for session in sessions:
        known = count_repetition(known, session, at)
    bound = max(MOST, before.importance_score)
    expected = min(bound, before.importance_score + 0.5 * len(set(sessions)))
    assert known.importance_score == pytest.approx(expected, abs=1e-9)
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
    ports = ("The API listens on port 8080.", "The API listens on port 8081.")
    for content in (*ports, "We use tabs here.", "We do not use tabs here."):
        await fact(core, content)
        await embedded(core)
    assert all(row.alike == () for row in (await settled(core)).values())


@pytest.mark.parametrize(
    "same",
    ["th\u00e9o  RUNS\nthe caf\u00e9", "Th\u00e9o runs the caf\u00e9 !", "The\u0301o runs the cafe\u0301"],
    ids=["spaces and case", "final punctuation", "other bytes of an accent"],
)
async def test_facts_that_differ_only_in_spelling_are_one_in_their_scope(core: Core, same: str):
    first = await fact(core, "Th\u00e9o runs the caf\u00e9.")
    again = await fact(core, same)
    assert (again.id, again.action) == (first.id, "known")
    assert (await fact(core, "Th\u00e9o runs the caf\u00e9?")).id != first.id
    assert (await fact(core, same, scope="user")).action == "stored"
