"""Container tags: list, describe, merge and delete them, and read the profile of their facts.

Also the settings that clients of version 4 store on their server; they have no effect on Scrubjay.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Body, Path
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.home.scope_settings import LONGEST_NAME
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory.fields import Background, Body4
from scrubjay.http_api.supermemory.matches import MatchQuery, find_matches
from scrubjay.http_api.supermemory.resources import (
    ScopeView,
    delete_scope,
    every_scope,
    read_profile,
    scope_view,
)
from scrubjay.http_api.supermemory.v4.bodies import Filters, Tagged, TagList
from scrubjay.http_api.supermemory.v4.results import THRESHOLD, Include, results, timed
from scrubjay.models.fields import Name, Text
from scrubjay.models.requests import Query, Share, about

LONGEST_SETTINGS = 20_000  # bytes of all settings of clients together, as JSON
TagInPath = Annotated[str, Path(description="The container tag.")]

route = Routes(ANSWERS_4)


class TagChange(Body4):
    """How to describe a tag; a field left out stays, null removes it."""

    name: Annotated[Text, Field(max_length=LONGEST_NAME)] | None = about("Its name for people.")
    entity_context: Background | None = about("Background to everything in it.")


class Merge(Body4):
    container_tags: TagList = Field(
        description="Tags whose content moves; the target itself may be among them.", min_length=1
    )
    target_container_tag: str = Field(description="The tag that gets everything.")


class AskProfile(Tagged):
    """Whose profile, which parts of it, and what to search for as well."""

    q: Query | None = about("Also search for this, in memories and documents.")
    threshold: Share = about("Least similarity of a search result.", THRESHOLD)
    filters: Filters | None = None
    include: list[Literal["static", "dynamic", "buckets"]] | None = about(
        "Left out: static and dynamic, and the buckets that are named."
    )
    buckets: list[Name] | None = about("The names of the buckets to fill; left out, all.", max_length=100)

    @property
    def sections(self) -> list[str]:
        """Return the parts of the profile to read."""
        default = ["static", "dynamic", *([] if self.buckets is None else ["buckets"])]
        return list(self.include or default)


@route("GET /v3/container-tags/list", "List container tags", "[Tag]")
async def list_tags(context: Context) -> list[Answer]:
    """Every tag that the caller reaches, the one with the latest change first."""
    scopes = await every_scope(context)
    scopes.sort(key=lambda scope: scope.updated_at.timestamp() if scope.updated_at else 0.0, reverse=True)
    return [ANSWERS_4.fill("Tag", scope, name=scope.settings.name or scope.name) for scope in scopes]


@route("POST /v3/container-tags/merge", "Merge container tags", "MergedTags")
async def merge(context: Context, body: Merge) -> Answer:
    """Moves everything of some tags to another; two documents with one customId both stay."""
    target = context.permissions.write_scope(body.target_container_tag)
    tags = dict.fromkeys(body.container_tags)
    sources = [context.permissions.write_scope(tag) for tag in tags if tag != target]
    if not sources:
        raise InputError("containerTags names only the target. Name a tag whose content is to move.")
    for tag in sources:
        await _tag(context, tag)
    count = sum([await context.core.scopes.merge(tag, target) for tag in sources])
    answer = dict(success=True, status="completed", mergedCount=count, targetTag=target, deletedTags=sources)
    return answer | body.warnings()


@route("GET /v3/container-tags/{tag}", "Read a container tag", "TagSettings")
async def read(context: Context, tag: TagInPath) -> Answer:
    """The description of a tag."""
    return ANSWERS_4.fill("TagSettings", await _tag(context, str(context.permissions.scope_of(tag))))


@route("PATCH /v3/container-tags/{tag}", "Describe a container tag", "TagSettings")
async def change(context: Context, tag: TagInPath, body: TagChange) -> Answer:
    """Names a tag or describes its content; a new tag begins with that."""
    scope = context.permissions.write_scope(tag)
    names = {"name": "name", "entity_context": "supporting_context"}
    sent = names.keys() & body.model_fields_set  # which also has unknown fields
    values: dict[str, Any] = {names[field]: getattr(body, field) for field in sent}
    await context.core.scope_settings.change(scope, lambda old: replace(old, **values), context.now)
    return ANSWERS_4.fill("TagSettings", await scope_view(context, scope)) | body.warnings()


@route("DELETE /v3/container-tags/{tag}", "Delete a container tag", "DeletedTag")
async def delete(context: Context, tag: TagInPath) -> Answer:
    """Permanently deletes everything of a tag: documents, memories, turns, their bytes, its description."""
    scope = context.permissions.write_scope(tag)
    await _tag(context, scope)
    return dict(success=True, containerTag=scope, **await delete_scope(context, scope))


@route("POST /v4/profile", "Profile of a tag", "ProfileAnswer")
async def profile(body: AskProfile, context: Context) -> Answer:
    """The lasting and the newest facts of a tag, its buckets, and with `q` what answers it.

    `dynamic` ends with what the user said last in its conversations, without questions.
    """
    scopes = await context.scopes(body.tags)
    facts = await read_profile(context, scopes, body.filters, body.buckets, body.sections)
    sections: Answer = {
        "static": [hit.memory for hit in facts.static if hit.memory],
        "dynamic": [hit.memory for hit in facts.dynamic if hit.memory],
        "buckets": {name: [hit.memory for hit in hits if hit.memory] for name, hits in facts.buckets.items()},
    }
    if "dynamic" in body.sections and scopes:
        sections["dynamic"] += await context.core.conversations.statements(scopes, body.filters)
    answer: Answer = {"profile": {name: sections[name] for name in sections if name in body.sections}}
    if body.q is not None:
        started = time.perf_counter()
        query = MatchQuery(body.q, mode="hybrid", threshold=body.threshold, filters=body.filters)
        matches = await find_matches(context, query, scopes)
        answer["searchResults"] = timed(results(matches, body.q, Include()), started)
    return answer | body.warnings()


@route("POST /v4/profile/buckets", "Buckets of a tag's profile", "Buckets")
async def buckets(body: Tagged, context: Context) -> Answer:
    """The names and descriptions of the buckets."""
    descriptions: dict[str, str] = {}
    for scope in await context.scopes(body.tags):
        descriptions |= context.core.scope_settings.buckets(scope)
    entries = [dict(key=key, description=text) for key, text in descriptions.items()]
    return dict(buckets=entries, **body.warnings())


@route("GET /v3/settings", "Read the stored settings", "object")
async def read_settings(context: Context) -> Mapping[str, Any]:
    """The settings that clients have stored; Scrubjay's own are read with `scrubjay config`."""
    return dict(context.core.scope_settings.of(EVERY_SCOPE).client)


@route("PATCH /v3/settings", "Store settings", "UpdatedSettings")
async def change_settings(context: Context, body: Annotated[dict[str, Any], Body()]) -> Answer:
    """Store settings and return them; null removes one. A token of one tag may not."""
    context.permissions.check_writes_for_all()
    old = context.core.scope_settings.of(EVERY_SCOPE).client
    new = {name: value for name, value in {**old, **body}.items() if value is not None}
    try:
        size = len(json.dumps(new, allow_nan=False, ensure_ascii=False).encode())
    except ValueError:
        raise InputError(
            "Settings must be JSON values: finite numbers, and texts without half of a pair."
        ) from None
    if size > LONGEST_SETTINGS:
        limit = f"at most {LONGEST_SETTINGS:,} are allowed"
        raise InputError(f"All settings together have {size:,} bytes; {limit}.")
    await context.core.scope_settings.change(
        EVERY_SCOPE, lambda settings: replace(settings, client=new), context.now
    )
    return dict(orgId="local", orgSlug="local", updated=body)


async def _tag(context: RequestContext, tag: str) -> ScopeView:
    return await scope_view(context, tag, f"The container tag {tag!r} is empty.")
