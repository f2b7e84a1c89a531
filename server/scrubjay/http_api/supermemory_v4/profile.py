"""`POST /v4/profile`: what to know of a tag before anything is asked, and what answers a first question. Knows the shape; which facts are
told is `scrubjay.search.profile`'s and `scrubjay.search.buckets`' matter. Never tells what is of the user's own scope.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.matches import MatchQuery, find_matches
from scrubjay.http_api.supermemory_v4.bodies import Filters, Part, Tagged
from scrubjay.http_api.supermemory_v4.chats import Sources
from scrubjay.http_api.supermemory_v4.result_bodies import Include, Results, results
from scrubjay.models.fields import Name, Real
from scrubjay.models.requests import Query
from scrubjay.models.results import Hit
from scrubjay.search.buckets import contents

TOKENS = 1_500  # of static and dynamic together, the three fifths of them for static at most
THRESHOLD = 0.6  # as of /v4/search
Section = Literal["static", "dynamic", "buckets"]

router = APIRouter()


class AskProfile(Tagged):
    """Whose profile, which parts of it, and what to search for beside it."""

    q: Annotated[Query | None, Field(description="Also search for this, in memories and documents.")] = None
    threshold: Annotated[Real, Field(ge=0, le=1, description="Least similarity of a search result.")] = (
        THRESHOLD
    )
    filters: Filters | None = None
    include: Annotated[
        list[Section] | None,
        Field(description="Left out: static and dynamic, and the buckets that are asked for."),
    ] = None
    buckets: Annotated[
        list[Name] | None,
        Field(max_length=100, description="The names of the buckets to fill; left out, all."),
    ] = None


class ProfileParts(Part):
    """Facts, word for word. A section that was not asked for is absent."""

    static: Annotated[list[str], Field(description="What lasts, the most important first.")] = Field(
        default_factory=list
    )
    dynamic: Annotated[list[str], Field(description="What is new, the newest first.")] = Field(
        default_factory=list
    )
    buckets: Annotated[
        dict[str, list[str]], Field(description="The facts that answer each bucket's description best.")
    ] = Field(default_factory=dict)


class ProfileAnswer(Part):
    profile: ProfileParts
    search_results: Results = Field(default_factory=lambda: Results(results=[], timing=0.0, total=0))


class Bucket(Part):
    key: str
    description: str


class Buckets(Part):
    """The buckets of a tag: those for every tag, and its own."""

    buckets: list[Bucket]


@router.post(
    "/v4/profile", response_model=ProfileAnswer, response_model_exclude_unset=True, summary="Profile of a tag"
)
async def profile(asked: AskProfile, context: Context) -> Any:
    """The lasting and the newest facts of a tag, its buckets, and with `q` what answers that, from memories and documents alike."""
    scopes = await context.scopes(asked.tags)
    sections = set(
        asked.include or ("static", "dynamic", *(["buckets"] if asked.buckets is not None else []))
    )
    answer: dict[str, Any] = {"profile": await _sections(context, asked, scopes, sections)}
    if asked.q is not None:
        started = time.perf_counter()
        question = MatchQuery(asked.q, mode="hybrid", threshold=asked.threshold, filters=asked.filters)
        found = await find_matches(context, question, scopes)
        took = (time.perf_counter() - started) * 1000
        answer["searchResults"] = results(
            found, asked.q, Include(), Sources(docs=True, chats=False, told=False), took
        )
    return answer


@router.post("/v4/profile/buckets", response_model=Buckets, summary="Buckets of a tag's profile")
async def buckets(asked: Tagged, context: Context) -> Any:
    """The names and descriptions of the buckets."""
    described = _described(context, await context.scopes(asked.tags))
    return Buckets(buckets=[Bucket(key=name, description=says) for name, says in described.items()])


async def _sections(
    context: RequestContext, asked: AskProfile, scopes: tuple[str, ...], sections: set[str]
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if scopes and sections & {"static", "dynamic"}:
        known = await context.core.search.profile(scopes, TOKENS, asked.filters)
        made |= {"static": _texts(known.static), "dynamic": _texts(known.recent)}
    made = {name: made.get(name, []) for name in ("static", "dynamic") if name in sections}
    if "buckets" in sections:
        described = _described(context, scopes)
        held = await contents(
            context.core.store,
            described,
            scopes=scopes,
            now=context.now,
            embed=context.core.indexer.embed_query,
            filters=asked.filters,
        )
        made["buckets"] = {
            name: _texts(hits)
            for name, hits in held.items()
            if asked.buckets is None or name in asked.buckets
        }
    return made


def _described(context: RequestContext, scopes: tuple[str, ...]) -> dict[str, str]:
    return {
        name: says for scope in scopes for name, says in context.core.scope_settings.buckets(scope).items()
    }


def _texts(hits: list[Hit]) -> list[str]:
    return [hit.memory for hit in hits if hit.memory]
