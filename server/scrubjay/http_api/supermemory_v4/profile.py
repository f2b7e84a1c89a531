"""The routes of a tag's profile: what to know before anything is asked, and what answers a first question.

They never tell what is of the user's own scope.
"""

import time
from typing import Literal

from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.matches import MatchQuery, find_matches
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import Filters, Tagged
from scrubjay.http_api.supermemory_v4.results import Include, Sources, results
from scrubjay.http_api.supermemory_v4.search import THRESHOLD
from scrubjay.models.fields import Name, Real
from scrubjay.models.requests import Query, about
from scrubjay.models.results import Hit

TOKENS = 1_500  # of static and dynamic together, at most three fifths of them of static
Section = Literal["static", "dynamic", "buckets"]

route = Routes(ANSWERS)


class AskProfile(Tagged):
    """Whose profile, which parts of it, and what to search for beside it."""

    q: Query | None = about("Also search for this, in memories and documents.")
    threshold: Real = about("Least similarity of a search result.", THRESHOLD, ge=0, le=1)
    filters: Filters | None = None
    include: list[Section] | None = about("Left out: static and dynamic, and the buckets that are asked for.")
    buckets: list[Name] | None = about("The names of the buckets to fill; left out, all.", max_length=100)


@route("POST /v4/profile", "Profile of a tag", "ProfileAnswer")
async def profile(body: AskProfile, context: Context) -> Answer:
    """The lasting and the newest facts of a tag, its buckets, and with `q` what answers it."""
    scopes = await context.scopes(body.tags)
    answer: Answer = dict(profile=await _sections(context, body, scopes))
    if body.q is not None:
        started = time.perf_counter()
        query = MatchQuery(body.q, mode="hybrid", threshold=body.threshold, filters=body.filters)
        matches = await find_matches(context, query, scopes)
        milliseconds = (time.perf_counter() - started) * 1000
        answer["searchResults"] = results(matches, body.q, Include(), Sources(), milliseconds)
    return answer


@route("POST /v4/profile/buckets", "Buckets of a tag's profile", "Buckets")
async def buckets(body: Tagged, context: Context) -> Answer:
    """The names and descriptions of the buckets."""
    descriptions: dict[str, str] = {}
    for scope in await context.scopes(body.tags):
        descriptions |= context.core.scope_settings.buckets(scope)
    return dict(buckets=[dict(key=key, description=text) for key, text in descriptions.items()])


async def _sections(context: RequestContext, body: AskProfile, scopes: tuple[str, ...]) -> Answer:
    names = set(body.include or ("static", "dynamic"))
    if not body.include and body.buckets is not None:
        names.add("buckets")
    sections: Answer = {}
    if names & {"static", "dynamic"}:
        facts = await context.core.search.profile(scopes, TOKENS, body.filters) if scopes else None
        if "static" in names:
            sections["static"] = _texts(facts.static) if facts else []
        if "dynamic" in names:
            sections["dynamic"] = _texts(facts.recent) if facts else []
    if "buckets" in names:
        buckets = await context.core.search.profile_buckets(scopes, body.filters)
        wanted = buckets.keys() if body.buckets is None else set(body.buckets)
        sections["buckets"] = {name: _texts(hits) for name, hits in buckets.items() if name in wanted}
    return sections


def _texts(hits: list[Hit]) -> list[str]:
    return [hit.memory for hit in hits if hit.memory]
