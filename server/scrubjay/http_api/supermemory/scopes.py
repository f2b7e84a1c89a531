"""A scope and its description: version 4 calls it a container tag, version 5 a namespace."""

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
    """One scope; `counts` is None if it is empty."""

    name: str
    counts: ScopeCounts | None
    settings: ScopeSettings

    @property
    def documents(self) -> int:
        """How many documents a search can find in it."""
        return self.counts.documents if self.counts else 0

    @property
    def memories(self) -> int:
        """How many memories a search can find in it."""
        return self.counts.memories if self.counts else 0

    @property
    def created_at(self) -> datetime | None:
        """When its first record or setting was written."""
        return min(self._times("created_at"), default=None)

    @property
    def updated_at(self) -> datetime | None:
        """When its last record or setting was written."""
        return max(self._times("updated_at"), default=None)

    def _times(self, name: Literal["created_at", "updated_at"]) -> Iterator[datetime]:
        return (at for each in (self.settings, self.counts) if each and (at := getattr(each, name)))


async def every_scope(context: RequestContext) -> list[ScopeView]:
    """Return the scopes that the caller reaches and that have records or settings."""
    counts, settings = await context.core.counts.by_scope(), context.core.scope_settings
    names = dict.fromkeys([*counts, *settings.all()])
    reached = filter(context.permissions.reaches, names)
    return [ScopeView(name, counts.get(name), settings.of(name)) for name in reached]


async def delete_scope(context: RequestContext, name: str) -> Answer:
    """Delete a scope permanently, and return how many documents and memories it had."""
    counts = await context.core.scopes.delete(name, SOURCE)
    documents, memories = (counts.documents + counts.commits, counts.memories) if counts else (0, 0)
    return {"deletedDocumentsCount": documents, "deletedMemoriesCount": memories}


async def scope_view(context: RequestContext, name: str, missing: str | None = None) -> ScopeView:
    """Return one scope.

    Raises:
        NotFound: it has neither records nor settings; with the sentence `missing`, if that is given.
    """
    counts, settings = await context.core.counts.by_scope(name), context.core.scope_settings
    if missing and name not in counts and name not in settings.all():
        raise NotFound(missing)
    return ScopeView(name, counts.get(name), settings.of(name))
