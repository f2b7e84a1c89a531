"""A namespace that a request names, and its records by id. A namespace is a scope."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path
from pydantic import AfterValidator, WithJsonSchema

from scrubjay.errors import NotFound
from scrubjay.home.scopes import is_scope
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.permissions import RESERVED
from scrubjay.http_api.supermemory_v5.bodies import LONGEST_ID
from scrubjay.models.records import Document, Memory

_RULE = "A namespace is called by 1 to 100 letters, digits or . _ : -"
_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": "^(?!user$)[A-Za-z0-9_.:-]+$",
    "examples": ["user_alex"],
}


def _check_name(name: str) -> str:
    if name in RESERVED:
        reason = "over HTTP nobody reads or writes it"
        raise ValueError(f"{name!r} is reserved: {reason}. Name another namespace.")
    if not is_scope(name):
        raise ValueError(f"{name[:80]!r} cannot be one. {_RULE}; spell other characters with these.")
    return name


Target = Annotated[str, AfterValidator(_check_name), WithJsonSchema(_SCHEMA)]  # named beside the path
Namespace = Annotated[Target, Path(description=f"{_RULE}; `user` is reserved.")]


def _id(description: str) -> Any:
    return Path(alias="id", min_length=1, max_length=LONGEST_ID, description=description)


MemoryId = Annotated[str, _id("An id that an answer gave.")]
DocumentId = Annotated[str, _id("The id that an answer gave, or the caller's own.")]


@dataclass(frozen=True)
class NamespaceContext(RequestContext):
    """One request to a namespace that the caller reaches; `name` is the namespace and the scope."""

    name: str

    async def memory(self, record_id: str) -> Memory:
        """Return the fact of this namespace with this id, forgotten or not.

        Raises:
            NotFound: there is none.
        """
        record = await self.find(record_id, self.name)
        if not isinstance(record, Memory):
            raise NotFound(f"No memory of the namespace {self.name!r} has the id {record_id[:80]!r}.")
        return record

    async def document(self, record_id: str) -> Document:
        """Return the document of this namespace with this id, or with this id of the caller's own.

        Raises:
            NotFound: there is none, or it was deleted.
        """
        record = await self.find_named(record_id, self.name)
        if not isinstance(record, Document):
            raise NotFound(f"No document of the namespace {self.name!r} has the id {record_id[:80]!r}.")
        return record


async def _readable(context: Context, namespace: Namespace) -> NamespaceContext:
    context.permissions.own(namespace)
    return NamespaceContext(**vars(context), name=namespace)


async def _writable(context: Context, namespace: Namespace) -> NamespaceContext:
    return NamespaceContext(**vars(context), name=context.permissions.writes_to(namespace))


Reading = Annotated[NamespaceContext, Depends(_readable)]
Writing = Annotated[NamespaceContext, Depends(_writable)]
