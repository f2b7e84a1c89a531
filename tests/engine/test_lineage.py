"""Lineage: the parents and children of a fact with their distance, the documents it cites, and their cost."""

from collections.abc import Sequence
from typing import Any

from said import document, fact, forget, search, turn

from scrubjay.engine.core import Core
from scrubjay.models.records import Memory
from scrubjay.models.results import Context


async def context(core: Core, query: str, **args) -> Context:
    hit = (await search(core, query, include={"related_memories": True}, **args)).results[0]
    assert hit.context is not None
    return hit.context


def links(found: Sequence[Any]) -> list[tuple[str, str, int]]:
    return [(link.id, link.relation, link.version) for link in found]


async def test_a_fact_can_be_derived_from_turns_and_documents(core: Core):
    said = await turn(core, "s", user="Did the deploy fail?", assistant="Yes, the disk was full.")
    guide = await document(core, "# Disks\n\nKeep a tenth of the disk free.", title="Disk guide")
    done = await fact(core, "A full disk makes deploys fail.", derives=[said.id, guide.id])
    record = await core.lists.find(done.id)
    assert isinstance(record, Memory)
    assert (record.relation, record.session_id, record.turn) == ("derives", "s", 0)
    assert (record.parent_ids, record.document_ids) == ((said.id, guide.id), (guide.id,))
    include = {"related_memories": True, "documents": True}
    found = await search(core, "full disk deploys fail", include_turns=False, include=include)
    hit = found.results[0]
    parents = [(link.src, link.relation, link.version) for link in hit.context.parents]
    assert parents == [("turn", "derives", -1), ("chunk", "derives", -1)]
    assert [(source.id, source.title) for source in hit.documents] == [(guide.id, "Disk guide")]
    assert (await search(core, "full disk", include_turns=False)).results[0].documents is None


async def test_related_memories_are_parents_and_children_with_their_distance(core: Core):
    ids = [(await fact(core, "The cache is Redis, take 1.")).id]
    for take in (2, 3):
        ids.append((await fact(core, f"The cache is Redis, take {take}.", updates=[ids[-1]])).id)
    child = await fact(core, "Redis is why sessions survive a restart.", derives=[ids[-1]])
    grandchild = await fact(core, "Restarts need no announcement.", extends=[child.id])
    about = await context(core, "The cache is Redis, take 3")
    assert links(about.parents) == [(ids[1], "updates", -1), (ids[0], "updates", -2)]
    assert links(about.children) == [(child.id, "derives", 1), (grandchild.id, "extends", 2)]
    assert [link.id for link in about.related] == [child.id]
    assert about.parents[0].memory == "The cache is Redis, take 2."
    below = await context(core, "Restarts need no announcement")
    assert [link.id for link in below.parents] == [child.id, *reversed(ids)]
    assert [link.version for link in below.parents] == [-1, -2, -3, -4]
    await forget(core, child.id)
    about = await context(core, "The cache is Redis, take 3")
    assert links(about.children) == [(grandchild.id, "extends", 2)]


async def test_context_stays_within_the_budget(core: Core):
    id = (await fact(core, "Zebra note 0. " + "stripes " * 60)).id
    for n in range(1, 8):
        id = (await fact(core, f"Zebra note {n}. " + "stripes " * 60, updates=[id])).id
    hits = await search(core, "zebra note", include={"related_memories": True}, max_tokens=400)
    assert 0 < len(hits.results[0].context.parents) < 7 and hits.tokens.spent <= 400


async def test_a_hit_without_context_has_no_context_field(core: Core):
    await fact(core, "The cache is Redis.")
    assert "context" not in (await search(core, "cache")).wire()["results"][0]
