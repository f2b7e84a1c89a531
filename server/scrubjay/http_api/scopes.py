"""What a scope holds and what is said of it: a container tag of version 4, a namespace of version 5."""

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
    """One scope; without counts nothing is in it."""

    name: str
    counts: ScopeCounts | None
    settings: ScopeSettings

    @property
    def documents(self) -> int:
        """How many documents can be found in it."""
        return self.counts.documents if self.counts else 0

    @property
    def memories(self) -> int:
        """How many memories can be found in it."""
        return self.counts.memories if self.counts else 0

    @property
    def created_at(self) -> datetime | None:
        """When the first thing was put into it or said of it."""
        return min(self._times("created_at"), default=None)

    @property
    def updated_at(self) -> datetime | None:
        """When the last thing was put into it or said of it."""
        return max(self._times("updated_at"), default=None)

    def _times(self, name: Literal["created_at", "updated_at"]) -> Iterator[datetime]:
        return (at for each in (self.settings, self.counts) if each and (at := getattr(each, name)))


async def every_scope(context: RequestContext) -> list[ScopeView]:
    """Return the scopes that the caller reaches and that hold something or of which something is said."""
    counts, settings = await context.core.counts.by_scope(), context.core.scope_settings
    names = dict.fromkeys([*counts, *settings.all()])
    reached = filter(context.permissions.reaches, names)
    return [ScopeView(name, counts.get(name), settings.of(name)) for name in reached]


async def delete_scope(context: RequestContext, name: str) -> Answer:
    """Delete a scope for good, and say how many documents and memories it had."""
    counts = await context.core.scopes.delete(name, SOURCE)
    documents, memories = (counts.documents, counts.memories) if counts else (0, 0)
    return {"deletedDocumentsCount": documents, "deletedMemoriesCount": memories}


async def scope_view(context: RequestContext, name: str, missing: str | None = None) -> ScopeView:
    """Return one scope.

    Raises:
        NotFound: nothing is in it and nothing is said of it; with the sentence `missing`, if there is one.
    """
    counts, settings = await context.core.counts.by_scope(name), context.core.scope_settings
    if missing and name not in counts and name not in settings.all():
        raise NotFound(missing)
    return ScopeView(name, counts.get(name), settings.of(name))
