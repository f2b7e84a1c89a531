"""Reads stored records for the interfaces: by id, in pages, by document and by fact.

Every operation sees all writes that were acknowledged before the call: a read by id includes staged records,
and the other operations commit first.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Generic, Literal, Required, TypedDict, TypeVar, Unpack, cast

from scrubjay.engine.verbs.verb import Verb
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn, is_current
from scrubjay.models.requests import Forget
from scrubjay.models.results import Context, Hit
from scrubjay.records import versions
from scrubjay.records.extracted import facts_of_documents
from scrubjay.records.forgetting import records_to_forget
from scrubjay.records.session_summaries import exchange_of
from scrubjay.search import lineage
from scrubjay.search.details import Detail, detail
from scrubjay.search.document_search import COLUMNS
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.query import Question
from scrubjay.search.similar import facts_like
from scrubjay.store import conditions, facets
from scrubjay.store.conditions import Where
from scrubjay.store.counts import KINDS, current
from scrubjay.text.titles import title

T = TypeVar("T", Turn, Memory, Document)
R = TypeVar("R", bound=AnyRecord | Passage)
Sort = Literal["created_at", "updated_at"]
_PASSAGE_COLUMNS = ["id", "record_id", "part", "text", "line_start", "line_end"]


@dataclass(frozen=True)
class Page(Generic[R]):
    """One page of rows, and the number of rows on all pages."""

    rows: list[R]
    total: int


class Paging(TypedDict, total=False):
    """The page to return and its order; `filters` are on metadata."""

    start: Required[int]
    size: Required[int]
    sort: Sort
    descending: bool
    filters: Filter | None


class Lists(Verb):
    """Reads records."""

    async def find(self, record_id: str) -> AnyRecord | None:
        """Return the record of any kind with this id, or None."""
        await self._writer.drain()
        return await self._store.find(record_id)

    async def detail(self, record_id: str) -> Detail:
        """Return everything about one record of any kind; see `scrubjay.search.details`."""
        await self._writer.catch_up()
        return await detail(self._store, record_id, self._access.with_counts)

    async def latest(
        self,
        last: int,
        scope: str,
        *,
        kinds: Collection[type[AnyRecord]] = (Memory, Turn, Document),
        session_id: str | None = None,
        among: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the latest additions to a scope ("*": to all scopes), or to one session, newest first.

        With `among`, only records with these ids are returned. A turn's title says what the turn is about,
        which a prompt such as "yes, do it" does not.
        """
        await self._writer.catch_up()
        where = None if scope == EVERY_SCOPE else scope
        now, criteria = self._clock(), {"session_id": session_id, "id": among}
        hits = []
        for record in await self._store.latest(last, where, now, kinds=kinds, **criteria):
            titles = {"title": title([exchange_of(record)]) or None} if isinstance(record, Turn) else {}
            hits.append(as_hit(record).model_copy(update=titles))
        return hits

    async def get(
        self, kind: type[T], ids: Iterable[str], *, columns: Sequence[str] | None = None
    ) -> dict[str, T]:
        """Return the records of one kind with these ids, in any state, by id."""
        await self._writer.drain()
        return await self._store.get(kind, ids, columns=columns)

    async def cited_documents(self, ids: Iterable[str]) -> dict[str, Document]:
        """Return the documents with these ids that are not forgotten, without their texts, by id."""
        rows = await self.get(Document, ids, columns=COLUMNS)
        return {row.id: row for row in rows.values() if row.forgotten_at is None}

    async def documents(
        self,
        scopes: Collection[str],
        *,
        path: str | None = None,
        content: bool = False,
        **paging: Unpack[Paging],
    ) -> Page[Document]:
        """Return a page of the documents that are not forgotten, without their texts unless `content`.

        `path` selects documents by the path that the client gave them: exactly this path, or everything below
        it if it ends in a slash.
        """
        where = _documents(scopes, path)
        return await self._page(Document, where, None if content else COLUMNS, **paging)

    async def documents_at(self, scopes: Collection[str], path: str | None = None) -> list[Document]:
        """Return the ids and scopes of all documents at `path`; see `documents`."""
        await self._writer.catch_up()
        return await self._store.select(Document, _documents(scopes, path), columns=["id", "scope"])

    async def unfinished_documents(self, scopes: Collection[str], *, failed: bool = False) -> list[Document]:
        """Return the documents that lack vectors, without their texts, last changed first.

        `failed` includes documents that could not be read.
        """
        await self._writer.catch_up()
        chunks = conditions.both(conditions.matching(scope=scopes, src="chunk"), conditions.NO_VECTOR)
        waiting = await self._store.passages.select(chunks, columns=["record_id"])
        unfinished = conditions.one_of("id", sorted({passage.record_id for passage in waiting}))
        if failed:
            unfinished = conditions.either(unfinished, conditions.equal("status", "failed"))
        where = conditions.both(conditions.one_of("scope", scopes), conditions.NOT_FORGOTTEN, unfinished)
        rows = await self._store.select(Document, where, columns=COLUMNS)
        return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)

    async def chunks_of(self, document_id: str, *, start: int = 0, size: int | None = None) -> list[Passage]:
        """Return the chunks of a document in order: `size` chunks from number `start` on, or all."""
        await self._writer.catch_up()
        end = None if size is None else conditions.number("part", "<", start + size)
        of_document = conditions.equal("record_id", document_id)
        where = conditions.both(of_document, conditions.number("part", ">=", start), end)
        chunks = await self._store.passages.select(where, columns=_PASSAGE_COLUMNS)
        return sorted(chunks, key=lambda chunk: chunk.part)

    async def chunks(
        self,
        scope: str,
        *,
        start: int,
        size: int,
        descending: bool = True,
        by_position: bool = False,
        filters: Filter | None = None,
    ) -> Page[Passage]:
        """Return a page of the document chunks of a scope, ordered by document time or by position."""
        await self._writer.catch_up()
        in_scope = conditions.matching(src="chunk", hidden=False, scope=scope)
        where = conditions.both(in_scope, facets.where(filters) if filters else None)
        keys = await self._store.passages.select(where, columns=["id", "record_id", "part", "dated_at"])
        order = ("part", "dated_at") if by_position else ("dated_at", "record_id", "part")
        keys.sort(key=attrgetter(*order), reverse=descending)
        ids = [row.id for row in keys[start : start + size]]
        rows = await self._store.passages.select(conditions.one_of("id", ids), columns=_PASSAGE_COLUMNS)
        return _in_order(ids, rows, len(keys))

    async def memories(
        self,
        scopes: Collection[str],
        *,
        forgotten: bool = False,
        summaries: bool = True,
        **paging: Unpack[Paging],
    ) -> Page[Memory]:
        """Return a page of facts, each in its newest version.

        `forgotten` includes forgotten and expired facts, `summaries` the summaries of sessions.
        """
        where = conditions.both(
            conditions.one_of("scope", scopes),
            conditions.LATEST,
            None if forgotten else conditions.current(Memory, self._clock()),
            None if summaries else conditions.NOT_A_SUMMARY,
        )
        return await self._page(Memory, where, None, **paging)

    async def facts_and_turns(
        self,
        scopes: Sequence[str],
        *,
        start: int,
        size: int,
        partition_id: str | None = None,
        tags: Sequence[str] = (),
    ) -> Page[Memory | Turn]:
        """Return a page of the current facts and turns with all of these tags, newest first."""
        await self._writer.catch_up()
        of_partition = conditions.matching(partition_id=partition_id or None)
        tagged = conditions.has_all("tags", tags) if tags else conditions.EVERY_ROW
        wheres = {kind: current(kind, scopes, self._clock(), of_partition, tagged) for kind in KINDS}
        keys: list[tuple[datetime, str]] = []
        for kind, where in wheres.items():
            time_column = "started_at" if kind is Turn else "created_at"
            dated = await self._store.select(kind, where, columns=["id", time_column])
            keys += [(getattr(row, time_column), row.id) for row in dated]
        keys.sort(reverse=True)
        ids = [record_id for _, record_id in keys[start : start + size]]
        rows: list[Memory | Turn] = []
        for kind in wheres:
            rows += await self._store.select(kind, conditions.one_of("id", ids))
        return _in_order(ids, rows, len(keys))

    async def facts_of_documents(self, document_ids: Collection[str]) -> list[Memory]:
        """Return the current facts that come from these documents or cite them, oldest first."""
        await self._writer.drain()
        now = self._clock()
        return [fact for fact in await facts_of_documents(self._store, document_ids) if is_current(fact, now)]

    async def fact_with_text(self, content: str, scope: str) -> Memory:
        """Return the fact of a scope with exactly these words: the current one, or else the last one.

        Raises:
            NotFound: no fact has these words.
        """
        await self._writer.drain()
        request, now = Forget(content=content, scope=scope), self._clock()
        facts = cast(list[Memory], await records_to_forget(self._store, request, scope))
        return max(facts, key=lambda fact: (is_current(fact, now), fact.created_at))

    async def newest_version(self, fact: Memory) -> Memory:
        """Return the last version in this fact's chain of updates."""
        return await versions.latest(self._store, fact)

    async def older_versions(self, fact: Memory) -> list[Memory]:
        """Return the versions before this one, the nearest first."""
        return await versions.history(self._store, fact) if fact.version > 1 else []

    async def links(self, facts: Sequence[Memory], scope: str) -> dict[str, Context]:
        """Return the versions of each fact and the facts linked to it within a scope, by the fact's id."""
        question = Question("", (scope,), ("memory",), self._clock())
        return await lineage.contexts(self._store, question, facts)

    async def similar_facts(self, fact: Memory) -> list[Hit]:
        """Return facts that a fact repeats, may contradict or resembles; see `search.similar.facts_like`."""
        await self._writer.catch_up()
        return await facts_like(self._store, fact, self._clock(), self._indexer.embed_soon)

    async def _page(
        self,
        kind: type[T],
        where: Where,
        columns: Sequence[str] | None,
        *,
        start: int,
        size: int,
        sort: Sort = "created_at",
        descending: bool = True,
        filters: Filter | None = None,
    ) -> Page[T]:
        """Read the ids and sort keys of all matching rows, and then `columns` of one page."""
        await self._writer.catch_up()
        keys = await self._store.select(kind, where, columns=["id", sort, *(["metadata"] if filters else [])])
        if filters is not None:
            keys = [row for row in keys if matches(filters, row.metadata)]
        keys.sort(key=attrgetter(sort, "id"), reverse=descending)
        ids = [row.id for row in keys[start : start + size]]
        rows = await self._store.select(kind, conditions.one_of("id", ids), columns=columns)
        return _in_order(ids, rows, len(keys))


def _in_order(ids: Iterable[str], rows: Iterable[R], total: int) -> Page[R]:
    by_id = {row.id: row for row in rows}
    return Page([by_id[each] for each in ids if each in by_id], total)


def _documents(scopes: Collection[str], path: str | None) -> Where:
    visible = conditions.both(conditions.one_of("scope", scopes), conditions.NOT_FORGOTTEN)
    if path is None:
        return visible
    paths = (conditions.at_or_below(column, path) for column in ("filepath", "path"))
    return conditions.both(visible, conditions.either(*paths))
