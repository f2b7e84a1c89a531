"""Lineage: the ancestors and descendants of a fact, and the documents it cites."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from scrubjay.models.records import AnyRecord, Document, Memory, Relation, Turn, fields_of
from scrubjay.models.results import Context, Linked, Source
from scrubjay.records.versions import children
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.text.sentences import shorten

DEEPEST = 20  # links followed in each direction
SHOWN = 300  # characters of a linked record
ENTRY = 30  # tokens of the id, relation and time of an entry

Links = Mapping[str, Sequence[tuple[Relation | None, AnyRecord]]]  # by record id: linked records, and how


async def contexts(store: Store, question: Question, facts: Sequence[Memory]) -> dict[str, Context]:
    """Return the context of each fact, by its id: related records of the question's time and scopes.

    Replaced versions are included.
    """
    above, below = await _parents(store, facts), await _children(store, facts)
    by_fact = {}
    for fact in facts:
        ancestors = _linked_to(question, fact.id, above, -1)
        descendants = _linked_to(question, fact.id, below, 1)
        direct = [
            link
            for link in (*ancestors, *descendants)
            if link.relation != "updates" and abs(link.version) == 1
        ]
        by_fact[fact.id] = Context(parents=ancestors, children=descendants, related=direct)
    return by_fact


async def sources(store: Store, facts: Iterable[Memory]) -> dict[str, list[Source]]:
    """Return the documents that each fact cites, by the fact's id, without forgotten ones."""
    cited = {fact.id: fact.document_ids for fact in facts}
    documents = await store.get(Document, chain.from_iterable(cited.values()))
    current = {
        row.id: Source(**fields_of(row, *Source.model_fields))
        for row in documents.values()
        if row.forgotten_at is None
    }
    return {fact_id: [current[each] for each in ids if each in current] for fact_id, ids in cited.items()}


def fit(context: Context, room: int) -> tuple[Context, int]:
    """Keep the nearest links of a context, at most `room` tokens; also return the tokens of their texts."""
    spent = 0
    lists: Mapping[str, list[Linked]] = {"parents": [], "children": [], "related": []}
    links = [(name, link) for name in lists for link in getattr(context, name)]
    for name, link in sorted(links, key=lambda pair: abs(pair[1].version)):
        cost = math.ceil(len(link.memory) / 4)
        if spent + cost + ENTRY > room:
            break
        spent += cost
        room -= ENTRY
        lists[name].append(link)
    return Context(**lists), spent


async def _parents(store: Store, facts: Sequence[Memory]) -> Links:
    """Return the links to the parents of these facts, to the parents of those, and so on."""
    links: dict[str, list[tuple[Relation | None, AnyRecord]]] = {}
    level = facts
    for _ in range(DEEPEST):
        ids = {parent_id for fact in level for parent_id in fact.parent_ids}
        facts_above = await store.get(Memory, ids)
        parents: dict[str, AnyRecord] = {**facts_above}
        if missing := ids - parents.keys():  # parents of facts derived from turns or documents
            parents |= await store.get(Turn, missing)
            parents |= await store.get(Document, missing)
        for fact in level:
            links[fact.id] = [(fact.relation, parents[each]) for each in fact.parent_ids if each in parents]
        level = [fact for fact in facts_above.values() if fact.id not in links]
        if not level:
            break
    return links


async def _children(store: Store, facts: Sequence[Memory]) -> Links:
    """Return the links to the children of these facts, to the children of those, and so on."""
    links: dict[str, list[tuple[Relation | None, AnyRecord]]] = {}
    level = {fact.id for fact in facts}
    for _ in range(DEEPEST):
        rows = await children(store, level)
        for row in rows:
            for parent_id in level.intersection(row.parent_ids):
                links.setdefault(parent_id, []).append((row.relation, row))
        level = {row.id for row in rows} - links.keys()
        if not level:
            break
    return links


def _linked_to(question: Question, fact_id: str, links: Links, step: int) -> list[Linked]:
    """Follow links from a fact, and return the visible records that they lead to, nearest first.

    `step` is -1 for ancestors and 1 for descendants.
    """
    linked: dict[str, Linked | None] = {}
    level = [fact_id]
    for depth in range(1, DEEPEST + 1):
        found = [link for each in level for link in links.get(each, ()) if link[1].id not in linked]
        for relation, row in found:
            if relation:
                is_visible = _is_visible(question, row)
                linked[row.id] = _linked(row, relation, step * depth) if is_visible else None
        level = [row.id for _, row in found]
    return [link for link in linked.values() if link is not None]


def _is_visible(question: Question, record: AnyRecord) -> bool:
    if question.scopes is not None and record.scope not in question.scopes:
        return False
    if isinstance(record, Memory) and not (question.as_of and record.created_at > question.as_of):
        return question.admits(record.model_copy(update={"replaced_at": None}))
    return question.admits(record)


def _linked(record: AnyRecord, relation: Relation, version: int) -> Linked:
    hit = as_hit(record)
    common_fields = fields_of(record, "id", "updated_at", "metadata")
    text = shorten(hit.memory or hit.chunk or "", SHOWN)
    return Linked(**common_fields, src=hit.src, memory=text, relation=relation, version=version)
