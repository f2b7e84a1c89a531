"""Which memory a request of `/v4/memories` means: by its id, by its exact words, or by the id of its document. Knows that an id of another
tag is as good as none; does not know what is then done to it.
"""

from __future__ import annotations

from scrubjay import versions
from scrubjay.errors import InputError, NotFound
from scrubjay.forgetting import meant
from scrubjay.learned import facts_of
from scrubjay.memories import visible
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.models.requests import Forget
from scrubjay.rest.visit import Visit


async def named(visit: Visit, id: str, tag: str | None) -> AnyRecord:
    """The record of any kind that has this id, in the scope of the tag if one is named.

    Raises:
        NotFound: there is none.
    """
    record = await visit.find(id)
    if record is None or tag not in (None, record.scope):  # one sentence for both: what another tag has is nobody's business
        raise NotFound(f"Nothing here has the id {id[:80]!r}.")
    return record


async def target(visit: Visit, id: str | None, content: str | None, tag: str | None) -> AnyRecord:
    """What a request means that names an id or the exact words of a memory: of a memory the newest version.

    Raises:
        InputError: neither is given.
        NotFound: there is no such memory.
    """
    scope = visit.leave.writes_to(tag)
    if id is not None:
        record = await named(visit, id, tag)
    elif content is not None:
        await visit.core.writer.drain()
        found = await meant(visit.core.store, Forget(content=content, scope=scope), scope)
        record = max(found, key=lambda row: (isinstance(row, Memory) and visible(row, visit.now), row.created_at))
    else:
        raise InputError("Neither id nor content is given. Name the memory by its id, or by its exact words.")
    return await versions.latest(visit.core.store, record) if isinstance(record, Memory) else record


async def fact(visit: Visit, id: str | None, content: str | None, tag: str | None) -> Memory:
    """As `target`, and always a memory that can be found: of a document its only one.

    Raises:
        InputError: a turn is meant, or a document that has another number of memories.
        NotFound: there is no such memory, or it was forgotten.
    """
    record = await target(visit, id, content, tag)
    if isinstance(record, Document):
        facts = [row for row in await facts_of(visit.core.store, [record.id]) if visible(row, visit.now)]
        if len(facts) != 1:
            raise InputError(f"{record.id} is a document with {len(facts)} memories, and not one memory. Take the id of a memory.")
        record = facts[0]
    if not isinstance(record, Memory):
        raise InputError(f"{record.id} is a turn of a conversation, and has no versions. Take the id of a memory.")
    if not visible(record, visit.now):
        raise NotFound(f"The memory {record.id!r} was forgotten. Create a new one.")
    return record
