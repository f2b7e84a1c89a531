"""What requests of version 5 share: page numbers, `include` parameters, and the namespace."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, WithJsonSchema

from scrubjay.errors import NotFound
from scrubjay.home.scopes import is_scope
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.permissions import RESERVED
from scrubjay.http_api.supermemory.fields import LONGEST_ID
from scrubjay.models.records import Document, Memory

_RULE = "A namespace has a name of 1 to 100 letters (A to Z), digits or . _ : -"
_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": "^(?!user$)[A-Za-z0-9_.:-]+$",
    "examples": ["user_alex"],
}


def _check_name(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name!r} is reserved and cannot be read or written over HTTP. Name another one.")
    if not is_scope(name):
        raise ValueError(f"{name[:80]!r} is not a namespace. {_RULE}; replace other characters.")
    return name


def _id_in_path(description: str) -> Any:
    return Path(alias="id", min_length=1, max_length=LONGEST_ID, description=description)


PageNumber = Annotated[int, Query(ge=1, le=10_000_000, description="From 1 on.")]
PageSize = Annotated[int, Query(ge=1, le=100, description="Entries per page.")]
NamespaceName = Annotated[str, AfterValidator(_check_name), WithJsonSchema(_SCHEMA)]
Namespace = Annotated[NamespaceName, Path(description=f"{_RULE}; `user` is reserved.")]
MemoryId = Annotated[str, _id_in_path("An id from an answer.")]
DocumentId = Annotated[str, _id_in_path("The id from an answer, or your own.")]


def split_names(values: list[str]) -> list[str]:
    """Return the names in `include` parameters; a parameter has one name or several, separated by commas."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


@dataclass(frozen=True)
class NamespaceContext(RequestContext):
    """One request to a namespace that the caller reaches; `name` is the name of both namespace and scope."""

    name: str

    async def memory(self, record_id: str) -> Memory:
        """Return the memory of this namespace with this id, forgotten or not.

        Raises NotFound if the namespace has no such memory.
        """
        record = await self.find(record_id, self.name)
        if not isinstance(record, Memory):
            raise NotFound(f"No memory of the namespace {self.name!r} has the id {record_id[:80]!r}.")
        return record

    async def document(self, record_id: str) -> Document:
        """Return the document of this namespace with this id or custom id.

        Raises NotFound if the namespace has no such document, or it was deleted.
        """
        record = await self.find_named(record_id, self.name)
        if not isinstance(record, Document):
            raise NotFound(f"No document of the namespace {self.name!r} has the id {record_id[:80]!r}.")
        return record


async def _readable(context: Context, namespace: Namespace) -> NamespaceContext:
    context.permissions.scope_of(namespace)
    return NamespaceContext(**vars(context), name=namespace)


async def _writable(context: Context, namespace: Namespace) -> NamespaceContext:
    return NamespaceContext(**vars(context), name=context.permissions.write_scope(namespace))


ReadNamespace = Annotated[NamespaceContext, Depends(_readable)]
WriteNamespace = Annotated[NamespaceContext, Depends(_writable)]
