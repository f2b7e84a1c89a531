"""Namespaces themselves: listing, describing, moving one into another, and deleting one for good."""

from dataclasses import replace
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import Query, Response
from pydantic import Field

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.permissions import Forbidden
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v5.bodies import (
    Amount,
    Answer,
    Body,
    PageNumber,
    PageSize,
    Pagination,
    Times,
    pagination,
)
from scrubjay.http_api.supermemory_v5.context import NamespaceContext, Reading, Target, Writing

_UNKNOWN = "There is no such namespace."

route = Routes()

SupportingContext = Annotated[
    Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
    Field(description="Background to what is kept here; null removes it. It is kept and given back."),
]


class ListedNamespace(Answer):
    id: str
    namespace: str
    document_count: Amount
    memory_count: Amount
    description: str | None
    system: Times


class NamespaceList(Answer):
    namespaces: list[ListedNamespace]
    pagination: Pagination


class NamespaceDetails(Answer):
    namespace: str
    supporting_context: str | None
    system: Times


class NamespaceChange(Body):
    supporting_context: SupportingContext


class Deleted(Answer):
    """The namespace is gone for good, with so much in it."""

    status: Literal["deleted"] = "deleted"
    namespace: str
    deleted_documents_count: Amount
    deleted_memories_count: Amount


class Moved(Answer):
    """What was in the namespace is in the other one; clients of version 5 know this answer as `queued`."""

    status: Literal["queued"] = "queued"
    operation_id: str
    namespace: str
    move_to: str


class Organization(Answer):
    organizational_context: str | None
    namespace_count: Amount


class OrganizationChange(Body):
    organizational_context: SupportingContext


@route("GET /ns", "List namespaces")
@route("GET /namespaces", "List namespaces")
async def list_namespaces(
    context: Context,
    page: PageNumber = 1,
    limit: PageSize = 10,
    q: Annotated[
        str | None, Query(max_length=100, description="Only those whose name holds this, whatever its case.")
    ] = None,
) -> NamespaceList:
    """Every namespace that the caller reaches, newest first.

    Each comes with the number of documents and memories that can be found in it.
    """
    every = await _all(context)
    names = [name for name in every if q is None or q.casefold() in name.casefold()]
    names.sort(key=lambda name: (every[name].system.created_at, name), reverse=True)
    shown = [every[name] for name in names[(page - 1) * limit : page * limit]]
    return NamespaceList(namespaces=shown, pagination=pagination(page, limit, len(names)))


@route("GET /ns/{namespace}", "Read a namespace", missing=_UNKNOWN)
async def read_namespace(ns: Reading) -> NamespaceDetails:
    """What is said of a namespace."""
    return await _details(ns)


@route("PATCH /ns/{namespace}", "Change a namespace")
async def change_namespace(ns: Writing, change: NamespaceChange) -> NamespaceDetails:
    """Say what a namespace is about; one that is not there yet begins with it."""
    await _describe(ns, ns.name, change.supporting_context)
    return await _details(ns)


@route(
    "DELETE /ns/{namespace}",
    "Delete a namespace, or move what is in it",
    missing=_UNKNOWN,
    response_model=Deleted,
    responses={202: {"model": Moved, "description": "Everything was moved."}},
)
async def delete_namespace(
    ns: Writing,
    move_to: Annotated[
        Target | None,
        Query(
            alias="moveTo",
            description="The namespace that gets everything; left out, it is deleted for good.",
        ),
    ] = None,
) -> Deleted | Moved | Response:
    """Delete a namespace for good, with its documents, memories and chats, or move all of it elsewhere."""
    await _details(ns)
    if move_to is None:
        had = await ns.core.scopes.delete(ns.name, SOURCE)
        documents, memories = (had.documents, had.memories) if had else (0, 0)
        return Deleted(namespace=ns.name, deleted_documents_count=documents, deleted_memories_count=memories)
    target = ns.permissions.writes_to(move_to)
    if target == ns.name:
        raise InputError(
            f"moveTo = {move_to!r} is the namespace itself. "
            "Name another one, or leave moveTo out to delete it."
        )
    await ns.core.scopes.merge(ns.name, target)
    moved = Moved(operation_id=uuid4().hex, namespace=ns.name, move_to=target)
    return Response(moved.model_dump_json(by_alias=True), status_code=202, media_type="application/json")


@route("GET /organization", "Read what is said of all namespaces")
async def read_organization(context: Context) -> Organization:
    """Background to every namespace, and how many there are."""
    return await _organization(context)


@route("PATCH /organization", "Change what is said of all namespaces")
async def change_organization(context: Context, change: OrganizationChange) -> Organization:
    """Say what every namespace is about. A token of one namespace may not."""
    context.permissions.writes_to(None)
    if context.permissions.tag is not None:
        raise Forbidden(
            "This token reaches one namespace, and what is said of all of them is not its to change."
        )
    await _describe(context, EVERY_SCOPE, change.organizational_context)
    return await _organization(context)


async def _describe(context: RequestContext, scope: str, text: str | None) -> None:
    """Keep what is said of a scope."""
    settings = context.core.scope_settings
    await settings.change(scope, lambda old: replace(old, supporting_context=text), context.now)


async def _organization(context: RequestContext) -> Organization:
    said = context.core.scope_settings.of(EVERY_SCOPE).supporting_context
    return Organization(organizational_context=said, namespace_count=len(await _all(context)))


async def _all(context: RequestContext) -> dict[str, ListedNamespace]:
    """List the namespaces that the caller reaches and that hold something or have a description."""
    counts = await context.core.counts.by_scope()
    names = dict.fromkeys([*counts, *context.core.scope_settings.all()])
    return {
        name: _listed(context, name, counts.get(name)) for name in names if context.permissions.reaches(name)
    }


def _listed(context: RequestContext, name: str, counts: ScopeCounts | None) -> ListedNamespace:
    return ListedNamespace(
        id=name,
        namespace=name,
        document_count=counts.documents if counts else 0,
        memory_count=counts.memories if counts else 0,
        description=context.core.scope_settings.of(name).name,
        system=_times(context, name, counts),
    )


def _times(context: RequestContext, name: str, counts: ScopeCounts | None) -> Times:
    """Return the first and the last time that anything was put into a namespace or said of it."""
    sources = [each for each in (context.core.scope_settings.of(name), counts) if each is not None]
    created = [each.created_at for each in sources if each.created_at is not None]
    updated = [each.updated_at for each in sources if each.updated_at is not None]
    return Times(created_at=min(created), updated_at=max(updated))


async def _details(ns: NamespaceContext) -> NamespaceDetails:
    """Describe a namespace.

    Raises:
        NotFound: nothing is in it, and nothing is said of it.
    """
    settings = ns.core.scope_settings
    counts = (await ns.core.counts.by_scope(ns.name)).get(ns.name)
    if counts is None and ns.name not in settings.all():
        raise NotFound(
            f"There is no namespace {ns.name!r}. "
            "It begins with the first document or memory that is added to it."
        )
    context = settings.of(ns.name).supporting_context
    return NamespaceDetails(namespace=ns.name, supporting_context=context, system=_times(ns, ns.name, counts))
