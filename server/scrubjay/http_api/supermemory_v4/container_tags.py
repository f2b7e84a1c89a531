"""The routes of container tags: list them, read or change what is said of one, merge and delete."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import LONGEST_NAME
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import Background
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.scopes import ScopeView, delete_scope, every_scope, scope_view
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import Part, TagList, iso
from scrubjay.models.fields import Text
from scrubjay.models.requests import about

TagInPath = Annotated[str, Path(description="The container tag.")]
_UNKNOWN = "Nothing is kept under this tag, and nothing is said of it."

route = Routes(ANSWERS)


class TagChange(Part):
    """What is to be said of a tag; what is left out stays, null takes it away."""

    name: Annotated[Text, Field(max_length=LONGEST_NAME)] | None = about("What people call it.")
    entity_context: Background | None = about("Background to everything under it.")


class Merge(Part):
    container_tags: TagList = Field(
        description="Tags whose content moves; the target itself may be among them.", min_length=1
    )
    target_container_tag: str = Field(description="The tag that gets everything.")


@route("GET /v3/container-tags/list", "List container tags", "[Tag]")
async def list_tags(context: Context) -> list[Answer]:
    """Every tag that the caller reaches, the one with the latest change first."""
    rows = [_listed(scope) for scope in await every_scope(context)]
    return sorted(rows, key=lambda row: row["lastActivityAt"] or "", reverse=True)


@route("POST /v3/container-tags/merge", "Merge container tags", "MergedTags", missing=_UNKNOWN)
async def merge(context: Context, body: Merge) -> Answer:
    """Moves everything under some tags to another; a document whose customId both use is kept twice."""
    target = context.permissions.writes_to(body.target_container_tag)
    tags = dict.fromkeys(body.container_tags)
    sources = [context.permissions.writes_to(tag) for tag in tags if tag != target]
    if not sources:
        raise InputError("containerTags names only the target. Name a tag whose content is to move.")
    for tag in sources:
        await _tag(context, tag)
    count = sum([await context.core.scopes.merge(tag, target) for tag in sources])
    done = dict(success=True, status="completed", mergedCount=count)
    return dict(**done, targetTag=target, deletedTags=sources)


@route(
    "GET /v3/container-tags/merge/{merge_id}",
    "How far a merge is",
    missing="Always: a merge is done when it is answered.",
    status=404,
)
async def merge_status(context: Context, merge_id: Annotated[str, Path(description="Of a merge.")]) -> None:
    """No merge is ever waiting."""
    raise NotFound("A merge is done when its call is answered, so there is none to wait for.")


@route("GET /v3/container-tags/{tag}", "Read a container tag", "TagSettings", missing=_UNKNOWN)
async def read(context: Context, tag: TagInPath) -> Answer:
    """What is said of a tag."""
    return _settings(await _tag(context, str(context.permissions.own(tag))))


@route("PATCH /v3/container-tags/{tag}", "Change what is said of a container tag", "TagSettings")
async def change(context: Context, tag: TagInPath, body: TagChange) -> Answer:
    """Names a tag or describes its content; one that is not there yet begins with it."""
    own = context.permissions.writes_to(tag)
    values: dict[str, Any] = {}
    if "name" in body.model_fields_set:
        values["name"] = body.name
    if "entity_context" in body.model_fields_set:
        values["supporting_context"] = body.entity_context
    await context.core.scope_settings.change(own, lambda old: replace(old, **values), context.now)
    return _settings(await scope_view(context, own))


@route("DELETE /v3/container-tags/{tag}", "Delete a container tag", "DeletedTag", missing=_UNKNOWN)
async def delete(context: Context, tag: TagInPath) -> Answer:
    """Deletes all under a tag for good: documents, memories, turns, their bytes, and what is said of it."""
    own = context.permissions.writes_to(tag)
    await _tag(context, own)
    return dict(success=True, containerTag=own, **await delete_scope(context, own))


async def _tag(context: RequestContext, tag: str) -> ScopeView:
    return await scope_view(context, tag, f"Nothing is kept under the container tag {tag!r}.")


def _settings(scope: ScopeView) -> Answer:
    return ANSWERS.fill("TagSettings", scope.settings, **_about(scope), name=scope.settings.name)


def _listed(scope: ScopeView) -> Answer:
    return ANSWERS.fill(
        "Tag",
        scope,
        **_about(scope),
        id=scope.name,
        name=scope.settings.name or scope.name,
        description=scope.settings.supporting_context,
        visibility="private",
        documentCount=scope.documents,
        memoryCount=scope.memories,
        lastActivityAt=scope.updated_at and iso(scope.updated_at),
        isExperimental=False,
        isNova=False,
        emoji=None,
    )


def _about(scope: ScopeView) -> dict[str, Any]:
    return {
        "containerTag": scope.name,
        "entityContext": scope.settings.supporting_context,
        "createdAt": scope.created_at and iso(scope.created_at),
        "updatedAt": scope.updated_at and iso(scope.updated_at),
    }
