"""Marks hits whose code has changed, and puts them after hits that are nearly as good."""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from scrubjay.code.anchors import Anchor
from scrubjay.code.book import Book
from scrubjay.code.marks import Marker
from scrubjay.code.trees import Trees
from scrubjay.home.repositories import head_of
from scrubjay.models.records import COMMIT
from scrubjay.models.results import Hit, Mark, MemoryHits

log = logging.getLogger("scrubjay.engine.verbs.marking")

STALE = 0.05  # a marked hit is sorted as if its score were lower by this; its score does not change


class Part(NamedTuple):
    """One of the texts of a record; if `anchor` is given, it is used instead of the book's."""

    id: str
    scope: str
    text: str
    anchor: Anchor | None = None


@dataclass(eq=False)
class Marking:
    """Compares hits with the working trees of their scopes."""

    _book: Book
    _trees: Trees
    _marker: Marker = field(default_factory=Marker)

    async def marked(self, hits: MemoryHits, folder: str | None) -> MemoryHits:
        """Compare hits with the working tree of the caller's `folder`, and return them with their marks."""
        hit_lists = hits.results, hits.related, hits.commits
        marks = await self.marks([hit for hit_list in hit_lists for hit in hit_list], folder)
        if not marks:
            return hits
        results, related, commits = (
            [hit.model_copy(update={"mark": marks.get(hit.id)}) for hit in hit_list] for hit_list in hit_lists
        )
        if hits.period is None:  # an answer about a time is in the order of time
            results = _marked_last(results)
        return hits.model_copy(update={"results": results, "related": related, "commits": commits})

    async def marks(self, hits: Sequence[Hit], folder: str | None) -> dict[str, Mark]:
        """Return the marks of hits that may no longer be true, by id."""
        parts = [Part(hit.id, hit.scope, hit.memory or "", commit_of(hit)) for hit in hits]
        marked_hits = zip(hits, await self.of(parts, folder), strict=True)
        return {hit.id: mark for hit, mark in marked_hits if mark}

    async def of(self, parts: Sequence[Part], folder: str | None = None) -> list[Mark | None]:
        """Return the mark of each text; None if the text is still true."""
        try:
            return await asyncio.to_thread(self._marks_of, parts, folder)
        except (OSError, sqlite3.Error) as error:  # a full disk, or a file without permission
            log.warning("hits were not marked: %s", error)
            return [None] * len(parts)

    def _marks_of(self, parts: Sequence[Part], folder: str | None) -> list[Mark | None]:
        anchors = self._book.get([part.id for part in parts if part.anchor is None])
        anchors |= {part.id: part.anchor for part in parts if part.anchor}
        scopes = {part.scope for part in parts if part.id in anchors}
        paths_inside = [os.path.join(folder, "")] if folder else []
        trees = {scope: tree for scope in scopes if (tree := self._trees.of(scope, paths_inside))}
        heads = {scope: head_of(tree) for scope, tree in trees.items()}

        def mark(part: Part) -> Mark | None:
            anchor, head = anchors.get(part.id), heads.get(part.scope)
            return self._marker.mark(trees[part.scope], head, anchor, part.text) if anchor and head else None

        return list(map(mark, parts))


def commit_of(hit: Hit) -> Anchor | None:
    """Return the anchor of a commit's message, which is valid on the branches that have the commit."""
    name = hit.metadata.get(COMMIT) if hit.src == "chunk" else None
    return Anchor(str(name), "") if name and (hit.title or "").startswith(f"{name} ") else None


def _marked_last(hits: Sequence[Hit]) -> list[Hit]:
    """Put marked hits after hits that are nearly as good, and leave the others in order.

    A fact stays before the fact that it amends, whatever their scores, because no hit counts as better than
    those before it.

    >>> def hit(name, score, mark=None):
    ...     return Hit.model_construct(id=name, score=score, mark=mark)
    >>> hits = [hit("later", 0.8), hit("older", 0.9), hit("stale", 0.79, "gone"), hit("last", 0.76)]
    >>> [each.id for each in _marked_last(hits)]
    ['later', 'older', 'last', 'stale']
    """
    levels = accumulate((hit.score or 0.0 for hit in hits), min)
    ranked = [(STALE * bool(hit.mark) - level, hit) for level, hit in zip(levels, hits, strict=True)]
    return [hit for _, hit in sorted(ranked, key=itemgetter(0))]
