"""Search in a namespace: facts and passages of documents, most similar first."""

from time import perf_counter
from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.http_api.answers import ANSWERS_5, Answer
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory.fields import Body5
from scrubjay.http_api.supermemory.matches import Match, MatchQuery, Mode, find_matches
from scrubjay.http_api.supermemory.v5.bodies import NamespaceContext, ReadNamespace
from scrubjay.http_api.supermemory.v5.filter_expressions import FilterExpression
from scrubjay.http_api.supermemory.v5.memories import Included, as_source, read_included
from scrubjay.models.fields import Count, Flag
from scrubjay.models.records import Document, Memory, is_current
from scrubjay.models.requests import Query, Share, about
from scrubjay.records.memories import is_derived

THRESHOLD = 0.3  # default for the least similarity of a result
_MODES: dict[str, Mode] = {"hybrid": "hybrid", "memories": "memories", "chunks": "documents"}

route = Routes(ANSWERS_5)


class SearchInclude(Body5):
    documents: Flag = about("With each result the document it is from.", False)
    related: Flag = about("With each memory its other versions and links.", False)
    forgotten: Flag = about("Also memories that were forgotten or have expired.", False)


class SearchRequest(Body5):
    query: Query = Field(description="What to find, in plain words.")
    filter: FilterExpression | None = about("Only results whose metadata matches.")
    search_mode: Literal["hybrid", "memories", "chunks"] = about(
        "memories: facts; chunks: passages of documents; hybrid: both.", "hybrid"
    )
    limit: Annotated[Count, Field(ge=1, le=100)] = 10
    include: SearchInclude = SearchInclude()
    threshold: Share = about("Least similarity of a result.", THRESHOLD)
    rerank: Literal["none", "order", "aggregate"] = about(
        "Accepted; the order is always that of similarity, and nothing is joined.", "none"
    )
    rewrite_query: Flag = about("Also search for the parts of the question and for the names in it.", False)


@route("POST /ns/{namespace}/search", "Search", "SearchResponse")
async def search(ns: ReadNamespace, request: SearchRequest) -> Answer:
    """Facts and passages of documents, most similar first; a passage that repeats a fact is left out."""
    started = perf_counter()
    include = request.include
    query = MatchQuery(
        request.query,
        mode=_MODES[request.search_mode],
        limit=request.limit,
        threshold=request.threshold,
        filters=request.filter,
        rewrite=request.rewrite_query,
        forgotten=include.forgotten,
    )
    matches = await find_matches(ns, query, (ns.name,))
    facts = [match.record for match in matches if isinstance(match.record, Memory)]
    included = await read_included(
        ns, facts, related=include.related, documents=include.documents, filters=request.filter
    )
    results = [_result(ns, match, included, include) for match in matches]
    return dict(results=results, searchTime=round((perf_counter() - started) * 1000, 1))


def _result(ns: NamespaceContext, match: Match, included: Included, include: SearchInclude) -> Answer:
    record = match.record
    fact = record if isinstance(record, Memory) else None
    values: dict[str, Any] = {"chunk" if fact is None else "memory": match.text}
    if include.related or include.documents:
        source = as_source(record) if include.documents and isinstance(record, Document) else None
        values["included"] = included.of(match.hit.id, source)
    return ANSWERS_5.fill(
        "Result",
        record,
        id=match.hit.id,
        similarity=match.similarity,
        isLatest=fact is None or is_current(fact, ns.now),
        isInference=fact is not None and is_derived(fact),
        **values,
    )
