"""What an engine does with a scope as a whole: moves it into another, deletes it for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import refuse_follower

if TYPE_CHECKING:
    from scrubjay.engine.core import Core


async def merge(core: Core, old: str, new: str) -> int:
    """Move everything of one scope into another, and what is said of it; how many records moved.

    Raises:
        InputError: another engine maintains the store.
    """
    refuse_follower(core.store.shared, "Merging scopes")
    await core.writer.drain()
    await core.writer.settle()
    await core.scope_settings.merge(old, new)
    return await core.store.rescope(old, new)


async def delete(core: Core, scope: str, source: str) -> ScopeCounts | None:
    """Delete everything of one scope for good, and what is said of it; what it held, None for nothing.

    Raises:
        InputError: an export, import, backup or reindex runs, which would keep what is deleted.
    """
    core.refuse_purge()
    had = (await core.counts.by_scope(scope)).get(scope)
    where = conditions.equal("scope", scope)
    turns = await core.store.select(Turn, conditions.both(where, conditions.missing("purged_at")))
    records: list[AnyRecord] = [
        *turns,
        *await core.store.select(Memory, where),
        *await core.store.select(Document, where),
    ]
    if records:
        await core.removal.purge(records, source)
    await core.scope_settings.remove(scope)
    core.store.names.clear()
    return had
