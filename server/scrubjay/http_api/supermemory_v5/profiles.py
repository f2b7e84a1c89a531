"""The profile of a namespace as JSON or as Markdown, and its buckets."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from scrubjay.home.scope_settings import LONGEST_BUCKET, LONGEST_DESCRIPTION
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v5.answers import ANSWERS
from scrubjay.http_api.supermemory_v5.bodies import Body
from scrubjay.http_api.supermemory_v5.context import NamespaceContext, Reading, Writing
from scrubjay.http_api.supermemory_v5.filter_expressions import FilterExpression
from scrubjay.models.requests import about
from scrubjay.models.results import Hit

MOST = 50  # buckets of one request
TOKENS = 1_500  # of static and dynamic together, as on /v4/profile
MARKDOWN = "text/markdown"

route = Routes(ANSWERS)

BucketName = Annotated[str, Field(min_length=1, max_length=LONGEST_BUCKET, pattern="^[a-z0-9][a-z0-9_-]*$")]
Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]


class ProfileRequest(Body):
    filter: FilterExpression | None = about("Only memories whose metadata fits.")
    buckets: list[BucketName] | None = about("Only these buckets; left out, every one.", max_length=MOST)


class BucketChange(Body):
    buckets: Annotated[dict[BucketName, Description], Field(min_length=1, max_length=MOST)]


class BucketNames(Body):
    buckets: Annotated[list[BucketName], Field(min_length=1, max_length=MOST)]


@route(
    "POST /ns/{namespace}/profile",
    "Read the profile",
    "ProfileResponse",
    responses={
        200: {
            "content": {MARKDOWN: {"schema": {"type": "string"}}},
            "description": "With `Accept: text/markdown` as Markdown.",
        }
    },
)
async def read_profile(
    ns: Reading, request: Request, body: ProfileRequest | None = None
) -> Answer | Response:
    """What lasts, what is recent, and what fits each bucket; every fact word for word."""
    wanted, scopes = body or ProfileRequest(), (ns.name,)
    facts = await ns.core.search.profile(scopes, TOKENS, wanted.filter)
    buckets = await ns.core.search.profile_buckets(scopes, wanted.filter)
    names = buckets.keys() if wanted.buckets is None else set(wanted.buckets)
    filled = {name: _facts(hits) for name, hits in buckets.items() if name in names}
    profile = dict(static=_facts(facts.static), dynamic=_facts(facts.recent), buckets=filled)
    if prefers_markdown(request.headers.get("accept", "")):
        described = ns.core.scope_settings.buckets(ns.name)
        return Response(_markdown(ns.name, profile, described), media_type=MARKDOWN)
    return dict(profile=profile)


@route("GET /ns/{namespace}/profile/buckets", "Read the buckets of a profile", "Buckets")
async def read_buckets(ns: Reading) -> Answer:
    """The sections of the profile beside `static` and `dynamic`."""
    return _buckets(ns)


@route("PUT /ns/{namespace}/profile/buckets", "Add buckets, or describe them anew", "Buckets")
async def set_buckets(ns: Writing, change: BucketChange) -> Answer:
    """Buckets that are not named stay as they are."""
    await ns.core.scope_settings.change(ns.name, lambda old: old.with_buckets(change.buckets), ns.now)
    return _buckets(ns)


@route("DELETE /ns/{namespace}/profile/buckets", "Remove buckets", "Buckets")
async def delete_buckets(ns: Writing, names: BucketNames) -> Answer:
    """A name that there is no bucket of changes nothing."""
    settings = ns.core.scope_settings
    if set(names.buckets) & settings.of(ns.name).buckets.keys():
        await settings.change(ns.name, lambda old: old.without_buckets(names.buckets), ns.now)
    return _buckets(ns)


def _buckets(ns: NamespaceContext) -> Answer:
    return dict(buckets=dict(ns.core.scope_settings.buckets(ns.name)))


def _facts(hits: Sequence[Hit]) -> list[Answer]:
    return [dict(id=hit.id, memory=hit.memory or "") for hit in hits]


def prefers_markdown(accept: str) -> bool:
    """Tell whether an Accept header names Markdown, and JSON not before it.

    >>> prefers_markdown("text/markdown, */*"), prefers_markdown("*/*")
    (True, False)
    >>> prefers_markdown("application/json, text/markdown;q=0.5")
    False
    """
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return MARKDOWN in kinds and "application/json" not in kinds[: kinds.index(MARKDOWN)]


def _markdown(namespace: str, profile: Answer, described: Mapping[str, str]) -> str:
    sections = [("What lasts", "", profile["static"]), ("What is recent", "", profile["dynamic"])]
    sections += [(name, described[name], facts) for name, facts in profile["buckets"].items()]
    parts = [f"# {namespace}"]
    for title, description, facts in sections:
        lines = [f"- {' '.join(fact['memory'].split())}" for fact in facts] or ["Nothing yet."]
        parts.append("\n\n".join(filter(None, (f"## {title}", description, "\n".join(lines)))))
    return "\n\n".join(parts) + "\n"
