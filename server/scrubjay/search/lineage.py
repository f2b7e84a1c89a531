"""Lineage: what a fact grew out of and what grew out of it, and the documents it cites. Knows how links are followed; does not know why
a fact was found, or what room is left for what it brings.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from scrubjay.models.records import AnyRecord, Document, Memory, Relation, Turn
from scrubjay.models.results import Context, Linked, Source
from scrubjay.records.versions import children
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.query import Question
from scrubjay.store.store import Store

DEEPEST = 20  # links that are followed in each direction; who needs more asks for the oldest of these
SHOWN = 300  # characters of a linked record
ENTRY = 30  # tokens of an entry's id, relation and time beside its text


async def contexts(store: Store, question: Question, facts: Sequence[Memory]) -> dict[str, Context]:
    """The context of each fact, as far as the question's time and scopes let it be seen; a replaced version is part of it always."""
    known: dict[str, AnyRecord] = {row.id: row for row in facts}
    below: dict[str, list[Memory]] = {}
    await _climb(store, known, facts)
    await _descend(store, known, below, facts)
    seen = {id for id, record in known.items() if _may_be_seen(question, record)}
    made = {}
    for fact in facts:
        parents = _parents(fact, known, seen)
        after = _children(fact, below, seen)
        direct = [
            link for link in (*parents, *after) if link.relation != "updates" and abs(link.version) == 1
        ]
        made[fact.id] = Context(parents=parents, children=after, related=direct)
    return made


async def sources(store: Store, facts: Iterable[Memory]) -> dict[str, list[Source]]:
    """The documents that each fact cites, without those that are forgotten."""
    cited = {fact.id: fact.document_ids for fact in facts}
    documents = await store.get(Document, chain.from_iterable(cited.values()))
    return {
        id: [
            _source(documents[other])
            for other in ids
            if other in documents and documents[other].forgotten_at is None
        ]
        for id, ids in cited.items()
    }


def fit(context: Context, room: int) -> tuple[Context, int]:
    """As much of a context as fits into so many tokens, the nearest links first, and what it takes."""
    spent = 0
    lists: Mapping[str, list[Linked]] = {"parents": [], "children": [], "related": []}
    links = [(name, link) for name in lists for link in getattr(context, name)]
    for name, link in sorted(links, key=lambda pair: abs(pair[1].version)):
        price = math.ceil(len(link.memory) / 4)
        if spent + price + ENTRY > room:
            break
        spent += price
        room -= ENTRY
        lists[name].append(link)
    return Context(**lists), spent


async def _climb(store: Store, known: dict[str, AnyRecord], facts: Sequence[Memory]) -> None:
    """Add the parents of these facts, their parents, and so on."""
    wanted = {id for fact in facts for id in fact.parent_ids}
    for _ in range(DEEPEST):
        missing = wanted - known.keys()
        if not missing:
            return
        found: dict[str, AnyRecord] = {**await store.get(Memory, missing)}
        if missing - found.keys():  # what was concluded from something that was said or read
            found |= await store.get(Turn, missing)
            found |= await store.get(Document, missing)
        known |= found
        wanted = {id for row in found.values() if isinstance(row, Memory) for id in row.parent_ids}


async def _descend(
    store: Store, known: dict[str, AnyRecord], below: dict[str, list[Memory]], facts: Sequence[Memory]
) -> None:
    """Add the facts that name these as parents, those that name them, and so on."""
    level: Collection[str] = {fact.id for fact in facts}
    for _ in range(DEEPEST):
        rows = await children(store, level)
        for row in rows:
            known[row.id] = row
            for id in set(row.parent_ids).intersection(level):
                below.setdefault(id, []).append(row)
        level = {row.id for row in rows} - below.keys()
        if not level:
            return


def _parents(fact: Memory, known: Mapping[str, AnyRecord], seen: Collection[str]) -> list[Linked]:
    found: dict[str, Linked] = {}
    level = [fact]
    for depth in range(1, DEEPEST + 1):
        older = [
            (row.relation, known[id])
            for row in level
            for id in row.parent_ids
            if id in known and id not in found
        ]
        found.update((record.id, _linked(record, relation, -depth)) for relation, record in older if relation)
        level = [record for _, record in older if isinstance(record, Memory)]
    return [link for id, link in found.items() if id in seen]


def _children(fact: Memory, below: Mapping[str, list[Memory]], seen: Collection[str]) -> list[Linked]:
    found: dict[str, Linked] = {}
    level = [fact.id]
    for depth in range(1, DEEPEST + 1):
        younger = [row for id in level for row in below.get(id, ()) if row.id not in found]
        found.update((row.id, _linked(row, row.relation, depth)) for row in younger if row.relation)
        level = [row.id for row in younger]
    return [link for id, link in found.items() if id in seen]


def _may_be_seen(question: Question, record: AnyRecord) -> bool:
    if question.scopes is not None and record.scope not in question.scopes:
        return False
    if isinstance(record, Memory) and not (question.as_of and record.created_at > question.as_of):
        return question.admits(record.model_copy(update={"replaced_at": None}))
    return question.admits(record)


def _linked(record: AnyRecord, relation: Relation, version: int) -> Linked:
    hit = as_hit(record)
    text = hit.memory or hit.chunk or ""
    return Linked(
        id=record.id,
        src=hit.src,
        memory=text if len(text) <= SHOWN else text[: SHOWN - 2].rsplit(maxsplit=1)[0] + " …",
        relation=relation,
        version=version,
        updated_at=record.updated_at,
        metadata=record.metadata,
    )


def _source(document: Document) -> Source:
    return Source(
        id=document.id,
        title=document.title,
        type=document.type,
        metadata=document.metadata,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )
