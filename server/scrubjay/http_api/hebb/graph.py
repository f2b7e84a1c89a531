"""`/api/v1/graph`: which tags occur together, computed from what is stored when it is asked for."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Annotated

from fastapi import Path, Query

from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.hebb.answers import ANSWERS
from scrubjay.http_api.hebb.context import HebbContext, HebbRequest
from scrubjay.http_api.routes import Routes

MOST_RECORDS = 50_000  # that are looked at
MOST_TAGS = 2_000  # of one graph, the most used ones
MOST_EDGES = 10_000  # the heaviest ones
MOST_IDS = 100  # of records, named with a tag
TAGS_PAIRED = 20  # of one record; all pairs of a hundred tags would be 4,950 edges
_MISSING = "No memory carries this tag."

route = Routes(ANSWERS)

TagPath = Annotated[str, Path(min_length=1, max_length=100)]


@route("GET /api/v1/graph/tags", "List tags, the most used first", "[TagNode]")
async def tags(
    request: HebbRequest,
    q: Annotated[str | None, Query(max_length=100, description="A part of the tag.")] = None,
) -> list[Answer]:
    """Each tag with the number of memories that carry it."""
    graph = await graph_of(request)
    return _nodes(graph, [tag for tag in graph.counts if q is None or q.lower() in tag.lower()])


@route("GET /api/v1/graph/tags/{tag}", "Read one tag", "TagNode", missing=_MISSING)
async def tag(request: HebbRequest, tag: TagPath) -> Answer:
    """The tag, how many memories carry it, and which."""
    graph = await graph_of(request)
    if tag not in graph.counts:
        advice = "GET /api/v1/graph/tags lists those that are carried."
        raise NotFound(f"No memory carries the tag {tag!r}. {advice}")
    return _nodes(graph, [tag])[0]


@route("GET /api/v1/graph/neighbors/{tag}", "The tags around one", "GraphQuery")
async def neighbors(
    request: HebbRequest, tag: TagPath, depth: Annotated[int, Query(ge=1, le=5)] = 1
) -> Answer:
    """The tag and those at most `depth` steps away, nearest first, with the edges between them.

    Empty for a tag that nothing carries.
    """
    graph = await graph_of(request)
    near = graph.around(tag, depth)
    return dict(nodes=_nodes(graph, near), edges=_edges(graph, near), paths=None)


@route("GET /api/v1/graph/path", "The shortest way between two tags", "GraphQuery")
async def path(
    request: HebbRequest,
    start: Annotated[str | None, Query(alias="from", max_length=100)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=100)] = None,
    source: Annotated[str | None, Query(max_length=100, description="Another name of `from`.")] = None,
    target: Annotated[str | None, Query(max_length=100, description="Another name of `to`.")] = None,
) -> Answer:
    """`paths` is empty where no way leads from one to the other."""
    first, last = start or source, end or target
    if not first or not last:
        raise InputError("Name both ends of the way: ?from=TAG&to=TAG.")
    graph = await graph_of(request)
    way = graph.path(first, last)
    steps = {frozenset(pair) for pair in pairwise(way)}
    edges = [edge for edge in _edges(graph, way) if {edge["source"], edge["target"]} in steps]
    return dict(nodes=_nodes(graph, way), edges=edges, paths=[way] if way else [])


@route("GET /api/v1/graph/export", "The whole graph", "GraphState")
async def export(request: HebbRequest) -> Answer:
    """At most the 2,000 most used tags and the 10,000 heaviest edges."""
    graph = await graph_of(request)
    return dict(nodes=_nodes(graph, graph.counts), edges=_edges(graph, graph.counts), version=1)


async def graph_of(request: HebbContext) -> TagGraph:
    """Return the graph of what a request sees."""
    tagged = await request.core.counts.tags(await request.reads(), MOST_RECORDS)
    # With 50,000 records it takes a second, and others are served meanwhile.
    return await asyncio.to_thread(tag_graph, tagged)


def _nodes(graph: TagGraph, tags: Iterable[str]) -> list[Answer]:
    def node(tag: str) -> Answer:
        named = {"id": tag, "label": tag, "description": ""}
        return {**named, "memory_ids": list(graph.carriers[tag]), "weight": float(graph.counts[tag])}

    return [node(tag) for tag in tags]


def _edges(graph: TagGraph, tags: Iterable[str]) -> list[Answer]:
    return [
        dict(source=left, target=right, relation="together", weight=float(count))
        for (left, right), count in graph.among(tags).items()
    ]


@dataclass(frozen=True)
class TagGraph:
    """Tags and how many records carry them.

    `carriers` are the ids of at most `MOST_IDS` records with a tag, `counts` the number of all of them, and
    `edges` the number of records with both tags of a pair.
    """

    counts: Mapping[str, int]
    carriers: Mapping[str, Sequence[str]]
    edges: Mapping[tuple[str, str], int]  # each pair once, in order of the alphabet

    def around(self, tag: str, depth: int) -> list[str]:
        """A tag and those at most `depth` steps away, nearest first; none for a tag that nobody carries."""
        return list(self._steps(tag, depth))

    def path(self, start: str, end: str) -> list[str]:
        """The tags from one to another by the fewest steps, both included; none where no way leads."""
        came_from = self._steps(start, len(self.counts))
        way = [end] if end in came_from else []
        while way and (before := came_from[way[-1]]) is not None:
            way.append(before)
        return way[::-1]

    def among(self, tags: Iterable[str]) -> dict[tuple[str, str], int]:
        """The edges between these tags."""
        known = set(tags)
        return {pair: count for pair, count in self.edges.items() if known.issuperset(pair)}

    def _steps(self, start: str, depth: int) -> dict[str, str | None]:
        """The tags within reach, nearest first, each with the one before it on its way."""
        if start not in self.counts:
            return {}
        neighbours: dict[str, list[tuple[int, str]]] = {}
        for (left, right), count in self.edges.items():
            neighbours.setdefault(left, []).append((-count, right))
            neighbours.setdefault(right, []).append((-count, left))
        came_from: dict[str, str | None] = {start: None}
        waiting = deque([(start, 0)])
        while waiting:
            tag, far = waiting.popleft()
            if far == depth:
                continue
            for _, other in sorted(neighbours.get(tag, ())):
                if other not in came_from:
                    came_from[other] = tag
                    waiting.append((other, far + 1))
        return came_from


def tag_graph(record_tags: Iterable[tuple[str, Sequence[str]]]) -> TagGraph:
    """Make the graph of records, given as (id, tags)."""
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    carriers: dict[str, list[str]] = {}
    for record_id, tags in record_tags:
        counts.update(tags)
        pairs.update(combinations(sorted(set(tags))[:TAGS_PAIRED], 2))
        for tag in tags:
            if len(named := carriers.setdefault(tag, [])) < MOST_IDS:
                named.append(record_id)
    kept = dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_TAGS])
    heaviest = sorted(
        ((pair, count) for pair, count in pairs.items() if kept.keys() >= set(pair)),
        key=lambda each: (-each[1], each[0]),
    )
    return TagGraph(kept, {tag: carriers[tag] for tag in kept}, dict(heaviest[:MOST_EDGES]))
