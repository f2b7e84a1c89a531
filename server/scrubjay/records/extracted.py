"""Extracts one fact per paragraph of a document, verbatim.

A fact is identified by its document and its words, so an unchanged paragraph keeps its fact. Facts are
derived from their document: no envelope holds them, and planning the document's envelope plans them again.
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
from scrubjay.records.passages import title_above, written
from scrubjay.records.versions import linked_facts
from scrubjay.store.changes import Change
from scrubjay.store.store import Store
from scrubjay.text.paragraphs import paragraphs

EXTRACTED = "document"  # the source of such a fact
NO_LONGER = "its paragraph is no longer in the document"
DOCUMENT_GONE = "its document was forgotten"
PARTITION = "mem_semantic"
LARGE = 20_000  # characters of a document; less is read sooner than a thread begins
# What was forgotten with its paragraph comes back with it; what the user forgot does not.
_OUR_REASONS = frozenset({NO_LONGER, DOCUMENT_GONE})
# the rest is found by its chunks
_PROSE = frozenset(
    {"text", "markdown", "html", "pdf", "docx", "doc", "odt", "rtf", "epub", "pptx", "ppt", "odp", "email"}
)


async def plan_facts(
    store: Store,
    document: Document,
    at: datetime,
    group: Mapping[str, Any] | None = None,
    *,
    new: bool = False,
) -> tuple[Change, ...]:
    """Plan the facts of a document: new facts, returning facts, and facts without their paragraph.

    A fact of the scope with the same text is linked to the document instead; with a `group` only if its
    metadata has the group's values. A `new` document has no facts yet.
    """
    if document.task_type is None:
        return ()
    large = len(document.content) > LARGE
    texts = await asyncio.to_thread(_texts, document) if large else _texts(document)
    linked = [] if new else await facts_of_documents(store, [document.id])
    rows = {row.id: row for row in linked} | ({} if new else await store.get(Memory, texts))
    same = await _same_texts(store, document.scope, texts, group or {}, at)
    present: dict[str, Memory] = {}
    for fact_id, text in texts.items():
        own, other = rows.get(fact_id), same.get(content_hash(text))
        if own is not None and (is_current(own, at) or (other is None and own.forget_reason in _OUR_REASONS)):
            present[fact_id] = _as_in_document(own, text, document, at)
        elif other is not None:
            present[other.id] = _linked(other, document.id, at)
        elif own is None:
            present[fact_id] = _new(fact_id, text, document, at)
    gone = [
        _unlinked(row, {document.id}, NO_LONGER, at)
        for fact_id, row in rows.items()
        if fact_id not in present and fact_id not in texts
    ]
    known = {**rows, **{row.id: row for row in same.values()}}
    after = [*present.values(), *gone]
    return tuple(await asyncio.to_thread(_changes, after, known) if large else _changes(after, known))


async def plan_removal(store: Store, ids: Collection[str], at: datetime) -> tuple[Change, ...]:
    """Plan the facts of forgotten documents: facts of no other document are forgotten, too."""
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
    """Return the texts of the facts that a document should have, by id."""
    if (
        document.task_type != "memory"
        or document.type not in _PROSE
        or document.status != "done"
        or document.forgotten_at is not None
    ):
        return {}
    return {
        derived_id("mem", document.id, content_hash(text)): text
        for text in paragraphs(document.content, title_above(document))
    }


async def _same_texts(
    store: Store,
    scope: str,
    texts: Mapping[str, str],
    group: Mapping[str, Any],
    at: datetime,
) -> dict[str, Memory]:
    """Return facts of a scope with these texts that are not the document's own, by the hash of their text."""
    hashes = {content_hash(text) for text in texts.values()}
    staged = store.staged(Memory)  # before the look at the disk, or a commit could hide one
    rows = {row.id: row for row in await facts_with_text(store, scope, hashes)}
    rows.update((row.id, row) for row in staged)
    found = [
        row
        for row in rows.values()
        if row.content_hash in hashes and row.scope == scope and is_current(row, at) and row.id not in texts
    ]
    return {row.content_hash: row for row in found if _is_in(group, row.metadata)}


def _is_in(group: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    return all(
        metadata.get(key) in (value if isinstance(value, list) else [value]) for key, value in group.items()
    )


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


def _as_in_document(fact: Memory, text: str, document: Document, at: datetime) -> Memory:
    """Return a fact whose paragraph is there, as its document has it now."""
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
    """Return a fact without its link to these documents; a fact concluded from them keeps it."""
    if ids.intersection(fact.parent_ids) or fact.forgotten_at is not None or not fact.is_latest:
        return fact
    others = tuple(document_id for document_id in fact.document_ids if document_id not in ids)
    if fact.source == EXTRACTED and not others:
        return changed(fact, {"forgotten_at": at, "forget_reason": reason}, at)
    return changed(fact, {"document_ids": others}, at)


def _changes(facts: Iterable[Memory], known: Mapping[str, Memory]) -> Sequence[Change]:
    return [written(row, is_known=row.id in known) for row in facts if known.get(row.id) != row]
