"""Extracts one fact from each paragraph of a document, verbatim.

A fact is identified by its document and its words, so an unchanged paragraph keeps its fact. No envelope
holds facts: a replay of the document's envelope plans them again.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from scrubjay.models.records import (
    NOT_FORGOTTEN,
    Document,
    Memory,
    changed,
    content_hash,
    derived_id,
    is_current,
)
from scrubjay.records.memories import facts_with_text
from scrubjay.records.passages import record_change, title_above
from scrubjay.records.versions import linked_facts
from scrubjay.store.changes import Change
from scrubjay.store.store import Store
from scrubjay.text.paragraphs import paragraphs

EXTRACTED = "document"  # the source of such a fact
NO_LONGER = "its paragraph is no longer in the document"
DOCUMENT_GONE = "its document was forgotten"
PARTITION = "mem_semantic"
LARGE = 20_000  # characters of a document; a shorter one is split faster than a thread starts
# A fact that was forgotten with its paragraph comes back with it; one that the user forgot does not.
_AUTOMATIC_REASONS = frozenset({NO_LONGER, DOCUMENT_GONE})
# Facts are extracted from these types only; other documents are found by their chunks.
PROSE = frozenset("text markdown html pdf docx doc odt rtf epub pptx ppt odp email".split())


async def plan_facts(
    store: Store,
    document: Document,
    at: datetime,
    group: Mapping[str, Any] | None = None,
    *,
    new: bool = False,
) -> tuple[Change, ...]:
    """Plan the facts of a document: add new ones, restore old ones, and forget those without a paragraph.

    If another fact of the scope has the same text (and, with a `group`, the group's metadata), that fact is
    linked to the document instead. A `new` document has no facts yet.
    """
    if document.task_type is None:
        return ()
    large = len(document.content) > LARGE
    texts = await asyncio.to_thread(_texts, document) if large else _texts(document)
    linked = [] if new else await facts_of_documents(store, [document.id])
    rows = {row.id: row for row in linked} | ({} if new else await store.get(Memory, texts))
    equal_facts = await _facts_with_equal_text(store, document.scope, texts, group or {}, at)
    present: dict[str, Memory] = {}
    for fact_id, text in texts.items():
        fact, equal_fact = rows.get(fact_id), equal_facts.get(content_hash(text))
        if fact is not None and (
            is_current(fact, at) or (equal_fact is None and fact.forget_reason in _AUTOMATIC_REASONS)
        ):
            present[fact_id] = _updated(fact, text, document, at)
        elif equal_fact is not None:
            present[equal_fact.id] = _linked(equal_fact, document.id, at)
        elif fact is None:
            present[fact_id] = _new(fact_id, text, document, at)
    gone = [
        _unlinked(row, {document.id}, NO_LONGER, at)
        for fact_id, row in rows.items()
        if fact_id not in present and fact_id not in texts
    ]
    stored = {**rows, **{row.id: row for row in equal_facts.values()}}
    facts = [*present.values(), *gone]
    return tuple(await asyncio.to_thread(_changes, facts, stored) if large else _changes(facts, stored))


async def plan_removal(store: Store, ids: Collection[str], at: datetime) -> tuple[Change, ...]:
    """Unlink the facts of forgotten documents, and forget those that have no other document."""
    rows = {row.id: row for row in await facts_of_documents(store, ids)}
    return tuple(_changes((_unlinked(row, set(ids), DOCUMENT_GONE, at) for row in rows.values()), rows))


async def facts_of_documents(store: Store, ids: Collection[str]) -> list[Memory]:
    """Return the facts that are linked to one of these documents, forgotten ones too, oldest first."""
    return sorted(await linked_facts(store, "document_ids", ids), key=lambda row: (row.created_at, row.id))


async def exclusive_facts(store: Store, ids: Collection[str]) -> list[Memory]:
    """Return the facts extracted from these documents alone: purging the documents purges them too."""
    return [
        row
        for row in await facts_of_documents(store, ids)
        if row.source == EXTRACTED and set(row.document_ids) <= set(ids)
    ]


def _texts(document: Document) -> dict[str, str]:
    """Return the texts of the facts that a document should have, by the id of the fact."""
    if (
        document.task_type != "memory"
        or document.type not in PROSE
        or document.status != "done"
        or document.forgotten_at is not None
    ):
        return {}
    return {
        derived_id("mem", document.id, content_hash(text)): text
        for text in paragraphs(document.content, title_above(document))
    }


async def _facts_with_equal_text(
    store: Store, scope: str, texts: Mapping[str, str], group: Mapping[str, Any], at: datetime
) -> dict[str, Memory]:
    """Return the facts of a scope with these texts, except the document's own, by the hash of their text."""
    facts = await facts_with_text(store, scope, {content_hash(text) for text in texts.values()})
    others = (row for row in facts if is_current(row, at) and row.id not in texts)
    return {row.content_hash: row for row in others if _has_group(row.metadata, group)}


def _has_group(metadata: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    """Return True if metadata has every value of a group; if a value is a list, one of its items suffices."""
    lists = {key: value if isinstance(value, list) else [value] for key, value in group.items()}
    return all(metadata.get(key) in items for key, items in lists.items())


def _new(fact_id: str, text: str, document: Document, at: datetime) -> Memory:
    return Memory(
        id=fact_id,
        root_id=fact_id,
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


def _updated(fact: Memory, text: str, document: Document, at: datetime) -> Memory:
    """Return a fact with the text, metadata and date that its document has now."""
    values: dict[str, Any] = {
        "content": text,  # its case and white space may have changed
        "metadata": document.metadata,
        "document_ids": tuple(dict.fromkeys((*fact.document_ids, document.id))),
        **NOT_FORGOTTEN,
    }
    if document.dated_at is not None:
        values["created_at"] = document.dated_at
    return changed(fact, values, at)


def _linked(fact: Memory, document_id: str, at: datetime) -> Memory:
    if document_id in fact.document_ids:
        return fact
    return changed(fact, {"document_ids": (*fact.document_ids, document_id)}, at)


def _unlinked(fact: Memory, ids: set[str], reason: str, at: datetime) -> Memory:
    """Return a fact without its link to these documents, unless it was derived from them.

    An extracted fact without another document is forgotten with this reason.
    """
    if ids.intersection(fact.parent_ids) or fact.forgotten_at is not None or not fact.is_latest:
        return fact
    others = tuple(document_id for document_id in fact.document_ids if document_id not in ids)
    if fact.source == EXTRACTED and not others:
        return changed(fact, {"forgotten_at": at, "forget_reason": reason}, at)
    return changed(fact, {"document_ids": others}, at)


def _changes(facts: Iterable[Memory], stored: Mapping[str, Memory]) -> Sequence[Change]:
    return [record_change(row, is_known=row.id in stored) for row in facts if stored.get(row.id) != row]
