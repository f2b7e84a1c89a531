"""`/api/v1/graph`: which tags occur together, computed from what is stored when it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from scrubjay.errors import InputError, NotFound
from scrubjay.rest.hebb.scope import Stay, Staying
from scrubjay.rest.hebb.wire import Answer
from scrubjay.store.tallies import tagged
from scrubjay.tag_graph import MOST_RECORDS, TagGraph, tag_graph

router = APIRouter(prefix="/api/v1/graph")
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "No memory carries this tag."}}
TagPath = Annotated[str, Path(min_length=1, max_length=100)]


class TagNode(Answer):
    """A tag, the memories that carry it (at most 100 of them), and how many do."""

    id: str
    label: str
    description: str = ""
    memory_ids: list[str]
    weight: float


class TagEdge(Answer):
    """Two tags that `weight` memories carry together."""

    source: str
    target: str
    relation: str = "together"
    weight: float


class GraphState(Answer):
    nodes: list[TagNode]
    edges: list[TagEdge]
    version: int = 1


class GraphQuery(Answer):
    nodes: list[TagNode]
    edges: list[TagEdge]
    paths: list[list[str]] | None = None


@router.get("/tags", response_model=list[TagNode], summary="List tags, the most used first")
async def tags(stay: Staying, q: Annotated[str | None, Query(max_length=100, description="A part of the tag.")] = None) -> list[TagNode]:
    graph = await graph_of(stay)
    return _nodes(graph, [tag for tag in graph.counts if q is None or q.lower() in tag.lower()])


@router.get("/tags/{tag}", response_model=TagNode, responses=MISSING, summary="Read one tag")
async def tag(stay: Staying, tag: TagPath) -> TagNode:
    graph = await graph_of(stay)
    if tag not in graph.counts:
        raise NotFound(f"No memory carries the tag {tag!r}. GET /api/v1/graph/tags lists those that are carried.")
    return _nodes(graph, [tag])[0]


@router.get("/neighbors/{tag}", response_model=GraphQuery, summary="The tags around one")
async def neighbors(stay: Staying, tag: TagPath, depth: Annotated[int, Query(ge=1, le=5)] = 1) -> GraphQuery:
    """The tag and those at most `depth` steps away, nearest first, with the edges between them; empty for a tag that nothing carries."""
    graph = await graph_of(stay)
    found = graph.around(tag, depth)
    return GraphQuery(nodes=_nodes(graph, found), edges=_edges(graph, found))


@router.get("/path", response_model=GraphQuery, summary="The shortest way between two tags")
async def path(
    stay: Staying,
    start: Annotated[str | None, Query(alias="from", max_length=100)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=100)] = None,
    source: Annotated[str | None, Query(max_length=100, description="Another name of `from`.")] = None,
    target: Annotated[str | None, Query(max_length=100, description="Another name of `to`.")] = None,
) -> GraphQuery:
    """`paths` is empty where no way leads from one to the other."""
    first, last = start or source, end or target
    if not first or not last:
        raise InputError("Name both ends of the way: ?from=TAG&to=TAG.")
    graph = await graph_of(stay)
    way = graph.path(first, last)
    steps = {frozenset(pair) for pair in pairwise(way)}
    edges = [edge for edge in _edges(graph, way) if {edge.source, edge.target} in steps]
    return GraphQuery(nodes=_nodes(graph, way), edges=edges, paths=[way] if way else [])


@router.get("/export", response_model=GraphState, summary="The whole graph")
async def export(stay: Staying) -> GraphState:
    """At most the 2,000 most used tags and the 10,000 heaviest edges."""
    graph = await graph_of(stay)
    return GraphState(nodes=_nodes(graph, graph.counts), edges=_edges(graph, graph.counts))


async def graph_of(stay: Stay) -> TagGraph:
    """The graph of what a visit sees."""
    core = stay.visit.core
    await core.writer.drain()
    await core.store.flush()
    found = await tagged(core.store, await stay.reads(), stay.visit.now, MOST_RECORDS)
    return await asyncio.to_thread(tag_graph, found)  # of 50,000 records it takes a second, and others are served meanwhile


def _nodes(graph: TagGraph, tags: Iterable[str]) -> list[TagNode]:
    return [TagNode(id=tag, label=tag, memory_ids=list(graph.carriers[tag]), weight=graph.counts[tag]) for tag in tags]


def _edges(graph: TagGraph, tags: Iterable[str]) -> list[TagEdge]:
    return [TagEdge(source=left, target=right, weight=count) for (left, right), count in graph.among(tags).items()]
