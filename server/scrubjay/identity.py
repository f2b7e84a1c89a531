"""Which document a text belongs to: the one that is named, else that of its custom_id, its path, or its own words. Knows that a file may
have moved, so that the id made of a path can be another path's by now.
"""

from __future__ import annotations

from scrubjay.ids import content_hash, derived_id
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Document
from scrubjay.models.texts import DocumentText
from scrubjay.store import sql
from scrubjay.store.store import Store


async def recognised(store: Store, request: DocumentText, envelope: Envelope) -> tuple[Document | None, str]:
    """The document as it is stored, None for a new one, and its id; a replay recognises what the first run made."""
    if request.document_id is not None:
        return await _get(store, request.document_id), request.document_id
    by_path = request.custom_id is None and request.path is not None
    if by_path and (there := await _at(store, envelope.scope, str(request.path))) is not None:
        return there, there.id
    id = derived_id("doc", envelope.scope, *_identity(request))
    known = await _get(store, id)
    if by_path and known is not None and known.path != request.path:  # that document moved away
        return None, derived_id("doc", envelope.scope, *_identity(request), envelope.id)
    return known, id


async def _get(store: Store, id: str) -> Document | None:
    return (await store.get(Document, [id])).get(id)


async def _at(store: Store, scope: str, path: str) -> Document | None:
    """The document of a file that is not forgotten."""
    where = sql.both(sql.equal("scope", scope), sql.equal("path", path), "custom_id IS NULL", "forgotten_at IS NULL")
    rows = await store.select(Document, where, columns=["id"])
    staged = [row.id for row in store.staged(Document) if row.scope == scope and row.path == path and row.custom_id is None]
    found = await store.get(Document, [*staged, *(row.id for row in rows)])  # what is staged may have moved or been forgotten since
    return next((row for row in found.values() if row.path == path and row.forgotten_at is None), None)


def id_of_path(scope: str, path: str, *more: str) -> str:
    """The id of the first document at a path; of a later one `more` tells it apart."""
    return derived_id("doc", scope, "path", path, *more)


def _identity(request: DocumentText) -> tuple[str, str]:
    if request.custom_id:
        return "custom", request.custom_id
    return ("path", request.path) if request.path else ("content", content_hash(request.content or ""))
