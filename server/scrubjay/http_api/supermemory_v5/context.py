"""One namespace as a route sees it: what it may be called, and its records by id. Knows that a namespace is a scope; does not know what is
done with a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path
from pydantic import AfterValidator, WithJsonSchema

from scrubjay.errors import NotFound
from scrubjay.home.scopes import is_scope
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.permissions import RESERVED
from scrubjay.models.records import Document, Memory

ALLOWED = "A namespace is called by 1 to 100 letters, digits or . _ : -"
_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": "^(?!user$)[A-Za-z0-9_.:-]+$",
    "examples": ["user_alex"],
}


def _named(name: str) -> str:
    if name in RESERVED:
        raise ValueError(
            f"{name!r} is reserved: over HTTP nobody reads or writes it. Name another namespace."
        )
    if not is_scope(name):
        raise ValueError(f"{name[:80]!r} cannot be one. {ALLOWED}; spell other characters with these.")
    return name


Target = Annotated[
    str, AfterValidator(_named), WithJsonSchema(_SCHEMA)
]  # a namespace that is named beside the path
Namespace = Annotated[Target, Path(description=f"{ALLOWED}; `user` is reserved.")]
Id = Annotated[str, Path(min_length=1, max_length=255, description="An id that an answer gave.")]
DocumentId = Annotated[
    str, Path(min_length=1, max_length=255, description="The id that an answer gave, or the caller's own.")
]


@dataclass(frozen=True)
class Place:
    """A namespace that the caller reaches, in one request."""

    context: RequestContext
    namespace: str

    async def memory(self, id: str) -> Memory:
        """The fact of this namespace that has this id, forgotten or not.

        Raises:
            NotFound: there is none.
        """
        record = await self.context.find(id)
        if not isinstance(record, Memory) or record.scope != self.namespace:
            raise NotFound(f"No memory of the namespace {self.namespace!r} has the id {id[:80]!r}.")
        return record

    async def document(self, id: str) -> Document:
        """The document of this namespace that has this id, or that its caller gave this id.

        Raises:
            NotFound: there is none, or it was deleted.
        """
        record = await self.context.find(id)
        if not isinstance(record, Document) or record.scope != self.namespace:
            named = await self.context.core.documents.named(id, [self.namespace])
            record = await self.context.find(named[0].id) if named else None
        if not isinstance(record, Document) or record.forgotten_at is not None:
            raise NotFound(f"No document of the namespace {self.namespace!r} has the id {id[:80]!r}.")
        return record


async def _readable(context: Context, namespace: Namespace) -> Place:
    context.permissions.own(namespace)
    return Place(context, namespace)


async def _writable(context: Context, namespace: Namespace) -> Place:
    return Place(context, context.permissions.writes_to(namespace))


Reading = Annotated[Place, Depends(_readable)]
Writing = Annotated[Place, Depends(_writable)]
