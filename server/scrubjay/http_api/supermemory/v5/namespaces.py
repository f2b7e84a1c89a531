"""Namespaces of version 5: list, describe, move and delete them, and read the profile of their facts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Request, Response
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.home.scope_settings import LONGEST_BUCKET, LONGEST_DESCRIPTION
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.answers import ANSWERS_5, Answer, of_json
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.routes import Routes, json_response
from scrubjay.http_api.supermemory.fields import Background, Body5, pagination
from scrubjay.http_api.supermemory.resources import delete_scope, every_scope, read_profile, scope_view
from scrubjay.http_api.supermemory.v5.bodies import (
    NamespaceContext,
    NamespaceName,
    PageNumber,
    PageSize,
    ReadNamespace,
    WriteNamespace,
)
from scrubjay.http_api.supermemory.v5.filter_expressions import FilterExpression
from scrubjay.models.requests import about
from scrubjay.models.results import Hit

MOST_BUCKETS = 50  # the most buckets in one request
MARKDOWN = "text/markdown"
_BACKGROUND = "Background to the content; null removes it. It is stored and returned."

route = Routes(ANSWERS_5)

BucketName = Annotated[str, Field(min_length=1, max_length=LONGEST_BUCKET, pattern="^[a-z0-9][a-z0-9_-]*$")]
Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]


class NamespaceChange(Body5):
    supporting_context: Background | None = Field(description=_BACKGROUND)


class OrganizationChange(Body5):
    organizational_context: Background | None = Field(description=_BACKGROUND)


class ProfileRequest(Body5):
    filter: FilterExpression | None = about("Only memories whose metadata matches.")
    buckets: list[BucketName] | None = about(
        "Only these buckets; left out, every one.", max_length=MOST_BUCKETS
    )


class BucketChange(Body5):
    buckets: Annotated[dict[BucketName, Description], Field(min_length=1, max_length=MOST_BUCKETS)]


class BucketNames(Body5):
    buckets: Annotated[list[BucketName], Field(min_length=1, max_length=MOST_BUCKETS)]


@route("GET /ns", "List namespaces", "Namespaces")
@route("GET /namespaces", "List namespaces", "Namespaces")
async def list_namespaces(
    context: Context,
    page: PageNumber = 1,
    limit: PageSize = 10,
    q: Annotated[
        str | None, Query(max_length=100, description="Only those whose name contains this, in any case.")
    ] = None,
) -> Answer:
    """Every namespace that the caller reaches, newest first, with its counts of documents and memories."""
    text = (q or "").casefold()
    scopes = [scope for scope in await every_scope(context) if text in scope.name.casefold()]
    scopes.sort(key=lambda scope: (scope.created_at, scope.name), reverse=True)
    rows = [ANSWERS_5.fill("Namespace", scope) for scope in scopes[(page - 1) * limit : page * limit]]
    return dict(namespaces=rows, pagination=pagination(page, limit, len(scopes)))


@route("GET /ns/{namespace}", "Read a namespace", "NamespaceDetails")
async def read_namespace(ns: ReadNamespace) -> Answer:
    """The description of a namespace."""
    return await _details(ns)


@route("PATCH /ns/{namespace}", "Change a namespace", "NamespaceDetails")
async def change_namespace(ns: WriteNamespace, change: NamespaceChange) -> Answer:
    """Describe a namespace; a new one begins with that."""
    await _describe(ns, ns.name, change.supporting_context)
    return await _details(ns)


@route(
    "DELETE /ns/{namespace}",
    "Delete a namespace, or move its content",
    "Deleted",
    responses={202: {"description": "Everything was moved.", **of_json(ANSWERS_5.schema("Moved"))}},
)
async def delete_namespace(
    ns: WriteNamespace,
    move_to: Annotated[
        NamespaceName | None,
        Query(
            alias="moveTo",
            description="The namespace that everything moves to; without it, everything is deleted.",
        ),
    ] = None,
) -> Answer | Response:
    """Permanently delete a namespace, with its documents, memories and chats, or move all of it elsewhere."""
    await _details(ns)
    if move_to is None:
        return dict(status="deleted", namespace=ns.name, **await delete_scope(ns, ns.name))
    target = ns.permissions.write_scope(move_to)
    if target == ns.name:
        advice = "Name another one, or leave moveTo out to delete it."
        raise InputError(f"moveTo = {move_to!r} is the namespace itself. {advice}")
    await ns.core.scopes.merge(ns.name, target)
    moved = dict(status="queued", operationId=uuid4().hex, namespace=ns.name, moveTo=target)
    return json_response(moved, 202)


@route("GET /organization", "Read the background to all namespaces", "Organization")
async def read_organization(context: Context) -> Answer:
    """The background to all namespaces, and their number."""
    text = context.core.scope_settings.of(EVERY_SCOPE).supporting_context
    return dict(organizationalContext=text, namespaceCount=len(await every_scope(context)))


@route("PATCH /organization", "Change the background to all namespaces", "Organization")
async def change_organization(context: Context, change: OrganizationChange) -> Answer:
    """Describe all namespaces together. A token of one namespace may not."""
    context.permissions.check_writes_for_all()
    await _describe(context, EVERY_SCOPE, change.organizational_context)
    return await read_organization(context)


@route("POST /ns/{namespace}/profile", "Read the profile", "ProfileResponse")
async def profile(
    ns: ReadNamespace, request: Request, body: ProfileRequest | None = None
) -> Answer | Response:
    """Lasting facts, recent ones, and those of each bucket; Markdown for `Accept: text/markdown`."""
    body = body or ProfileRequest()
    facts = await read_profile(ns, (ns.name,), body.filter, body.buckets)
    buckets = {name: _facts(hits) for name, hits in facts.buckets.items()}
    answer = dict(static=_facts(facts.static), dynamic=_facts(facts.dynamic), buckets=buckets)
    if MARKDOWN in request.headers.get("accept", "").partition("application/json")[0]:
        return Response(_markdown(ns.name, answer), media_type=MARKDOWN)
    return dict(profile=answer)


@route("GET /ns/{namespace}/profile/buckets", "Read the buckets of a profile", "Buckets")
async def read_buckets(ns: ReadNamespace) -> Answer:
    """The sections of the profile in addition to `static` and `dynamic`."""
    return dict(buckets=dict(ns.core.scope_settings.buckets(ns.name)))


@route("PUT /ns/{namespace}/profile/buckets", "Add buckets, or change their descriptions", "Buckets")
async def set_buckets(ns: WriteNamespace, change: BucketChange) -> Answer:
    """Buckets that are not named do not change."""
    await ns.core.scope_settings.change(ns.name, lambda old: old.with_buckets(change.buckets), ns.now)
    return await read_buckets(ns)


@route("DELETE /ns/{namespace}/profile/buckets", "Remove buckets", "Buckets")
async def delete_buckets(ns: WriteNamespace, names: BucketNames) -> Answer:
    """An unknown name changes nothing."""
    settings = ns.core.scope_settings
    if set(names.buckets) & settings.of(ns.name).buckets.keys():
        await settings.change(ns.name, lambda old: old.without_buckets(names.buckets), ns.now)
    return await read_buckets(ns)


async def _describe(context: RequestContext, scope: str, text: str | None) -> None:
    settings = context.core.scope_settings
    await settings.change(scope, lambda old: replace(old, supporting_context=text), context.now)


async def _details(ns: NamespaceContext) -> Answer:
    advice = "It begins with the first document or memory that is added to it."
    scope = await scope_view(ns, ns.name, f"There is no namespace {ns.name!r}. {advice}")
    return ANSWERS_5.fill("NamespaceDetails", scope)


def _facts(hits: Sequence[Hit]) -> list[Answer]:
    return [dict(id=hit.id, memory=hit.memory or "") for hit in hits]


def _markdown(namespace: str, profile: Answer) -> str:
    sections = {"What lasts": profile["static"], "What is recent": profile["dynamic"], **profile["buckets"]}
    parts = [f"# {namespace}"]
    for title, facts in sections.items():
        lines = [f"- {' '.join(fact['memory'].split())}" for fact in facts] or ["Nothing yet."]
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"
