"""Operations on whole scopes: merging one into another, and purging one."""

from dataclasses import dataclass

from scrubjay.engine.verbs.counts import Counts, ScopeCounts
from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.verb import Verb
from scrubjay.home import openings
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import require_maintainer


@dataclass(eq=False)
class Scopes(Verb):
    """Merges and purges scopes, including their settings."""

    _counts: Counts
    _removal: Removal

    async def merge(self, old: str, new: str) -> int:
        """Move the records and settings of `old` into `new`; return the number of moved records.

        Raises:
            InputError: another engine maintains the store.
        """
        require_maintainer(self._store.shared, "Merging scopes")
        await self._writer.drain()
        await self._writer.settle()
        await self._scope_settings.merge(old, new)
        moved = await self._store.rescope(old, new)
        for scope in (old, new):
            openings.remove(self._home, scope)
        return moved

    async def delete(self, scope: str, source: str) -> ScopeCounts | None:
        """Purge a scope and its settings; return its former counts, or None if it had no records.

        Raises:
            InputError: a running export, import, backup or reindex would keep deleted text.
        """
        self._removal.refuse_purge()
        counts = (await self._counts.by_scope(scope)).get(scope)
        where = conditions.equal("scope", scope)
        records: list[AnyRecord] = [
            *await self._store.select(Turn, conditions.both(where, conditions.missing("purged_at"))),
            *await self._store.select(Memory, where),
            *await self._store.select(Document, where),
        ]
        if records:
            await self._removal.purge(records, source)
        await self._scope_settings.remove(scope)
        self._store.names.clear()
        return counts
