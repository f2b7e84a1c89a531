"""The profile of a namespace: what is known of its subject before anything is asked, as JSON or as Markdown; and its buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from scrubjay.home.scope_settings import LONGEST_BUCKET, LONGEST_DESCRIPTION
from scrubjay.http_api.supermemory_v5.bodies import Answer, Body
from scrubjay.http_api.supermemory_v5.context import Place, Reading, Writing
from scrubjay.http_api.supermemory_v5.filter_expressions import FilterExpression
from scrubjay.models.results import Hit
from scrubjay.search.buckets import contents

router = APIRouter()

MOST = 50  # buckets of one request
TOKENS = 1_500  # of static and dynamic together, as on /v4/profile
MARKDOWN = "text/markdown"

BucketName = Annotated[str, Field(min_length=1, max_length=LONGEST_BUCKET, pattern="^[a-z0-9][a-z0-9_-]*$")]
Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]


class ProfileRequest(Body):
    filter: Annotated[FilterExpression | None, Field(description="Only memories whose metadata fits.")] = None
    buckets: Annotated[
        list[BucketName] | None,
        Field(max_length=MOST, description="Only these buckets; left out, every one."),
    ] = None


class Fact(Answer):
    id: str
    memory: str


class Profile(Answer):
    """`static` lasts, `dynamic` is recent, newest first; a bucket holds what fits its description."""

    static: list[Fact]
    dynamic: list[Fact]
    buckets: dict[str, list[Fact]]


class ProfileResponse(Answer):
    profile: Profile


class Buckets(Answer):
    """Every bucket of the profile by its name, with what belongs there."""

    buckets: dict[str, str]


class BucketChange(Body):
    buckets: Annotated[dict[BucketName, Description], Field(min_length=1, max_length=MOST)]


class BucketNames(Body):
    buckets: Annotated[list[BucketName], Field(min_length=1, max_length=MOST)]


@router.post(
    "/ns/{namespace}/profile",
    summary="Read the profile",
    response_model=ProfileResponse,
    responses={
        200: {
            "content": {MARKDOWN: {"schema": {"type": "string"}}},
            "description": "With `Accept: text/markdown` as Markdown.",
        }
    },
)
async def read_profile(
    place: Reading, request: Request, asked: ProfileRequest | None = None
) -> ProfileResponse | Response:
    """What lasts, what is recent, and what fits each bucket; every fact word for word."""
    wanted, core, scopes = asked or ProfileRequest(), place.context.core, (place.namespace,)
    known = await core.search.profile(scopes, TOKENS, wanted.filter)
    described = core.scope_settings.buckets(place.namespace)
    held = await contents(
        core.store,
        described,
        scopes=scopes,
        now=place.context.now,
        embed=core.indexer.embed_query,
        filters=wanted.filter,
    )
    names = [name for name in held if wanted.buckets is None or name in wanted.buckets]
    profile = Profile(
        static=_facts(known.static),
        dynamic=_facts(known.recent),
        buckets={name: _facts(held[name]) for name in names},
    )
    if prefers_markdown(request.headers.get("accept", "")):
        return Response(_markdown(place.namespace, profile, described), media_type=MARKDOWN)
    return ProfileResponse(profile=profile)


@router.get("/ns/{namespace}/profile/buckets", summary="Read the buckets of a profile")
async def read_buckets(place: Reading) -> Buckets:
    """The sections of the profile beside `static` and `dynamic`."""
    return _buckets(place)


@router.put("/ns/{namespace}/profile/buckets", summary="Add buckets, or describe them anew")
async def set_buckets(place: Writing, change: BucketChange) -> Buckets:
    """Buckets that are not named stay as they are."""
    await place.context.core.scope_settings.change(
        place.namespace, lambda held: held.with_buckets(change.buckets), place.context.now
    )
    return _buckets(place)


@router.delete("/ns/{namespace}/profile/buckets", summary="Remove buckets")
async def delete_buckets(place: Writing, named: BucketNames) -> Buckets:
    """A name that there is no bucket of changes nothing."""
    book = place.context.core.scope_settings
    if set(named.buckets) & book.of(place.namespace).buckets.keys():
        await book.change(
            place.namespace, lambda held: held.without_buckets(named.buckets), place.context.now
        )
    return _buckets(place)


def _buckets(place: Place) -> Buckets:
    return Buckets(buckets=dict(place.context.core.scope_settings.buckets(place.namespace)))


def prefers_markdown(accept: str) -> bool:
    """Whether an Accept header names Markdown, and JSON not before it.

    >>> prefers_markdown("text/markdown, */*"), prefers_markdown("application/json, text/markdown;q=0.5"), prefers_markdown("*/*")
    (True, False, False)
    """
    named = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return MARKDOWN in named and "application/json" not in named[: named.index(MARKDOWN)]


def _facts(hits: Sequence[Hit]) -> list[Fact]:
    return [Fact(id=hit.id, memory=hit.memory or "") for hit in hits]


def _markdown(namespace: str, profile: Profile, described: Mapping[str, str]) -> str:
    sections = [("What lasts", "", profile.static), ("What is recent", "", profile.dynamic)]
    sections += [(name, described[name], facts) for name, facts in profile.buckets.items()]
    parts = [f"# {namespace}"]
    for title, says, facts in sections:
        lines = [f"- {' '.join(fact.memory.split())}" for fact in facts] or ["Nothing yet."]
        parts.append("\n\n".join(filter(None, (f"## {title}", says, "\n".join(lines)))))
    return "\n\n".join(parts) + "\n"
