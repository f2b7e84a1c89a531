"""What an engine does with a scope as a whole: moves it into another, deletes it for good."""

from dataclasses import dataclass

from scrubjay.engine.verbs.counts import Counts, ScopeCounts
from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.verb import Verb
from scrubjay.home import openings
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import refuse_follower


@dataclass(eq=False)
class Scopes(Verb):
    """Merges and deletes scopes, their settings included."""

    _counts: Counts
    _removal: Removal

    async def merge(self, old: str, new: str) -> int:
        """Move everything of one scope into another, and its settings; how many records moved.

        Raises:
            InputError: another engine maintains the store.
        """
        refuse_follower(self._store.shared, "Merging scopes")
        await self._writer.drain()
        await self._writer.settle()
        await self._scope_settings.merge(old, new)
        moved = await self._store.rescope(old, new)
        for scope in (old, new):
            openings.remove(self._home, scope)
        return moved

    async def delete(self, scope: str, source: str) -> ScopeCounts | None:
        """Delete everything of one scope for good, and its settings; what it held, None for nothing.

        Raises:
            InputError: an export, import, backup or reindex runs, which would keep what is deleted.
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
