"""The graph of tags: two are neighbours when a fact or turn carries both. Computed from the records whenever it is asked for, so it is
never wrong; bounded, so it is never large.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

MOST_RECORDS = 50_000  # that are looked at
MOST_TAGS = 2_000  # of one graph, the most used ones
MOST_EDGES = 10_000  # the heaviest ones
MOST_IDS = 100  # of records, named with a tag
TAGS_PAIRED = 20  # of one record; all pairs of a hundred tags would be 4,950 edges


@dataclass(frozen=True)
class TagGraph:
    """`carriers` are the records that carry a tag, at most `MOST_IDS`; `counts` are all of them; `edges` count the records of a pair."""

    counts: Mapping[str, int]
    carriers: Mapping[str, Sequence[str]]
    edges: Mapping[tuple[str, str], int]  # each pair once, in order of the alphabet

    def beside(self, tag: str) -> list[str]:
        """The neighbours of a tag, the one it shares most records with first."""
        found = [(count, right if left == tag else left) for (left, right), count in self.edges.items() if tag in (left, right)]
        return [other for _, other in sorted(found, key=lambda each: (-each[0], each[1]))]

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
        found: dict[str, str | None] = {start: None}
        waiting = deque([(start, 0)])
        while waiting:
            tag, far = waiting.popleft()
            if far == depth:
                continue
            for _, other in sorted(neighbours.get(tag, ())):
                if other not in found:
                    found[other] = tag
                    waiting.append((other, far + 1))
        return found


def tag_graph(tagged: Iterable[tuple[str, Sequence[str]]]) -> TagGraph:
    """The graph of records, given as (id, tags)."""
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    carriers: dict[str, list[str]] = {}
    for id, tags in tagged:
        counts.update(tags)
        pairs.update(combinations(sorted(set(tags))[:TAGS_PAIRED], 2))
        for tag in tags:
            if len(named := carriers.setdefault(tag, [])) < MOST_IDS:
                named.append(id)
    kept = dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_TAGS])
    heaviest = sorted(((pair, count) for pair, count in pairs.items() if kept.keys() >= set(pair)), key=lambda each: (-each[1], each[0]))
    return TagGraph(kept, {tag: carriers[tag] for tag in kept}, dict(heaviest[:MOST_EDGES]))
