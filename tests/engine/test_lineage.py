"""Lineage: the parents and children of a fact with their distance, the documents it cites, and their cost."""

from __future__ import annotations

from datetime import datetime

from said import SCOPE, document, fact, forget, search, turn

from scrubjay.engine.core import Core
from scrubjay.models.records import Memory
from scrubjay.models.results import Context, Hit


async def context(core: Core, query: str, **args) -> Context:
    hit = (await search(core, query, include={"related_memories": True}, **args)).results[0]
    assert hit.context is not None
    return hit.context


async def test_a_fact_can_be_derived_from_turns_and_documents(core: Core):
    said = await turn(core, "s", user="Did the deploy fail?", assistant="Yes, the disk was full.")
    guide = await document(core, "# Disks\n\nKeep a tenth of the disk free.", title="Disk guide")
    done = await fact(core, "A full disk makes deploys fail.", derives=[said.id, guide.id])
    record = await core.lists.find(done.id)
    assert isinstance(record, Memory)
    assert (record.relation, record.parent_ids, record.document_ids) == (
        "derives",
        (said.id, guide.id),
        (guide.id,),
    )
    assert (record.session_id, record.turn) == ("s", 0)
    found = await search(
        core,
        "full disk deploys fail",
        include_turns=False,
        include={"related_memories": True, "documents": True},
    )
    hit = found.results[0]
    assert [(link.src, link.relation, link.version) for link in hit.context.parents] == [
        ("turn", "derives", -1),
        ("chunk", "derives", -1),
    ]
    assert [(source.id, source.title) for source in hit.documents] == [(guide.id, "Disk guide")]
    assert (await search(core, "full disk", include_turns=False)).results[0].documents is None


async def test_related_memories_are_parents_and_children_with_their_distance(core: Core):
    ids = [(await fact(core, "The cache is Redis, take 1.")).id]
    for take in (2, 3):
        ids.append((await fact(core, f"The cache is Redis, take {take}.", updates=[ids[-1]])).id)
    child = await fact(core, "Redis is why sessions survive a restart.", derives=[ids[-1]])
    grandchild = await fact(core, "Restarts need no announcement.", extends=[child.id])
    about = await context(core, "The cache is Redis, take 3")
    assert [(link.id, link.relation, link.version) for link in about.parents] == [
        (ids[1], "updates", -1),
        (ids[0], "updates", -2),
    ]
    assert [(link.id, link.relation, link.version) for link in about.children] == [
        (child.id, "derives", 1),
        (grandchild.id, "extends", 2),
    ]
    assert [link.id for link in about.related] == [child.id]
    assert about.parents[0].memory == "The cache is Redis, take 2."
    below = await context(core, "Restarts need no announcement")
    assert [(link.id, link.version) for link in below.parents] == [
        (child.id, -1),
        (ids[2], -2),
        (ids[1], -3),
        (ids[0], -4),
    ]
    await forget(core, child.id)
    assert (await context(core, "The cache is Redis, take 3")).children == [
        link for link in about.children if link.id == grandchild.id
    ]


async def test_context_stays_within_the_budget(core: Core):
    id = (await fact(core, "Zebra note 0. " + "stripes " * 60)).id
    for n in range(1, 8):
        id = (await fact(core, f"Zebra note {n}. " + "stripes " * 60, updates=[id])).id
    hits = await search(core, "zebra note", include={"related_memories": True}, max_tokens=400)
    assert 0 < len(hits.results[0].context.parents) < 7 and hits.tokens.spent <= 400


def test_a_hit_without_context_has_no_context_field(now: datetime):
    assert (
        "context"
        not in Hit(
            id="a", src="memory", date=now, scope=SCOPE, partition_id="mem_semantic", source="t"
        ).wire()
    )
