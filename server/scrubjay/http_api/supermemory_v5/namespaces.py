"""Namespaces themselves: which there are, what is said of one, moving one into another and deleting it for good."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, Query, Response
from pydantic import Field

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.permissions import Forbidden
from scrubjay.http_api.supermemory_v5.bodies import (
    Answer,
    Body,
    PageNumber,
    PageSize,
    Pagination,
    Times,
    pagination,
)
from scrubjay.http_api.supermemory_v5.context import Place, Reading, Target, Writing

router = APIRouter()

SupportingContext = Annotated[
    Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
    Field(description="Background to what is kept here; null removes it. It is kept and given back."),
]


class ListedNamespace(Answer):
    """One namespace and how much can be found in it."""

    id: str
    namespace: str
    document_count: Annotated[int, Field(ge=0)]
    memory_count: Annotated[int, Field(ge=0)]
    description: str | None
    system: Times


class NamespaceList(Answer):
    """Namespaces, newest first."""

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
    deleted_documents_count: Annotated[int, Field(ge=0)]
    deleted_memories_count: Annotated[int, Field(ge=0)]


class Moved(Answer):
    """What was in the namespace is in the other one; clients of version 5 know this answer as `queued`."""

    status: Literal["queued"] = "queued"
    operation_id: str
    namespace: str
    move_to: str


class Organization(Answer):
    organizational_context: str | None
    namespace_count: Annotated[int, Field(ge=0)]


class OrganizationChange(Body):
    organizational_context: SupportingContext


@router.get("/ns", summary="List namespaces")
@router.get("/namespaces", summary="List namespaces")
async def list_namespaces(
    context: Context,
    page: PageNumber = 1,
    limit: PageSize = 10,
    q: Annotated[
        str | None, Query(max_length=100, description="Only those whose name holds this, whatever its case.")
    ] = None,
) -> NamespaceList:
    """Every namespace that the caller reaches, newest first, with the number of documents and memories that can be found in it."""
    every = await _all(context)
    listed = [name for name in every if q is None or q.casefold() in name.casefold()]
    listed.sort(key=lambda name: (every[name].system.created_at, name), reverse=True)
    shown = [every[name] for name in listed[(page - 1) * limit : page * limit]]
    return NamespaceList(namespaces=shown, pagination=pagination(page, limit, len(listed)))


@router.get(
    "/ns/{namespace}",
    summary="Read a namespace",
    responses={404: {"description": "There is no such namespace."}},
)
async def read_namespace(place: Reading) -> NamespaceDetails:
    """What is said of a namespace."""
    return await _details(place)


@router.patch("/ns/{namespace}", summary="Change a namespace")
async def change_namespace(place: Writing, change: NamespaceChange) -> NamespaceDetails:
    """Say what a namespace is about; one that is not there yet begins with it."""
    core = place.context.core
    await core.scope_settings.change(
        place.namespace,
        lambda held: replace(held, supporting_context=change.supporting_context),
        place.context.now,
    )
    return await _details(place)


@router.delete(
    "/ns/{namespace}",
    summary="Delete a namespace, or move what is in it",
    response_model=Deleted,
    responses={
        202: {"model": Moved, "description": "Everything was moved."},
        404: {"description": "There is no such namespace."},
    },
)
async def delete_namespace(
    place: Writing,
    move_to: Annotated[
        Target | None,
        Query(
            alias="moveTo",
            description="The namespace that gets everything; left out, it is deleted for good.",
        ),
    ] = None,
) -> Deleted | Moved | Response:
    """Delete everything in a namespace for good, documents, memories and chats, or move all of it into another first."""
    details = await _details(place)
    if move_to is None:
        had = await place.context.core.scopes.delete(place.namespace, SOURCE)
        documents, memories = (had.documents, had.memories) if had else (0, 0)
        return Deleted(
            namespace=details.namespace, deleted_documents_count=documents, deleted_memories_count=memories
        )
    target = place.context.permissions.writes_to(move_to)
    if target == place.namespace:
        raise InputError(
            f"moveTo = {move_to!r} is the namespace itself. Name another one, or leave moveTo out to delete it."
        )
    await place.context.core.scopes.merge(place.namespace, target)
    moved = Moved(operation_id=uuid4().hex, namespace=place.namespace, move_to=target)
    return Response(moved.model_dump_json(by_alias=True), status_code=202, media_type="application/json")


@router.get("/organization", summary="Read what is said of all namespaces")
async def read_organization(context: Context) -> Organization:
    """Background to every namespace, and how many there are."""
    return await _organization(context)


@router.patch("/organization", summary="Change what is said of all namespaces")
async def change_organization(context: Context, change: OrganizationChange) -> Organization:
    """Say what every namespace is about. A token of one namespace may not."""
    context.permissions.writes_to(None)
    if context.permissions.tag is not None:
        raise Forbidden(
            "This token reaches one namespace, and what is said of all of them is not its to change."
        )
    await context.core.scope_settings.change(
        EVERY_SCOPE, lambda held: replace(held, supporting_context=change.organizational_context), context.now
    )
    return await _organization(context)


async def _organization(context: RequestContext) -> Organization:
    background = context.core.scope_settings.of(EVERY_SCOPE).supporting_context
    return Organization(organizational_context=background, namespace_count=len(await _all(context)))


async def _all(context: RequestContext) -> dict[str, ListedNamespace]:
    """The namespaces that the caller reaches: those that hold something, and those of which something is said."""
    held, said = await context.core.counts.by_scope(), context.core.scope_settings.all()
    names = [name for name in {**held, **said} if context.permissions.reaches(name)]
    return {name: _listed(context, name, held.get(name)) for name in names}


def _listed(context: RequestContext, name: str, holding: ScopeCounts | None) -> ListedNamespace:
    return ListedNamespace(
        id=name,
        namespace=name,
        document_count=holding.documents if holding else 0,
        memory_count=holding.memories if holding else 0,
        description=context.core.scope_settings.of(name).name,
        system=_times(context, name, holding),
    )


def _times(context: RequestContext, name: str, holding: ScopeCounts | None) -> Times:
    said = context.core.scope_settings.of(name)
    created = [
        moment for moment in (said.created_at, holding and holding.created_at) if isinstance(moment, datetime)
    ]
    updated = [
        moment for moment in (said.updated_at, holding and holding.updated_at) if isinstance(moment, datetime)
    ]
    return Times(created_at=min(created), updated_at=max(updated))


async def _details(place: Place) -> NamespaceDetails:
    name, settings = place.namespace, place.context.core.scope_settings
    holding = (await place.context.core.counts.by_scope(name)).get(name)
    if holding is None and name not in settings.all():
        raise NotFound(
            f"There is no namespace {name!r}. It begins with the first document or memory that is added to it."
        )
    background = settings.of(name).supporting_context
    return NamespaceDetails(
        namespace=name, supporting_context=background, system=_times(place.context, name, holding)
    )
