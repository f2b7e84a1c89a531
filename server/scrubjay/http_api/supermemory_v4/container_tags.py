"""The routes of container tags: list them, read or change what is said of one, merge and delete."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from scrubjay.engine.verbs.counts import ScopeCounts
from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import LONGEST_CONTEXT, LONGEST_NAME, ScopeSettings
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v4.bodies import Part, TagList, iso
from scrubjay.models.fields import Text

TagInPath = Annotated[str, Path(description="The container tag.")]
_UNKNOWN = "Nothing is kept under this tag, and nothing is said of it."

route = Routes()


class ListedTag(Part):
    id: str
    container_tag: str
    name: str
    description: str | None
    visibility: str
    document_count: int
    memory_count: int
    last_activity_at: str | None
    created_at: str | None
    updated_at: str | None
    is_experimental: bool
    is_nova: bool
    emoji: str | None


class TagSettings(Part):
    container_tag: str
    name: str | None
    entity_context: str | None
    created_at: str | None
    updated_at: str | None


class TagChange(Part):
    """What is to be said of a tag; what is left out stays, null takes it away."""

    name: Annotated[
        Annotated[Text, Field(max_length=LONGEST_NAME)] | None, Field(description="What people call it.")
    ] = None
    entity_context: Annotated[
        Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
        Field(description="Background to everything under it."),
    ] = None


class Merge(Part):
    container_tags: Annotated[
        TagList,
        Field(min_length=1, description="Tags whose content moves; the target itself may be among them."),
    ]
    target_container_tag: Annotated[str, Field(description="The tag that gets everything.")]


class Merged(Part):
    """Everything is under the target; there is nothing to wait for."""

    success: bool
    status: str
    merged_count: Annotated[int, Field(description="Documents, memories and turns that moved.")]
    target_tag: str
    deleted_tags: list[str]


class DeletedTag(Part):
    success: bool
    container_tag: str
    deleted_documents_count: int
    deleted_memories_count: int


@route("GET /v3/container-tags/list", "List container tags")
async def list_tags(context: Context) -> list[ListedTag]:
    """Every tag that the caller reaches, the one with the latest change first."""
    counts, settings = await context.core.counts.by_scope(), context.core.scope_settings.all()
    tags = [tag for tag in {**counts, **settings} if context.permissions.reaches(tag)]
    rows = [_listed_tag(tag, counts.get(tag), settings.get(tag)) for tag in tags]
    return sorted(rows, key=lambda row: row.last_activity_at or "", reverse=True)


@route("POST /v3/container-tags/merge", "Merge container tags", missing=_UNKNOWN)
async def merge(context: Context, body: Merge) -> Merged:
    """Moves everything under some tags to another; a document whose customId both use is kept twice."""
    target = context.permissions.writes_to(body.target_container_tag)
    tags = dict.fromkeys(body.container_tags)
    sources = [context.permissions.writes_to(tag) for tag in tags if tag != target]
    if not sources:
        raise InputError("containerTags names only the target. Name a tag whose content is to move.")
    for tag in sources:
        await _counts(context, tag)
    moved = [await context.core.scopes.merge(tag, target) for tag in sources]
    return Merged(
        success=True, status="completed", merged_count=sum(moved), target_tag=target, deleted_tags=sources
    )


@route(
    "GET /v3/container-tags/merge/{merge_id}",
    "How far a merge is",
    missing="Always: a merge is done when it is answered.",
    status_code=404,
)
async def merge_status(context: Context, merge_id: Annotated[str, Path(description="Of a merge.")]) -> None:
    """No merge is ever waiting."""
    raise NotFound("A merge is done when its call is answered, so there is none to wait for.")


@route("GET /v3/container-tags/{tag}", "Read a container tag", missing=_UNKNOWN)
async def read(context: Context, tag: TagInPath) -> TagSettings:
    """What is said of a tag."""
    own = str(context.permissions.own(tag))
    return _tag_settings(own, context.core.scope_settings.of(own), await _counts(context, own))


@route("PATCH /v3/container-tags/{tag}", "Change what is said of a container tag")
async def change(context: Context, tag: TagInPath, body: TagChange) -> TagSettings:
    """Names a tag or describes its content; one that is not there yet begins with it."""
    own = context.permissions.writes_to(tag)
    values: dict[str, Any] = {}
    if "name" in body.model_fields_set:
        values["name"] = body.name
    if "entity_context" in body.model_fields_set:
        values["supporting_context"] = body.entity_context
    settings = await context.core.scope_settings.change(own, lambda old: replace(old, **values), context.now)
    return _tag_settings(own, settings, (await context.core.counts.by_scope(own)).get(own))


@route("DELETE /v3/container-tags/{tag}", "Delete a container tag", missing=_UNKNOWN)
async def delete(context: Context, tag: TagInPath) -> DeletedTag:
    """Deletes all under a tag for good: documents, memories, turns, their bytes, and what is said of it."""
    own = context.permissions.writes_to(tag)
    await _counts(context, own)
    counts = await context.core.scopes.delete(own, SOURCE)
    return DeletedTag(
        success=True,
        container_tag=own,
        deleted_documents_count=counts.documents if counts else 0,
        deleted_memories_count=counts.memories if counts else 0,
    )


async def _counts(context: RequestContext, tag: str) -> ScopeCounts | None:
    """Return what a tag holds, None for nothing.

    Raises:
        NotFound: it holds nothing, and nothing is said of it.
    """
    counts = (await context.core.counts.by_scope(tag)).get(tag)
    if counts is None and tag not in context.core.scope_settings.all():
        raise NotFound(f"Nothing is kept under the container tag {tag!r}.")
    return counts


def _tag_settings(tag: str, settings: ScopeSettings, counts: ScopeCounts | None) -> TagSettings:
    created = [at for at in (settings.created_at, counts and counts.created_at) if at]
    updated = [at for at in (settings.updated_at, counts and counts.updated_at) if at]
    return TagSettings(
        container_tag=tag,
        name=settings.name,
        entity_context=settings.supporting_context,
        created_at=iso(min(created)) if created else None,
        updated_at=iso(max(updated)) if updated else None,
    )


def _listed_tag(tag: str, counts: ScopeCounts | None, settings: ScopeSettings | None) -> ListedTag:
    row = _tag_settings(tag, settings or ScopeSettings(), counts)
    return ListedTag(
        id=tag,
        container_tag=tag,
        name=row.name or tag,
        description=row.entity_context,
        visibility="private",
        document_count=counts.documents if counts else 0,
        memory_count=counts.memories if counts else 0,
        last_activity_at=row.updated_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        is_experimental=False,
        is_nova=False,
        emoji=None,
    )
