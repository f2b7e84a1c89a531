"""Views of scopes: version 4 calls a scope a container tag, version 5 a namespace."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.errors import NotFound
from scrubjay.home.scope_settings import ScopeSettings
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import SOURCE, RequestContext


@dataclass(frozen=True)
class ScopeView:
    """One scope; `counts` is None if the scope has no records."""

    name: str
    counts: ScopeCounts | None
    settings: ScopeSettings

    @property
    def documents(self) -> int:
        """Return the number of documents that a search can find in it."""
        return self.counts.documents if self.counts else 0

    @property
    def memories(self) -> int:
        """Return the number of memories that a search can find in it."""
        return self.counts.memories if self.counts else 0

    @property
    def created_at(self) -> datetime | None:
        """Return the time of the first write of a record or setting."""
        return min(self._times("created_at"), default=None)

    @property
    def updated_at(self) -> datetime | None:
        """Return the time of the last write of a record or setting."""
        return max(self._times("updated_at"), default=None)

    def _times(self, name: Literal["created_at", "updated_at"]) -> Iterator[datetime]:
        return (time for part in (self.settings, self.counts) if part and (time := getattr(part, name)))


async def every_scope(context: RequestContext) -> list[ScopeView]:
    """Return the scopes that the caller reaches and that have records or settings."""
    counts, settings = await context.core.counts.by_scope(), context.core.scope_settings
    names = dict.fromkeys([*counts, *settings.all()])
    visible = filter(context.permissions.reaches, names)
    return [ScopeView(name, counts.get(name), settings.of(name)) for name in visible]


async def delete_scope(context: RequestContext, name: str) -> Answer:
    """Delete a scope permanently, and return how many documents and memories it had."""
    counts = await context.core.scopes.delete(name, SOURCE)
    documents, memories = (counts.documents + counts.commits, counts.memories) if counts else (0, 0)
    return {"deletedDocumentsCount": documents, "deletedMemoriesCount": memories}


async def scope_view(context: RequestContext, name: str, missing_message: str | None = None) -> ScopeView:
    """Return one scope.

    Raises:
        NotFound: the scope has neither records nor settings; raised only with a `missing_message`.
    """
    counts, settings = await context.core.counts.by_scope(name), context.core.scope_settings
    if missing_message and name not in counts and name not in settings.all():
        raise NotFound(missing_message)
    return ScopeView(name, counts.get(name), settings.of(name))
