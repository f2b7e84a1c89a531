"""`POST /v4/search`: memories, chunks and, if asked for, turns. Knows the request as the clients of version 3 and 4 send it; finding is
`rest.matches`' matter.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.models.fields import Flag, Real, Text
from scrubjay.models.requests import Query
from scrubjay.rest.matches import Asked, Mode, matches
from scrubjay.rest.supermemory.chats import AsksForChats
from scrubjay.rest.supermemory.wire import Filters, Tagged, Whole
from scrubjay.rest.supermemory.wire_results import Include, Results, results
from scrubjay.rest.visit import Visiting

THRESHOLD = 0.6

router = APIRouter()


class MemorySearch(Tagged, AsksForChats):
    """What to find."""

    q: Annotated[Query, Field(min_length=1, description="What to find, in plain words.")]
    search_mode: Annotated[
        Mode, Field(description="memories, documents (chunks), or hybrid: both, merged by similarity, each thing once.")
    ] = "memories"
    limit: Annotated[Whole, Field(ge=1, le=100)] = 10
    threshold: Annotated[Real, Field(ge=0, le=1, description="Least similarity of a result; 0 lets everything through.")] = THRESHOLD
    filters: Filters | None = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        Field(description="Only what is from the document filed here; a folder where it ends in /."),
    ] = None
    include: Include = Include()
    rewrite_query: Annotated[
        Flag,
        Field(
            description="Also search with the question's content words alone, with each of its parts, and with what it names; the best of "
            "all is kept, each thing once. By words, without a model, so that the same question is always rewritten alike."
        ),
    ] = False
    rerank: Annotated[Flag, Field(description="Accepted and without effect: no rerank stage is configured.")] = False
    aggregate: Annotated[Flag, Field(description="Accepted and without effect: nothing here writes new sentences. Not with rerank.")] = (
        False
    )


@router.post("/v4/search", response_model=Results, response_model_exclude_unset=True, summary="Search memories")
async def search(asked: MemorySearch, visit: Visiting) -> Any:
    """Memories by similarity, most similar first; with `searchMode` hybrid or documents also the chunks of documents.

    A memory result has the key `memory`, a chunk the key `chunk`, never both. Turns of conversations are found with `includeChats` or
    `type` alone; every result then says where it is from in `src`, and a turn cites its session, number, role and time.
    """
    if asked.rerank and asked.aggregate:
        raise InputError("rerank and aggregate exclude each other. Ask for one of them.")
    started = time.perf_counter()
    sources, include = asked.sources, asked.include
    found = await matches(
        visit,
        Asked(
            asked.q,
            mode=asked.search_mode,
            limit=asked.limit,
            threshold=asked.threshold,
            filter=asked.filters,
            filepath=asked.filepath,
            docs=sources.docs,
            chats=sources.chats,
            rewrite=asked.rewrite_query,
            related=include.related_memories,
            forgotten=include.forgotten_memories,
            chunks=include.chunks,
        ),
        await visit.seen(asked.tags),
    )
    return results(found, asked.q, include, sources, (time.perf_counter() - started) * 1000)
