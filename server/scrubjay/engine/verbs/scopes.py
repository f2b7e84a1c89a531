"""What an engine does with a scope as a whole: says what it holds, moves it into another, deletes it for good. Does not know what is in a
record, nor which scopes a caller may reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import refuse_follower
from scrubjay.store.counts import ScopeCounts, count_by_scope

if TYPE_CHECKING:
    from scrubjay.engine.core import Core

_NAMES = ("turns", "memories", "documents")


async def counts(core: Core) -> dict[str, dict[str, int]]:
    """{scope: {turns, memories, documents}} of what a search may find, as of everything acknowledged; scopes without any are left out."""
    numbers = {
        scope: {name: getattr(one, name) for name in _NAMES} for scope, one in (await held(core)).items()
    }
    return {scope: each for scope, each in numbers.items() if any(each.values())}


async def held(core: Core, scope: str | None = None) -> dict[str, ScopeCounts]:
    """What each scope holds, as of everything acknowledged; with `scope` only of that one, if it holds anything."""
    await core.writer.drain()
    await core.store.flush()
    return await count_by_scope(core.store.tables, core.clock(), scope)


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
    had = (await held(core, scope)).get(scope)
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
