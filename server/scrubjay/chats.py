"""Chats: conversations that came over HTTP, each a document with every message, and a session with the turns that may be found. Knows which
turns and which document are one conversation; does not know what makes a turn worth recording (`engine.conversing`).
"""

from __future__ import annotations

from collections.abc import Iterable

from scrubjay.models.records import AnyRecord, Document, Turn
from scrubjay.store.store import Store

SOURCE = "conversation"  # of the document of one, and of its turns


async def turns_of(store: Store, records: Iterable[AnyRecord]) -> list[Turn]:
    """The turns of those conversations whose documents are among these records, whatever became of them."""
    keys = [(row.scope, row.custom_id) for row in records if isinstance(row, Document) and row.source == SOURCE and row.custom_id]
    sessions = (await store.sessions.of(keys)).values() if keys else ()
    rows = await store.get(Turn, [id for session in sessions for id in session.positions])
    return [row for row in rows.values() if row.source == SOURCE]
