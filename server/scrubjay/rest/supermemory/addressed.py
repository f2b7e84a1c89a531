"""Which record a path of `/v3/documents/{id}` means: by its id or its custom id, within what the caller reaches. Does not know what is done
with it.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from scrubjay.errors import InputError, NotFound
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.rest.visit import Visit
from scrubjay.store import sql

Id = Annotated[str, Path(description="Its id, or its customId.")]
WithinTag = Annotated[
    str | None, Query(alias="containerTag", description="The tag that it must be under; needed where two tags use one customId.")
]


async def record(visit: Visit, id: str, tag: str | None = None) -> AnyRecord:
    """The record of any kind that has this id, else the document with this custom id; nothing that is forgotten.

    Raises:
        NotFound: there is none within the tag, or within the caller's reach.
        InputError: documents of several tags have this custom id.
    """
    own = visit.leave.own(tag)
    found = await visit.find(id)
    if found is not None and found.forgotten_at is None and own in (None, found.scope):
        return found
    named = [row for row in await visit.core.filing.named(id, await visit.seen(own)) if row.forgotten_at is None]
    if len(named) > 1:
        tags = ", ".join(sorted(row.scope for row in named)[:5])
        raise InputError(f"customId {id[:80]!r} is used under several tags ({tags}). Add ?containerTag=, or give the document's id.")
    if not named:
        raise NotFound(f"Nothing here has the id or customId {id[:80]!r}.")
    return await visit.get(named[0].id)


async def document(visit: Visit, id: str, tag: str | None = None) -> Document:
    """The document that an id means; that of a memory is the document it was learned from. Raises as `record` does."""
    found = await record(visit, id, tag)
    if isinstance(found, Memory):
        sources = await visit.core.store.get(Document, found.document_ids)
        found = next((row for row in sources.values() if row.forgotten_at is None), found)
    if not isinstance(found, Document):
        raise NotFound(f"No document here has the id or customId {id[:80]!r}.")
    return found


def filed_at(filepath: str | None) -> str | None:
    """The condition that a document is filed there, or anywhere below where it ends in a slash; None for no condition."""
    return None if filepath is None else sql.either(sql.at_or_below("filepath", filepath), sql.at_or_below("path", filepath))
