"""What is learned of a document without anybody's judgement: each paragraph is a fact, found beside those that people keep. Knows which
facts a document has, and what becomes of them when it changes, goes or comes back; does not know how a
document is cut for search.

A fact is known by its document and its words, so that an unchanged paragraph keeps it. A document's facts
follow from it: no envelope holds them, and planning the document's own plans them anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from scrubjay.models.records import Document, Memory, content_hash, derived_id, is_current
from scrubjay.records.memories import passage
from scrubjay.records.versions import linked_facts
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store
from scrubjay.text.paragraphs import paragraphs

EXTRACTED = "document"  # the source of such a fact
NO_LONGER = "its paragraph is no longer in the document"
DOCUMENT_GONE = "its document was forgotten"
PARTITION = "mem_semantic"
LARGE = 20_000  # characters of a document; less is read sooner than a thread begins
_OURS = frozenset(
    {NO_LONGER, DOCUMENT_GONE}
)  # what we forgot comes back with its paragraph; what the user forgot does not
_PROSE = frozenset(
    {"text", "markdown", "html", "pdf", "docx", "pptx", "email"}
)  # code and rows are found by their chunks


async def plan_facts(
    store: Store,
    document: Document,
    at: datetime,
    group: Mapping[str, Any] | None = None,
    *,
    new: bool = False,
    facts: Mapping[str, Memory | None] = MappingProxyType({}),
) -> tuple[Change, ...]:
    """What has to be written so that the facts of a document are right: new ones, those that come back, those whose paragraph is gone.

    A fact of the scope that says the same is linked to the document instead; with a `group` only where its
    metadata is of it. A `new` document has none yet. `facts` are those of the scope that say some words, by
    their hash, None for none, as far as they were looked up.
    """
    if document.task_type is None:
        return ()
    large = len(document.content) > LARGE
    said = await asyncio.to_thread(_said, document) if large else _said(document)
    rows = {} if new else {row.id: row for row in await facts_of_documents(store, [document.id])}
    rows.update({} if new else await store.get(Memory, said))
    same = await _same_words(store, document.scope, said, group or {}, at, facts)
    kept: dict[str, Memory] = {}
    for id, text in said.items():
        own, other = rows.get(id), same.get(content_hash(text))
        if own is not None and (is_current(own, at) or (other is None and own.forget_reason in _OURS)):
            kept[id] = _as_it_is(own, text, document, at)
        elif other is not None:
            kept[other.id] = _cited(other, document.id, at)
        elif own is None:
            kept[id] = _new(id, text, document, at)
    gone = [
        _without(row, {document.id}, NO_LONGER, at)
        for id, row in rows.items()
        if id not in kept and id not in said
    ]
    known = {**rows, **{row.id: row for row in same.values()}}
    after = [*kept.values(), *gone]
    return tuple(await asyncio.to_thread(_changes, after, known) if large else _changes(after, known))


async def plan_removal(store: Store, ids: Collection[str], at: datetime) -> tuple[Change, ...]:
    """What has to be written when the documents with these ids are forgotten: facts that no other document holds go with them."""
    rows = {row.id: row for row in await facts_of_documents(store, ids)}
    return tuple(_changes((_without(row, set(ids), DOCUMENT_GONE, at) for row in rows.values()), rows))


async def facts_of_documents(store: Store, ids: Collection[str]) -> list[Memory]:
    """The facts that are linked to one of these documents, whatever became of them, oldest first."""
    return sorted(await linked_facts(store, "document_ids", ids), key=lambda row: (row.created_at, row.id))


async def exclusive_facts(store: Store, ids: Collection[str]) -> list[Memory]:
    """The facts that come from these documents and nowhere else: whoever wants the documents' bytes gone means theirs too."""
    return [
        row
        for row in await facts_of_documents(store, ids)
        if row.source == EXTRACTED and set(row.document_ids) <= set(ids)
    ]


def _said(document: Document) -> dict[str, str]:
    """The texts of the facts that a document should have, by id."""
    if (
        document.task_type != "memory"
        or document.type not in _PROSE
        or document.status != "done"
        or document.forgotten_at is not None
    ):
        return {}
    return {
        derived_id("mem", document.id, content_hash(text)): text
        for text in paragraphs(document.content, document.title)
    }


async def _same_words(
    store: Store,
    scope: str,
    said: Mapping[str, str],
    group: Mapping[str, Any],
    at: datetime,
    seen: Mapping[str, Memory | None],
) -> dict[str, Memory]:
    """Facts of a scope that say one of these texts already and are not the document's own, by the hash of their words."""
    digests = {content_hash(text) for text in said.values()}
    rows = {row.id: row for digest in digests if (row := seen.get(digest)) is not None}
    if unseen := sorted(digests - seen.keys()):
        where = conditions.both(conditions.one_of("content_hash", unseen), conditions.equal("scope", scope))
        rows.update((row.id, row) for row in await store.select(Memory, where))
    rows.update((row.id, row) for row in store.staged(Memory))
    found = [
        row
        for row in rows.values()
        if row.content_hash in digests and row.scope == scope and is_current(row, at)
    ]
    return {row.content_hash: row for row in found if row.id not in said and _is_of(group, row.metadata)}


def _is_of(group: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether metadata has all of these values, of a list any one."""
    return all(
        metadata.get(key) in (value if isinstance(value, list) else [value]) for key, value in group.items()
    )


def _new(id: str, text: str, document: Document, at: datetime) -> Memory:
    return Memory(
        id=id,
        root_id=id,
        scope=document.scope,
        partition_id=PARTITION,
        source=EXTRACTED,
        metadata=document.metadata,
        created_at=document.dated_at or at,
        updated_at=at,
        last_accessed_at=at,
        content=text,
        content_hash=content_hash(text),
        document_ids=(document.id,),
    )


def _as_it_is(fact: Memory, text: str, document: Document, at: datetime) -> Memory:
    """A fact whose paragraph is there, as its document has it now."""
    now: dict[str, Any] = {
        "content": text,  # its case and white space may have changed
        "metadata": document.metadata,
        "document_ids": tuple(dict.fromkeys((*fact.document_ids, document.id))),
        "forgotten_at": None,
        "forget_reason": None,
    }
    if document.dated_at is not None:
        now["created_at"] = document.dated_at
    return _changed(fact, now, at)


def _cited(fact: Memory, id: str, at: datetime) -> Memory:
    return fact if id in fact.document_ids else _changed(fact, {"document_ids": (*fact.document_ids, id)}, at)


def _without(fact: Memory, ids: set[str], reason: str, at: datetime) -> Memory:
    """A fact that these documents do not hold any more. What somebody concluded from them stays, and goes on citing them."""
    if ids.intersection(fact.parent_ids) or fact.forgotten_at is not None or not fact.is_latest:
        return fact
    others = tuple(id for id in fact.document_ids if id not in ids)
    if fact.source == EXTRACTED and not others:
        return _changed(fact, {"forgotten_at": at, "forget_reason": reason}, at)
    return _changed(fact, {"document_ids": others}, at)


def _changed(fact: Memory, values: Mapping[str, Any], at: datetime) -> Memory:
    made = fact.model_copy(update=values)
    return fact if made == fact else made.model_copy(update={"updated_at": at})


def _changes(facts: Iterable[Memory], known: Mapping[str, Memory]) -> Sequence[Change]:
    return [
        Change(row, (passage(row),), rewritten=row.id in known) for row in facts if known.get(row.id) != row
    ]
