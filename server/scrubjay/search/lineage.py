"""Lineage: the ancestors and descendants of a fact, and the documents it cites."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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

Links = list[tuple[Relation | None, AnyRecord]]  # the records linked to one record, and how


async def contexts(store: Store, question: Question, facts: Sequence[Memory]) -> dict[str, Context]:
    """Return the context of each fact, by its id: related records of the question's time and scopes.

    Replaced versions are included.
    """
    records: dict[str, AnyRecord] = {row.id: row for row in facts}
    below: dict[str, list[Memory]] = {}  # the children of each record
    await _add_ancestors(store, records, facts)
    await _add_descendants(store, records, below, facts)
    visible = {record_id for record_id, record in records.items() if _is_visible(question, record)}

    def parents_of(row: AnyRecord) -> Links:
        if not isinstance(row, Memory):
            return []
        return [(row.relation, records[each]) for each in row.parent_ids if each in records]

    def children_of(row: AnyRecord) -> Links:
        return [(child.relation, child) for child in below.get(row.id, ())]

    by_fact = {}
    for fact in facts:
        ancestors = _linked_to(fact, parents_of, -1, visible)
        descendants = _linked_to(fact, children_of, 1, visible)
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


async def _add_ancestors(store: Store, records: dict[str, AnyRecord], facts: Sequence[Memory]) -> None:
    wanted = {parent_id for fact in facts for parent_id in fact.parent_ids}
    for _ in range(DEEPEST):
        missing = wanted - records.keys()
        if not missing:
            return
        parents: dict[str, AnyRecord] = {**await store.get(Memory, missing)}
        if missing - parents.keys():  # parents of facts derived from turns or documents
            parents |= await store.get(Turn, missing)
            parents |= await store.get(Document, missing)
        records |= parents
        wanted = {
            parent_id for row in parents.values() if isinstance(row, Memory) for parent_id in row.parent_ids
        }


async def _add_descendants(
    store: Store, records: dict[str, AnyRecord], below: dict[str, list[Memory]], facts: Sequence[Memory]
) -> None:
    level: Collection[str] = {fact.id for fact in facts}
    for _ in range(DEEPEST):
        rows = await children(store, level)
        for row in rows:
            records[row.id] = row
            for parent_id in set(row.parent_ids).intersection(level):
                below.setdefault(parent_id, []).append(row)
        level = {row.id for row in rows} - below.keys()
        if not level:
            return


def _linked_to(
    fact: Memory, links_of: Callable[[AnyRecord], Links], step: int, visible: Collection[str]
) -> list[Linked]:
    """Follow links from a fact, and return the visible records that they lead to, nearest first.

    `links_of` gives the links of one record; `step` is -1 for ancestors and 1 for descendants.
    """
    linked: dict[str, Linked] = {}
    level: list[AnyRecord] = [fact]
    for depth in range(1, DEEPEST + 1):
        links = [link for row in level for link in links_of(row) if link[1].id not in linked]
        linked.update((row.id, _linked(row, relation, step * depth)) for relation, row in links if relation)
        level = [row for _, row in links]
    return [link for record_id, link in linked.items() if record_id in visible]


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
