"""Namespaces themselves: listing, describing, moving one into another, and deleting one for good."""

from dataclasses import replace
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Response
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.answers import Answer, of_json
from scrubjay.http_api.bodies import Background
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.permissions import Forbidden
from scrubjay.http_api.routes import Routes, json_response
from scrubjay.http_api.scopes import ScopeView, delete_scope, every_scope, scope_view
from scrubjay.http_api.supermemory_v5.answers import ANSWERS
from scrubjay.http_api.supermemory_v5.bodies import Body, PageNumber, PageSize, pagination
from scrubjay.http_api.supermemory_v5.context import NamespaceContext, Reading, Target, Writing

_UNKNOWN = "There is no such namespace."

route = Routes(ANSWERS)

_BACKGROUND = "Background to what is kept here; null removes it. It is kept and given back."


class NamespaceChange(Body):
    supporting_context: Background | None = Field(description=_BACKGROUND)


class OrganizationChange(Body):
    organizational_context: Background | None = Field(description=_BACKGROUND)


@route("GET /ns", "List namespaces", "Namespaces")
@route("GET /namespaces", "List namespaces", "Namespaces")
async def list_namespaces(
    context: Context,
    page: PageNumber = 1,
    limit: PageSize = 10,
    q: Annotated[
        str | None, Query(max_length=100, description="Only those whose name holds this, whatever its case.")
    ] = None,
) -> Answer:
    """Every namespace that the caller reaches, newest first.

    Each comes with the number of documents and memories that can be found in it.
    """
    part = (q or "").casefold()
    scopes = [scope for scope in await every_scope(context) if part in scope.name.casefold()]
    scopes.sort(key=lambda scope: (_times(scope)["createdAt"], scope.name), reverse=True)
    shown = [_listed(scope) for scope in scopes[(page - 1) * limit : page * limit]]
    return dict(namespaces=shown, pagination=pagination(page, limit, len(scopes)))


@route("GET /ns/{namespace}", "Read a namespace", "NamespaceDetails", missing=_UNKNOWN)
async def read_namespace(ns: Reading) -> Answer:
    """What is said of a namespace."""
    return await _details(ns)


@route("PATCH /ns/{namespace}", "Change a namespace", "NamespaceDetails")
async def change_namespace(ns: Writing, change: NamespaceChange) -> Answer:
    """Say what a namespace is about; one that is not there yet begins with it."""
    await _describe(ns, ns.name, change.supporting_context)
    return await _details(ns)


@route(
    "DELETE /ns/{namespace}",
    "Delete a namespace, or move what is in it",
    "Deleted",
    missing=_UNKNOWN,
    responses={202: {"description": "Everything was moved.", **of_json(ANSWERS.schema("Moved"))}},
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
) -> Answer | Response:
    """Delete a namespace for good, with its documents, memories and chats, or move all of it elsewhere."""
    await _details(ns)
    if move_to is None:
        return dict(status="deleted", namespace=ns.name, **await delete_scope(ns, ns.name))
    target = ns.permissions.writes_to(move_to)
    if target == ns.name:
        advice = "Name another one, or leave moveTo out to delete it."
        raise InputError(f"moveTo = {move_to!r} is the namespace itself. {advice}")
    await ns.core.scopes.merge(ns.name, target)
    moved = dict(status="queued", operationId=uuid4().hex, namespace=ns.name, moveTo=target)
    return json_response(moved, 202)


@route("GET /organization", "Read what is said of all namespaces", "Organization")
async def read_organization(context: Context) -> Answer:
    """Background to every namespace, and how many there are."""
    return await _organization(context)


@route("PATCH /organization", "Change what is said of all namespaces", "Organization")
async def change_organization(context: Context, change: OrganizationChange) -> Answer:
    """Say what every namespace is about. A token of one namespace may not."""
    context.permissions.writes_to(None)
    if context.permissions.tag is not None:
        reach = "This token reaches one namespace"
        raise Forbidden(f"{reach}, and what is said of all of them is not its to change.")
    await _describe(context, EVERY_SCOPE, change.organizational_context)
    return await _organization(context)


async def _describe(context: RequestContext, scope: str, text: str | None) -> None:
    """Keep what is said of a scope."""
    settings = context.core.scope_settings
    await settings.change(scope, lambda old: replace(old, supporting_context=text), context.now)


async def _organization(context: RequestContext) -> Answer:
    text = context.core.scope_settings.of(EVERY_SCOPE).supporting_context
    return dict(organizationalContext=text, namespaceCount=len(await every_scope(context)))


def _listed(scope: ScopeView) -> Answer:
    counts = dict(documentCount=scope.documents, memoryCount=scope.memories)
    names = dict(id=scope.name, namespace=scope.name)
    return {**names, **counts, "description": scope.settings.name, "system": _times(scope)}


def _times(scope: ScopeView) -> Answer:
    return {"createdAt": scope.created_at, "updatedAt": scope.updated_at}


async def _details(ns: NamespaceContext) -> Answer:
    beginning = "It begins with the first document or memory that is added to it."
    scope = await scope_view(ns, ns.name, f"There is no namespace {ns.name!r}. {beginning}")
    context = scope.settings.supporting_context
    return dict(namespace=ns.name, supportingContext=context, system=_times(scope))
